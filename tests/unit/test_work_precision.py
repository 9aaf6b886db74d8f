"""Error against CPU time: other engines stand where ours do, orders and times are read off curves, and the script judges by them."""

import importlib

import numpy as np
import pytest
from benchmarks import cases, work_precision
from benchmarks.work_precision import Curves, Point, fitted_order, seconds_for
from papers import report
from papers import work_precision as script

import leastaction as la

PEERS = {"pinocchio": "pinocchio", "mujoco_": "mujoco", "dart_": "dartpy"}  # file in benchmarks/peers -> package it needs


def mover(file, mechanism, dt, integrator="RK4"):
    pytest.importorskip(PEERS[file])
    module = importlib.import_module(f"benchmarks.peers.{file}")
    if file == "mujoco_":
        return module.Step(mechanism, dt, integrator)
    return module.Rk4(mechanism, dt) if file == "pinocchio" else module.WorldStep(mechanism, dt)


def our_poses(model, q, links):
    poses = [la.dynamics.pose(model, q, link.name) for link in links]
    return np.array([np.column_stack([pose.R, pose.p]) for pose in poses])


@pytest.mark.parametrize("file", PEERS)
@pytest.mark.parametrize("case", [cases.chain(3, True), cases.ball_chain(2), cases.humanoid()], ids=lambda c: c.kind)
def test_links_of_others_stand_where_ours_do(file, case):
    other = mover(file, case.mechanism, 1e-3)
    q, v = case.random_state()
    other.set_state(q, v)
    assert np.abs(other.poses() - our_poses(case.model, q, other.links)).max() < 1e-12


@pytest.mark.parametrize("case", [cases.chain(3, True), cases.ball_chain(2), cases.humanoid()], ids=lambda c: c.kind)
def test_runge_kutta_around_pinocchio_moves_as_that_of_mujoco(case):
    """They differ in how they integrate rotations, in the fifth order of the step; eight times that much at half as many steps."""
    ends = []
    for file in ("pinocchio", "mujoco_"):
        other = mover(file, case.mechanism, 1e-3)
        other.set_state(*case.random_state())
        other.timed(20)
        ends.append(other.poses())
    assert np.abs(ends[0] - ends[1]).max() < 1e-9
    start = our_poses(case.model, case.random_state()[0], other.links)
    assert np.abs(ends[0] - start).max() > 1e-3  # it did move


def test_loops_reach_mujoco():
    mech = la.examples.four_bar()
    q = mech.compile().assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})
    other = mover("mujoco_", mech, 1e-3, "Euler")
    other.set_state(q, np.zeros(3))
    other.timed(200)
    last = other.poses()[-1]
    assert other.model.neq == 1
    assert np.linalg.norm(last[:, :3] @ (0, 0, -1.5) + last[:, 3] - (2.0, 0.0, 0.0)) < 1e-2  # soft, but pinned
    assert np.abs(other.data.qpos - q).max() > 1e-2
    pinocchio = importlib.import_module("benchmarks.peers.pinocchio") if importlib.util.find_spec("pinocchio") else None
    assert pinocchio is None or pinocchio.PEERS[0].supports(mech) == "loops are not translated"


def curve(order, constant, cost=1e-5):
    return [Point(n, cost * n, constant * (100 / n) ** order) for n in (100, 200, 400, 800)]


def test_orders_and_times_are_read_off():
    points = curve(4, 1e-2)
    assert fitted_order(points, 1e-14) == pytest.approx(4.0)
    assert seconds_for(points, 1e-2 / 4**4 * 4.0) == pytest.approx(1e-5 * 400 / np.sqrt(2.0))  # between 200 and 400 steps
    assert seconds_for(points, 1.0) == points[0].seconds  # closer with the fewest steps already
    assert np.isnan(seconds_for(points, 1e-9)) and np.isnan(seconds_for([], 1.0))
    level = [*points, Point(1600, 1e-2, 3e-9)]
    assert fitted_order(level, 1e-11) == pytest.approx(4.0)  # what the truth itself does not know is left out
    assert np.isnan(fitted_order(points[:1], 0.0))


@pytest.mark.parametrize(("order", "holds"), [(2, True), (1, False)])
def test_the_script_judges_by_the_curves(monkeypatch, order, holds):
    points = {"Variational": curve(order, 1e-2), "MuJoCo Euler": curve(1, 1e-2), "RK4": curve(4, 1e-3)}
    curves = Curves(points, {"DART": "no: pip install x"})
    monkeypatch.setattr(work_precision, "measure", lambda motion, quick: curves)
    result = script.make(True)
    assert result.claims[0].holds is holds
    assert ("Variational 1.0 on" in result.claims[0].ours) is not holds
    assert any(c.verdict == "not testable here" and "pip install" in c.reason for c in result.claims)
    for table in result.tables:
        assert all(len(row) == len(table.header) for row in table.rows)
    light, dark = report.addresses(result.pictures[0])
    assert light != dark


def test_every_integrator_of_the_package_has_a_line():
    from leastaction import integrators

    lines = {type(m.integrator()).__name__ for m in work_precision.methods()}
    assert lines == {*integrators.__all__, "CertifiedStep"} - {"Integrator"}
