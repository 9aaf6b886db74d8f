"""From a pose as a function of coordinates to compiled code: what symbolic joints are made with.

`transform.py`  the words a pose is written in
`graph.py`      its arithmetic as a graph without repetitions: derivatives and exact differences
`program.py`    what the kernels ask of a joint, as graphs
`emit.py`       a graph as readable Python
`tape.py`       a very long one as a list of operations
`description.py`, `joint_module.py`   what a user's function says; the module generated from it
`runtime.py`    what generated joints are compiled with and call
"""
