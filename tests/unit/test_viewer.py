"""The live view without a browser: what hands do, what commands do, and who is answered."""

import http.client
import json
import socket
import threading
import time

import numpy as np
import pytest

import leastaction as la
from leastaction.viewer import session as sessions
from leastaction.viewer.pull import Pull
from leastaction.viewer.server import HOST, RATE, Server
from leastaction.viewer.session import Session


def chain():
    model = la.examples.chain(3).compile()
    return Session(model, model.state(q=[0.3, -0.2, 0.5]), 2e-3)


# ---------------------------------------------------------------------------------------------------- hands


def test_the_jacobian_of_a_point():
    """Against differences of the point's place, on a ball, a slide and a screw."""
    mech = la.Mechanism()
    body = {"mass": 1.0, "inertia": (0.1, 0.2, 0.3)}
    mech.add_body("a", joint=la.Spherical(), **body)
    mech.add_body("b", "a", la.Prismatic((1, 2, 0)), la.Pose((0, 0, 1), rpy=(0.3, 0, 0)), **body)
    mech.add_body("c", "b", la.Helical((0, 1, 1), pitch=0.4), la.Pose((1, 0, 0)), **body)
    mech.add_body("beside", "a", la.Revolute(), **body)
    model = mech.compile()
    pull = Pull(model, [b.name for b in model.bodies].index("c") + 1, np.array([0.1, 0.2, -0.3]), np.zeros(3))
    q = model.coordinates({"a": la.pose.quaternion_of_rotation(la.Pose(rpy=(0.2, 0.5, -0.1)).R), "b": 0.3, "c": 0.8})
    J, _ = pull.jacobian(q)
    v = np.random.default_rng(1).normal(size=model.nv)
    h = 1e-6
    ends = [pull.jacobian(la.simulate(model, q=q, v=s * v, dt=h, steps=1).q[-1])[1] for s in (1.0, -1.0)]
    np.testing.assert_allclose(J @ v, (ends[0] - ends[1]) / (2 * h), atol=1e-4)
    assert not J[:, model.v_slice("beside")].any()


def test_a_hand_holds_a_body_where_it_is():
    """After some seconds the tip of a damped arm stands near the hand, and the forces are in the record."""
    mech = la.examples.chain(3)
    mech.gravity = (0, 0, 0)
    for joint in mech.joint_names:
        mech.add_force(la.Damper(joint, 0.5))
    model = mech.compile()
    live = Session(model, model.state(q=[0.3, -0.2, 0.5]), 5e-3)
    target = [1.2, 0.0, -1.5]
    row, place = model.frames["tip"]
    live.command({"do": "pull", "row": row, "point": place.p.tolist(), "target": target})
    for _ in range(300):
        live.advance(1 / 60)
    tip = la.dynamics.pose(model, live.state.q, "tip").p
    np.testing.assert_allclose(tip, target, atol=0.02)
    assert np.abs(live.record.tau[0]).max() > 0.0 and live.record.tau.shape == (live.record.steps, 3)
    live.command({"do": "release"})
    live.advance(0.1)
    assert not live.record.tau[-1].any()


def test_the_record_is_a_run_like_any_other():
    """The same forces given to `la.simulate` give the same motion."""
    live = chain()
    for k in range(12):
        live.command({"do": "pull", "row": 2, "point": [0, 0, -1], "target": [0.1 * k, 0, -2]})
        live.advance(0.01)
    record = live.record
    again = la.simulate(live.model, live.start, dt=live.dt, steps=record.steps, tau=record.tau)
    np.testing.assert_allclose(record.q, again.q, atol=1e-12)


# ---------------------------------------------------------------------------------------------------- commands


def test_time_goes_as_told():
    live = chain()
    live.command({"do": "speed", "value": 0.5})
    for _ in range(10):
        live.advance(0.0333)
    assert live.state.t == pytest.approx(0.5 * 0.333, abs=live.dt)
    live.command({"do": "pause"})
    assert live.advance(1.0) == 0
    before = live.state.t
    live.command({"do": "step"})
    assert live.state.t == pytest.approx(before + live.dt)
    live.command({"do": "reset"})
    assert live.state.t == 0.0 and len(live.record) == 1


