"""How Python becomes machine code, and how arrays get into it.  The only room that knows the private parts of Numba.

decorators      inlined, kernel, apart, entry: what every compiled function is marked with
records         named tuples of arrays that declare their shapes; `allocate` makes and checks them
gate            the one way by which arrays enter compiled code
canaries        in tests: memory with watched edges (LEASTACTION_GUARD=1)
switch          kernels that choose by number, written by the machine from a list
address         calls of compiled functions by their address
straight        generated code without loops, turned into LLVM instructions as it stands
memory          four numbers at once; mixing: in the lanes of one register, and from lane to lane
abreast         what is done for every body by itself, for four at once
modules, cache  generated modules; one folder for all machine code, one policy
parts           kernels on disk, each compiled once for all entry points that call it; numba_parts: how Numba takes them from there
ahead           a second process that compiles what an entry point will need; reading: how it knows that from the source
bitcode         intermediate code that a wheel brings along, so that a new machine starts sooner
numba_private   everything that is not Numba's public interface, behind one switch (LEASTACTION_PUBLIC_NUMBA=1); numba_lean: what Numba
                does in vain is left out while it compiles
"""
