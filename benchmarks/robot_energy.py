"""Robots over time: energy of a robot that is thrown, loops for a minute, a robot held by stiff servos; MuJoCo beside them.

`python -m benchmarks robot_energy` writes docs/robot-energy.md.  The first is the ANYmal case of SimBenchmark (leggedrobotics): the robot
is pushed up with twice its weight for a second, then flies freely for two, all joints loose.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import leastaction as la

from . import robots
from .report import table

STEP = 1e-3
PUSHED, FREE = 1.0, 2.0  # s
MINUTE = 60.0
KP, KD, LONG_STEP, HELD = 1e4, 1e2, 1e-2, 10.0  # Nm/rad, Nms/rad, s, s
EVERY = 20  # steps between two that are looked at, of loops
_ORDERS = {
    "`la.Variational()`": la.Variational(), "order 4": la.Composition(la.Variational(tol=1e-12), order=4),
    "order 6": la.Composition(la.Variational(tol=1e-13), order=6),
}  # fmt: skip
_LIMITS = {"`la.Variational()`": 1e-4, "order 6": 1.6e-17}  # J^2

BARS = """
<mujoco model="four-bar">
  <compiler angle="radian"/>
  <default><geom type="capsule" size=".02" contype="0" conaffinity="0"/><joint axis="0 1 0"/></default>
  <worldbody>
    <body name="a"><joint name="ja"/><geom fromto="0 0 0 0 0 1"/>
      <body name="b" pos="0 0 1"><joint name="jb"/><geom fromto="0 0 0 {reach} 0 0"/><site name="end" pos="{reach} 0 0"/></body>
    </body>
    <body name="c" pos="1.5 0 0"><joint name="jc"/><geom fromto="0 0 0 0 0 1.2"/><site name="top" pos="0 0 1.2"/>{rest}</body>
  </worldbody>
  <equality>{closed}</equality>
</mujoco>
"""
_HALF = '<body name="d" pos="0 0 1.2"><joint name="jd"/><geom fromto="0 0 0 -.75 0 0"/><site name="half" pos="-.75 0 0"/></body>'
LOOPS = {
    "four-bar, `<connect>`": (BARS.format(reach=1.5, rest="", closed='<connect site1="end" site2="top"/>'), [0.3, 0.1, 0.3]),
    "four-bar, `<weld>`": (BARS.format(reach=0.75, rest=_HALF, closed='<weld site1="end" site2="half"/>'), [0.3, 0.1, 0.3, 0.1]),
}


@dataclass
class Outcome:
    who: str
    closure: float  #: largest error of a row, m or rad
    energy: float | None = None  #: largest change, of the swing between potential and kinetic energy


# ------------------------------------------------------------------------------------------------ ANYmal


def anymal() -> la.Mechanism:
    root = robots.folder()
    if root is None:
        raise SystemExit("the robots are not installed: pip install 'leastaction[robots]'")
    file = root / "anymal_b_simple_description" / "robots" / "anymal.urdf"
    return la.load(file, floating=True, ignore=["visual", "contact", "limits", "friction", "damping", "armature"])


def standing(model: la.Model) -> la.State:
    legs = {f"{leg}_{joint}": angle for leg in ("LF", "RF") for joint, angle in (("HAA", 0.0), ("HFE", 0.4), ("KFE", -0.8))}
    legs |= {f"{leg}_{joint}": angle for leg in ("LH", "RH") for joint, angle in (("HAA", 0.0), ("HFE", -0.4), ("KFE", 0.8))}
    return model.state({name: angle for name, angle in legs.items() if name in model.joint_names})


def thrown(mech: la.Mechanism, integrator: la.Integrator) -> tuple[float, float]:
    """Mean squared error of the energy in free flight, J^2, and the energy that is moving."""
    free = mech.compile()
    weight = sum(body.mass for body in mech.bodies.values()) * np.linalg.norm(mech.gravity)
    pushed = mech.snapshot()
    pushed.add_force(la.Wrench(_base(mech), force=(0.0, 0.0, 2.0 * weight)))
    pushing = pushed.compile()
    up = la.simulate(pushing, standing(pushing), dt=STEP, duration=PUSHED, integrator=integrator, record_every=1000)
    start = free.state(up.q[-1], up.v[-1])
    run = la.simulate(free, start, dt=STEP, duration=FREE, integrator=integrator)
    return float(np.mean((run.energy - run.energy[0]) ** 2)), float(np.ptp(run.kinetic))


def _base(mech: la.Mechanism) -> str:
    return next(body.name for body in mech.bodies.values() if isinstance(body.joint, la.Free))


def thrown_by_mujoco(mech: la.Mechanism, integrator: str) -> float:
    """The same in MuJoCo, which reads the robot as we write it."""
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        mech.save(Path(folder) / "anymal.xml")
        m = mujoco.MjModel.from_xml_path(str(Path(folder) / "anymal.xml"))
        beside = _beside().Theirs(Path(folder) / "anymal.xml", mech.compile())
    m.opt.timestep, m.opt.integrator = STEP, getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    m.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    beside.set(standing(beside.model).q, np.zeros(beside.model.nv))
    data = mujoco.MjData(m)
    data.qpos[:] = beside.data.qpos
    base = m.body(_base(mech)).id
    force = np.array([0.0, 0.0, 2.0 * m.body_mass.sum() * np.linalg.norm(m.opt.gravity)])
    energies = []
    for k in range(round((PUSHED + FREE) / STEP) + 1):
        mujoco.mj_forward(m, data)
        data.xfrc_applied[:] = 0.0
        if k < round(PUSHED / STEP):  # in the origin of the base, where theirs act in its centre of mass
            data.xfrc_applied[base] = [*force, *np.cross(data.xpos[base] - data.xipos[base], force)]
        else:
            energies.append(data.energy.sum())
        mujoco.mj_step(m, data)
    return float(np.mean((np.array(energies) - energies[0]) ** 2))


# ------------------------------------------------------------------------------------------------ loops


def cassie() -> la.Mechanism:
    """Agility's Cassie as example-robot-data has it, hanging by its pelvis."""
    root = robots.folder()
    assert root is not None
    mech = la.load(root / "cassie_description" / "robots" / "cassie_simple.sdf", floating=False, ignore=["visual", "contact", "limits"])
    held = mech.bodies["pelvis"]
    mech.bodies["pelvis"] = replace(held, joint=la.Fixed(), armature=np.zeros(0))
    return mech