def test_going_on_with_another_integrator_and_step():
    live = chain()
    live.advance(0.1)
    q = live.state.q
    live.command({"do": "integrator", "name": "Runge-Kutta 4"})
    live.command({"do": "dt", "value": 1e-3})
    np.testing.assert_array_equal(live.state.q, q)
    live.advance(0.1)
    assert isinstance(live.record.integrator, la.RK4) and live.record.dt == 1e-3


def test_a_joint_that_is_moved_moves_its_loop():
    model = la.examples.four_bar().compile()
    live = Session(model, model.state(q=model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3})), 1e-3)
    live.command({"do": "joint", "name": "rod1", "value": 0.9})
    assert live.state.q[0] == pytest.approx(0.9) and live.paused
    assert live.record.constraint_error[-1] < 1e-9


def test_trouble_pauses_and_says_why(monkeypatch):
    mech = la.examples.chain(1)
    mech.add_limit("link1", -0.4, 0.4)
    model = mech.compile()
    live = Session(model, model.state(q=[0.3], v=[2.0]), 1e-3)
    live.advance(1.0)
    assert live.paused and "limit" in live.message
    live.command({"do": "reset"})
    assert not live.message
    monkeypatch.setattr(sessions, "_MOST_STEPS", 10)
    live.command({"do": "resume"})
    assert live.advance(0.05) == 10 and live.behind


def test_a_control_law_that_raises_pauses_and_loses_nothing():
    model = la.examples.chain(1).compile()

    def law(t, state):
        return [0.1] if t < 0.02 else [1.0 / 0]

    live = Session(model, model.state(q=[0.3]), 1e-3, control=law)
    live.advance(0.05)
    assert live.paused and "ZeroDivisionError" in live.message
    assert live.record.steps == 20 and (live.record.tau == 0.1).all()


@pytest.mark.parametrize("given", [
    None, 7, "pause", {}, {"do": "explode"}, {"do": ["pause"]}, {"do": "speed"}, {"do": "speed", "value": "fast"},
    {"do": "speed", "value": 1e9}, {"do": "dt", "value": float("nan")}, {"do": "dt", "value": 0},
    {"do": "integrator", "name": "Euler"}, {"do": "integrator"},
    {"do": "joint", "name": "nobody", "value": 0}, {"do": "joint", "name": ["link1"], "value": 0}, {"do": "pull"},
    {"do": "pull", "row": 0, "point": [0, 0, 0], "target": [0, 0, 0]},
    {"do": "pull", "row": 10**9, "point": [0, 0, 0], "target": [0, 0, 0]},
    {"do": "pull", "row": 1, "point": [0, 0], "target": [0, 0, 0]},
    {"do": "pull", "row": 1, "point": [0, 0, 0], "target": [0, float("inf"), 0]},
    {"do": "pull", "row": True, "point": [0, 0, 0], "target": [0, 0, 0]},
])  # fmt: skip
def test_commands_that_are_none(given):
    live = chain()
    with pytest.raises(la.LeastActionError):
        live.command(given)
    assert live.advance(0.01) == 5


def test_an_integrator_that_refuses_leaves_everything_as_it_was():
    mech = la.examples.chain(1)
    mech.add_force(la.DryFriction("link1", 0.1))
    model = mech.compile()
    live = Session(model, model.state(v={"link1": 1.0}), 1e-3)
    with pytest.raises(la.LeastActionError, match="friction"):
        live.command({"do": "integrator", "name": "Runge-Kutta 4"})
    assert live.integrator == "as started" and live.advance(0.01) == 10


