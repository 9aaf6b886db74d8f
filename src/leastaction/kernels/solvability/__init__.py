"""Is a step of `Trapezoid` solvable?  What Kantorovich's theorem needs to know, in O(n^4) at most and without tensors of higher order.

In: `Screws` (what does not change), coordinates, velocities, momenta, forces.  Out: numbers in `Proof.out`.

layout        the records
columns       Jacobians of bodies, the mass matrix and its derivatives at a configuration
groups        ball joints, and free joints on the world: the Cayley map and its inverse tangent
majorants     bounds of derivatives in a box, and of what rounding may have done, by recursion over the joints of every body
certificate   the theorem, and entry points
"""
