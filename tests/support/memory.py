"""Models made and dropped one after the other:  PYTHONPATH=tests python -m support.memory [SPECIALISED [CUSTOM]]

100 specialised models and 1000 with a CustomForce each, all different, by default; every one is simulated.  Fails if the process then holds
more than 500 MB.  Machine code of the package should be in the cache (leastaction cache --warm), as compiling it takes memory of its own.
The models are others in every run, so that their code is compiled and not found in the cache.  The last line says all of it in short.
"""

import gc
import math
import sys
import time

import leastaction as la
from support.soak import resident

MOST = 500.0  # MB
NEW = 1.0 + time.time() % 1e6 * 1e-6  # a number that no run had before


def specialised(k: int) -> la.Model:
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute(axis=(0, 1, 0)), mass=NEW + k, inertia=(0.1, 0.1, 0.1), com=(0, 0, -0.5))
    return mech.compile().specialise()


def with_custom_force(k: int) -> la.Model:
    stiffness = NEW + k

    def spring(t, q, v, tau):
        tau[0] -= stiffness * math.sin(q[0])

    mech = la.examples.double_pendulum()
    mech.add_force(la.CustomForce(spring))
    return mech.compile()


KINDS = (specialised, with_custom_force)


def main(counts: list[int]) -> None:
    la.simulate(la.examples.double_pendulum().compile(), dt=1e-3, steps=5)
    start, began_all = resident(), time.process_time()
    print(f"at the start {start:.0f} MB", flush=True)
    for make, count in zip(KINDS, counts, strict=True):
        began = time.process_time()
        for k in range(count):
            la.simulate(make(k), dt=1e-3, steps=5)
            if (k + 1) % max(1, count // 10) == 0:
                gc.collect()
                each = (time.process_time() - began) / (k + 1)
                print(f"{k + 1} of {make.__name__}: {resident():.0f} MB, {each:.2f} s each", flush=True)
    gc.collect()
    held, made = resident(), " and ".join(f"{n} {make.__name__.replace('_', ' ')}" for make, n in zip(KINDS, counts, strict=True))
    seconds = time.process_time() - began_all
    words = f"{made}: {held:.0f} MB after {start:.0f} MB at the start, at most {MOST:.0f}; {seconds:.0f} s of the processor"
    print(words if held < MOST else f"TOO MUCH: {words}")
    sys.exit(0 if held < MOST else 1)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main([*given, *(100, 1000)[len(given) :]])
