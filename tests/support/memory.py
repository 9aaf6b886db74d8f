"""Models made and dropped one after the other:  PYTHONPATH=tests python -m support.memory [SPECIALISED [CUSTOM]]

100 specialised models and 1000 with a CustomForce each, all different, by default; every one is simulated.  Fails if the process then holds
more than 500 MB.  Machine code of the package should be in the cache (leastaction cache --warm), as compiling it takes memory of its own.
"""

import gc
import math
import sys
import time

import leastaction as la
from support.soak import resident

MOST = 500.0  # MB


def specialised(k: int) -> la.Model:
    mech = la.Mechanism()
    mech.add_body("rod", joint=la.Revolute(axis=(0, 1, 0)), mass=1.0 + k, inertia=(0.1, 0.1, 0.1), com=(0, 0, -0.5))
    return mech.compile().specialise()


def with_custom_force(k: int) -> la.Model:
    stiffness = 1.0 + k

    def spring(t, q, v, tau):
        tau[0] -= stiffness * math.sin(q[0])

    mech = la.examples.double_pendulum()
    mech.add_force(la.CustomForce(spring))
    return mech.compile()


def main(counts: list[int]) -> None:
    la.simulate(la.examples.double_pendulum().compile(), dt=1e-3, steps=5)
    print(f"at the start {resident():.0f} MB", flush=True)
    for make, count in zip((specialised, with_custom_force), counts, strict=True):
        began = time.process_time()
        for k in range(count):
            la.simulate(make(k), dt=1e-3, steps=5)
            if (k + 1) % max(1, count // 10) == 0:
                gc.collect()
                each = (time.process_time() - began) / (k + 1)
                print(f"{k + 1} of {make.__name__}: {resident():.0f} MB, {each:.2f} s each", flush=True)
    gc.collect()
    sys.exit(None if resident() < MOST else f"{resident():.0f} MB, more than {MOST:.0f}")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main([*given, *(100, 1000)[len(given) :]])