def closed(mech: la.Mechanism, guess: list[float] | None, swings: bool) -> list[Outcome]:
    """A minute of a mechanism with loops, here and in MuJoCo."""
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        mech.save(Path(folder) / "loops.xml")
        model = la.load(Path(folder) / "loops.xml").compile()  # with the coordinates in MuJoCo's order
        m = mujoco.MjModel.from_xml_path(str(Path(folder) / "loops.xml"))
    start = model.assemble(model.neutral() if guess is None else np.array(guess))
    run = la.simulate(model, dt=STEP, duration=MINUTE, q=start, record_every=EVERY)
    moving = float(np.ptp(run.kinetic))
    outcomes = [Outcome("`la.Variational()`", float(run.constraint_error.max()), float(np.ptp(run.energy)) / moving if swings else None)]
    m.opt.timestep = STEP
    for integrator in ("EULER", "IMPLICITFAST", "RK4"):
        m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
        data, worst, energies = mujoco.MjData(m), 0.0, []
        data.qpos[:] = start
        for k in range(round(MINUTE / STEP) + 1):
            if k % EVERY == 0:
                worst = max(worst, float(np.abs(la.constraints.values(model, data.qpos)).max()))
                energies.append(la.dynamics.energy(model, data.qpos.copy(), data.qvel.copy()))
            mujoco.mj_step(m, data)
        outcomes.append(Outcome(f"MuJoCo {integrator}", worst, float(np.ptp(energies)) / moving if swings else None))
    return outcomes


# ------------------------------------------------------------------------------------------------ servos


def talos() -> tuple[la.Mechanism, list[str]]:
    """Talos hanging by its base, and its joints of one degree of freedom."""
    root = robots.folder()
    assert root is not None
    mech = robots.read(root / "talos_data" / "robots" / "talos_reduced.urdf", False, ("friction", "mimic", "limits", "damping")).mechanism
    assert mech is not None
    return mech, [body.joint_name for body in mech.bodies.values() if body.joint.nv == 1]