class Clock:
    """A clock that oversleeps by 2 ms, as those of busy machines do."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds + 2e-3 if seconds > 0.0 else 0.0


def test_the_rate_of_frames_is_kept(monkeypatch):
    monkeypatch.setattr("leastaction.viewer.server.time", Clock())
    with Server(chain()) as server:
        server.run(seconds=5.0)
    assert server.frames == pytest.approx(5.0 * RATE, rel=0.01)
    assert server.session.state.t == pytest.approx(5.0, abs=0.05)


# ---------------------------------------------------------------------------------------------------- who is answered


@pytest.fixture(scope="module")
def server():
    with Server(chain()) as running:
        thread = threading.Thread(target=running.run, daemon=True)
        thread.start()
        yield running
        running.stop()
        thread.join(10)


def ask(server, path, **headers):
    connection = http.client.HTTPConnection(HOST, server.port, timeout=20)
    connection.request("GET", path, headers={"Host": f"{HOST}:{server.port}", **headers})
    response = connection.getresponse()
    return response.status, response.read().decode(), response.headers


def test_the_page_is_there_for_who_knows_the_token(server):
    status, text, headers = ask(server, f"/?token={server.token}")
    assert status == 200 and text.startswith("<!DOCTYPE html>") and "class Live" in text
    assert headers["X-Frame-Options"] == "DENY" and headers["Content-Type"].startswith("text/html")
    assert f"connect-src ws://{HOST}:{server.port}" in text


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=guess", "/live", "/live?token=guess"])
def test_nobody_else_is_answered(server, path):
    assert ask(server, path)[0] == 403


@pytest.mark.parametrize("path", ["/etc/passwd", "/../../etc/passwd", "/%2e%2e/pyproject.toml", "//127.0.0.1/x", "/live.js"])
def test_nothing_else_is_served(server, path):
    assert ask(server, f"{path}?token={server.token}")[0] == 404


def test_another_name_for_this_machine_is_refused(server):
    """A page of a stranger whose name is made to lead here."""
    assert ask(server, f"/?token={server.token}", Host=f"evil.example:{server.port}")[0] == 403
    assert ask(server, f"/?token={server.token}", Host=f"localhost:{server.port}")[0] == 403


def connect(server, origin, token=None):
    from websockets.sync.client import connect

    return connect(f"ws://{HOST}:{server.port}/live?token={token or server.token}", origin=origin, proxy=None)


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", f"http://{HOST}", "https://127.0.0.1"])
def test_sockets_of_other_pages_are_refused(server, origin):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        connect(server, origin)


def test_it_listens_on_this_machine_only(server):
    assert server._server.socket.getsockname()[0] == "127.0.0.1"
    for address in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}:
        if not address.startswith("127."):
            with pytest.raises(OSError), socket.create_connection((address, server.port), timeout=2):
                pass


def test_frames_come_and_commands_go(server):
    with connect(server, server.origin) as wire:
        first = json.loads(next(m for m in wire if isinstance(m, str)))
        assert first["integrators"][0] == "as started" and not first["paused"]
        for nonsense in ("", "{", "[" * 2000, '{"do": "explode"}', "7"):
            wire.send(nonsense)
        wire.send(json.dumps({"do": "pause"}))
        until = time.monotonic() + 20
        while not first["paused"] and time.monotonic() < until:
            message = wire.recv(timeout=20)
            if isinstance(message, str):
                first = json.loads(message)
        assert first["paused"]
        frame = next(m for m in wire if isinstance(m, bytes))
    head, poses = np.frombuffer(frame[: 8 * 16], "<f8"), np.frombuffer(frame[8 * 16 :], "<f4").reshape(-1, 8)
    live = server.session
    assert head[0] == live.state.t
    np.testing.assert_allclose(head[10:13], live.state.q)
    place = la.dynamics.pose(live.model, live.state.q, "link3")
    np.testing.assert_allclose(poses[3, 4:7], place.p, atol=1e-6)
    live.command({"do": "resume"})  # leaving closed only the tab
    assert not live.paused


def test_a_message_that_is_too_long_ends_the_talk_and_nothing_else(server):
    from websockets.exceptions import ConnectionClosed

    with connect(server, server.origin) as wire:
        wire.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            while True:
                wire.recv(timeout=20)
    assert ask(server, f"/?token={server.token}")[0] == 200


def test_view_ends_by_itself_and_returns_the_run(capsys):
    record = la.view(la.examples.chain(2), q=[0.5, 0.0], browser=False, seconds=0.3)
    assert record.steps > 0 and "http://127.0.0.1:" in capsys.readouterr().out
    with pytest.raises(la.StateError, match="view got a str"):
        la.view("robot.urdf")
