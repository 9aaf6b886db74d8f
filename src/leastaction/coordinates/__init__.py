"""A model in other coordinates: arrays for the kernels made from a `Model`.

ties                  its constraints in joint coordinates
frames                a tree of frames moved by one coordinate each (Johnson and Murphey)
network, elimination  bodies and constraints, and the order in which they are eliminated (Bruedigam and Manchester)
conversion            states between joint coordinates and poses of all bodies
"""