def held_by_servos() -> tuple[float, float]:
    """Talos held with stiff gains at long steps: how far it sags, rad, and its largest speed in the second half, rad/s."""
    mech, joints = talos()
    for name in joints:
        mech.add_servo(la.Servo(name, kp=KP, kd=KD))
    model = mech.compile()
    pose = _bent(model)
    run = la.simulate(model, dt=LONG_STEP, duration=HELD, q=pose, targets={name: pose[model.q_slice(name)][0] for name in joints})
    assert run.converged, run.message
    return float(np.abs(run.q - pose).max()), float(np.abs(run.v[len(run) // 2 :]).max())


def held_by_a_law() -> tuple[float, str]:
    """The same gains as forces that are held over each step: (time it lasted, s, how it ended)."""
    model = talos()[0].compile()
    pose = _bent(model)
    sim = la.Simulator(model, dt=LONG_STEP, q=pose)
    while sim.t < HELD:
        try:
            sim.step(KP * (pose - sim.q) - KD * sim.v)
        except la.ConvergenceError:
            return sim.t, "thrown about so violently that a step has no solution"
        if (fastest := np.abs(sim.v).max()) > 1e3:
            return sim.t, f"a joint turns with {fastest:.0g} rad/s"
    return sim.t, "it stands"


def _bent(model: la.Model) -> np.ndarray:
    return 0.3 * np.sin(np.arange(model.nq))


def _beside():
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from support import mjcf  # how tests compare with MuJoCo

    return mjcf


# ------------------------------------------------------------------------------------------------ the page


def page(quick: bool, passes: int) -> str:
    mech = anymal()
    flight = {name: thrown(mech, integrator) for name, integrator in _ORDERS.items()}
    rows = [[name, f"{error:.1e}", _verdict(name, error)] for name, (error, _) in flight.items()]
    rows += [[f"MuJoCo {name}", f"{thrown_by_mujoco(mech, name):.1e}", ""] for name in ("EULER", "RK4")]
    minute = []
    for name, (text, guess) in LOOPS.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "bars.xml").write_text(text)
            minute += [(name, outcome) for outcome in closed(la.load(Path(folder) / "bars.xml"), guess, swings=True)]
    minute += [("Cassie", outcome) for outcome in closed(cassie(), None, swings=False)]
    closures = [
        [name, o.who, f"{o.closure:.1e}", "" if o.energy is None else f"{o.energy:.1e}", _closed(o)] for name, o in minute
    ]  # fmt: skip
    return _PAGE.format(
        moving=flight["order 6"][1], flight=table(["", "mean squared error, J^2", "asked"], rows), step=1e3 * STEP,
        loops=table(["mechanism", "", "closure, m or rad", "energy / swing", "asked: 1e-10"], closures), servos=_servos(),
        kp=KP, kd=KD, long=1e3 * LONG_STEP,
    )  # fmt: skip


def _verdict(name: str, error: float) -> str:
    limit = _LIMITS.get(name)
    return "" if limit is None else f"<= {limit:g}: {'holds' if error <= limit else 'MISSED'}"


def _servos() -> str:
    sag, speed = held_by_servos()
    lasted, ended = held_by_a_law()
    rows = [
        ["`la.Servo`", f"{HELD:g} s", f"sags by {sag:.1e} rad; fastest joint in the second half {speed:.0e} rad/s"],
        ["`tau = kp (pose - q) - kd v`, held over each step", f"{lasted:.2f} s", ended],
    ]
    return table(["", "lasts", "how it ends"], rows)


def _closed(outcome: Outcome) -> str:
    return "" if outcome.who.startswith("MuJoCo") else "holds" if outcome.closure <= 1e-10 else "MISSED"


_PAGE = """# Robots over time

Written by `python -m benchmarks robot_energy`; all steps are {step:g} ms.

## A thrown robot

The energy case of SimBenchmark: ANYmal, 18 degrees of freedom, all joints loose, is pushed up by twice its weight for one second, then
flies freely for two. Its energy should not change then; {moving:.0f} J of it move between kinetic and potential. MuJoCo reads the robot as
`mech.save("anymal.xml")` writes it.

{flight}

## Loops for a minute

A four-bar linkage, closed by `<connect>`, and by a `<weld>` in the middle of its coupler; and Cassie of `example-robot-data`
(`cassie_simple.sdf`, two legs with two loops each, hanging by its pelvis, with its springs and dampers). The same files in MuJoCo, whose
equalities are soft; closure is the largest error of an equation, measured by the same function for all.

{loops}

## Held by servos

Talos of `example-robot-data` (32 joints, no dampers) hangs by its base with bent joints and is held there with kp = {kp:g} Nm/rad and
kd = {kd:g} Nms/rad, in steps of {long:g} ms: by [servos](actuation.md), whose force is taken at the end of the step, and by the same law in
Python.

{servos}
"""
