"""The live view in a real Chromium."""

import threading

import numpy as np
import pytest

import leastaction as la
from leastaction.film.browser import Browser, missing
from leastaction.viewer.server import Server
from leastaction.viewer.session import Session

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def server():
    model = la.examples.chain(3).compile()
    with Server(Session(model, model.state(q=[0.6, 0.2, -0.4]), 2e-3)) as running:
        thread = threading.Thread(target=running.run, daemon=True)
        thread.start()
        yield running
        running.stop()
        thread.join(10)


@pytest.fixture(scope="module")
def page(server):
    with Browser(1100, 900) as opened:
        opened.visit(server.address, online=True)
        opened.wait_for("leastaction.live.frames > 5")
        yield opened
        assert not [p for p in opened.problems if "GL Driver Message" not in p]
        assert all(url.startswith((server.origin, "ws://127.0.0.1", "data:")) for url in opened.requests)


def click(page, name):
    page.run(f"document.getElementById({name!r}).click()")


def test_it_moves_and_its_plots_follow(page, server):
    before = page.run("leastaction.pose('link3')")["position"]
    page.wait_for("leastaction.live.frames > 30")
    assert not np.allclose(page.run("leastaction.pose('link3')")["position"], before)
    span = page.run("leastaction.plots.span")
    assert span[1] > span[0] and page.run("leastaction.runs[0].energy.curves[0].y.length") > 20
    energy = np.array(page.run("leastaction.runs[0].energy.curves[0].y"))
    assert np.ptp(energy) < 1e-2 * abs(energy[0])


def test_pausing_shows_the_pose_of_the_simulation(page, server):
    click(page, "pause")
    page.wait_for("leastaction.live.status.paused")
    frames = page.run("leastaction.live.frames")
    page.wait_for(f"leastaction.live.frames > {frames + 3}")
    q = server.session.state.q
    for name in ("link1", "link3", "tip"):
        exact = la.dynamics.pose(server.session.model, q, name)
        np.testing.assert_allclose(page.run(f"leastaction.pose({name!r})")["position"], exact.p, atol=1e-5)
    click(page, "pause")
    page.wait_for("!leastaction.live.status.paused")


def test_a_drag_pulls_at_a_body_and_the_run_records_it(page, server):
    click(page, "reset")
    page.wait_for("leastaction.live.time < 0.5")
    click(page, "pause")
    page.wait_for("leastaction.live.status.paused")
    frames = page.run("leastaction.live.frames")
    page.wait_for(f"leastaction.live.frames > {frames + 3}")
    x, y = page.run("leastaction.live.onScreen(leastaction.pose('tip').position).slice(0, 2)")
    left, top = page.run("(() => { const r = leastaction.canvas.getBoundingClientRect(); return [r.x, r.y]; })()")
    press = {"button": "left", "clickCount": 1}
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=left + x, y=top + y, buttons=1, **press)
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + x + 80, y=top + y - 60, buttons=1, button="none")
    page.wait_for("leastaction.live.status.pulled")
    click(page, "pause")
    page.wait_for("!leastaction.live.status.paused")
    frames = page.run("leastaction.live.frames")
    page.wait_for(f"leastaction.live.frames > {frames + 10}")
    azimuth = page.run("leastaction.camera.azimuth")
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=left + x + 80, y=top + y - 60, buttons=0, **press)
    page.wait_for("!leastaction.live.status.pulled")
    assert np.abs(server.session.record.tau).max() > 0.1
    assert page.run("leastaction.camera.azimuth") == azimuth  # the camera stood still


def test_a_drag_beside_the_mechanism_turns_the_camera(page):
    azimuth = page.run("leastaction.camera.azimuth")
    x, y, wide, tall = page.run("(() => { const r = leastaction.canvas.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()")
    page.drag((x + 0.05 * wide, y + 0.9 * tall), (x + 0.2 * wide, y + 0.9 * tall))
    assert page.run("leastaction.camera.azimuth") != azimuth


def test_integrator_step_and_joints(page, server):
    def change(control, value, event="change"):
        page.run(f"(() => {{ const c = {control}; c.value = {value!r}; c.dispatchEvent(new Event('{event}')); }})()")

    change("document.getElementById('integrator')", "Runge-Kutta 4")
    page.wait_for("leastaction.live.status.integrator === 'Runge-Kutta 4'")
    change("document.getElementById('dt')", 5)
    page.wait_for("leastaction.live.status.dt === 0.005")
    change("leastaction.live.sliders.get('link2').slider", 1.25, "input")
    page.wait_for("leastaction.live.status.paused")
    assert server.session.state.q[1] == pytest.approx(1.25)
    assert isinstance(server.session.record.integrator, la.RK4)


def test_a_page_that_lost_its_simulation_finds_it_again(page, server):
    lost = "document.getElementById('notice').textContent.includes('cannot be reached')"
    page.run("leastaction.live.socket.close()")
    page.wait_for(lost)
    frames = page.run("leastaction.live.frames")
    page.wait_for(f"leastaction.live.frames > {frames + 3}")
    page.wait_for(f"!{lost}")  # a busy machine may have it say that it is slower than the clock
