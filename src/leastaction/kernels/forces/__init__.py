"""What forces do, each formula once.  Systems (tree, midpoint quadrature, tree of frames, maximal coordinates) call it with what they have.

    wrenches.py     constant wrenches on a body: from its orientation
    laws.py         functions of the user on a body: from time, pose and twist; called by address
    potentials.py   springs between two points, from the poses of two bodies; energies of coordinates

In: Tree (its fields wrench*, law*, pair*, energy*) and poses or coordinates of one configuration.  Out: wrenches at the origins of the
bodies in body axes, gradients, energies, and their derivatives where Newton's method needs them.  Joint springs belong to the joints
(joints/dispatch.py); how a wrench on a body becomes a joint force belongs to the systems.
"""
