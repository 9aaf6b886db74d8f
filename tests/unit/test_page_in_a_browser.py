"""Pages in a real Chromium, headless, by software rendering, with the network cut."""

import io

import numpy as np
import pytest

import leastaction as la
from leastaction.film.browser import Browser, missing
from leastaction.page.notebook import inline
from leastaction.pose import rotation_of_quaternion

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def browser():
    with Browser(1100, 900) as opened:
        yield opened


def mechanism():
    """Ball, hinge, slide, a closed loop's worth of lines, a spring and shapes: everything a page draws."""
    mech = la.Mechanism(name="everything")
    body = {"mass": 1.0, "inertia": (0.02, 0.03, 0.04), "com": (0.1, 0, -0.3)}
    mech.add_body("ball", joint=la.Spherical(), **body)
    mech.add_body("arm", "ball", la.Revolute(axis=(0, 1, 0)), la.Pose(xyz=(0, 0, -0.6), rpy=(0.3, 0, 0.2)), **body)
    mech.add_body("slider", "arm", la.Prismatic(axis=(1, 0, 0)), la.Pose(xyz=(0, 0, -0.5)), **body)
    mech.add_frame("tip", "slider", la.Pose(xyz=(0.2, 0, -0.2), rpy=(1, 0, 0)))
    mech.add_frame("hook", placement=la.Pose(xyz=(0.5, 0, 0.2)))
    mech.add_force(la.LinearSpring("tip", "hook", 40.0))
    mech.add_shape("arm", la.Box(size=(0.1, 0.1, 0.5)), la.Pose(xyz=(0, 0, -0.25)), color=(0.9, 0.3, 0.2))
    mech.add_shape("world", la.Sphere(radius=0.05), color=(0.2, 0.2, 0.2, 0.5))
    return mech


@pytest.fixture(scope="module")
def run():
    return la.simulate(mechanism().compile(), dt=2e-3, duration=1.5, v={"ball": (1.0, 2.0, 0.5), "arm": 1.0})


@pytest.fixture(scope="module")
def page(browser, run, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.html"
    pull = np.column_stack([np.cos(run.t), np.sin(run.t), np.ones_like(run.t)])
    run.to_html(path, traces=["tip"], arrows={"pull": ("tip", pull)})
    browser.open(path)
    return browser


@pytest.fixture(autouse=True)
def quiet(browser):
    """No test leaves errors in the console, and nothing is asked of the network."""
    yield
    problems = [p for p in browser.problems if "GL Driver Message" not in p]  # notes on speed, not on us
    assert not problems
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in browser.requests)


def place(browser, element):
    """Left, top, width, height of an element on the screen, pixels."""
    return browser.run(f"(() => {{ const r = {element}.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})()")


def picture(browser):
    """The pixels of the scene, (height, width, 3)."""
    from PIL import Image

    browser.settle()
    x, y, wide, tall = place(browser, "leastaction.canvas")
    with Image.open(io.BytesIO(browser.screenshot())) as image:
        return np.asarray(image.convert("RGB"))[int(y) + 1 : int(y + tall) - 1, int(x) + 1 : int(x + wide) - 1].astype(int)


def differing(a, b):
    """Part of the pixels that are not the same."""
    return (np.abs(a - b).max(axis=-1) > 12).mean()


def seek(browser, time):
    browser.run(f"leastaction.player.pause(); leastaction.player.seek({float(time)!r}); 0")


def change(browser, control, value, event):
    """What a user does to a slider or a list."""
    found = f"document.getElementById('{control}')"
    browser.run(f"(() => {{ const c = {found}; c.value = {value!r}; c.dispatchEvent(new Event('{event}')); }})()")


def test_the_scene_is_not_empty(page):
    seek(page, 0.0)
    pixels = picture(page)
    background = np.bincount((pixels @ (65536, 256, 1)).ravel()).argmax()
    drawn = (pixels @ (65536, 256, 1)) != background
    assert 0.01 < drawn.mean() < 0.9
    red = (pixels[..., 0] > 1.7 * pixels[..., 1]) & (pixels[..., 0] > 1.7 * pixels[..., 2]) & (pixels[..., 0] > 90)
    assert red.sum() > 100, "the red box of the arm is not seen"


def test_scrubbing_lands_on_the_right_pose(page, run):
    """Every body and frame, at nodes and in between, against forward kinematics."""
    worst = 0.0
    for k in (0, 1, 137, 400, 733, len(run) - 1):
        change(page, "scrub", float(run.t[k] / run.t[-1]), "input")
        for name in ("ball", "arm", "slider", "tip", "hook"):
            found = page.run(f"leastaction.pose({name!r})")
            exact = la.dynamics.pose(run.model, run.q[k], name)
            worst = max(worst, np.abs(exact.p - found["position"]).max())
            assert np.abs(exact.R - rotation_of_quaternion(found["quaternion"])).max() < 1e-3
    assert worst < 1e-4
    assert page.run("leastaction.player.time") == pytest.approx(run.t[-1])


def test_playing_moves_the_scene_and_stops_at_the_end_without_loop(page, run):
    seek(page, 0.1)
    before = picture(page)
    page.run("leastaction.player.loop = false; document.getElementById('play').click(); 0")
    page.wait_for("leastaction.player.time > 0.3")
    page.run("leastaction.player.pause()")
    assert differing(before, picture(page)) > 0.002
    page.run("leastaction.player.speed = 20; leastaction.player.play(); 0")
    page.wait_for("!leastaction.player.playing")
    assert page.run("leastaction.player.time") == pytest.approx(run.t[-1])
    page.run("leastaction.player.loop = true; leastaction.player.play(); 0")
    page.wait_for(f"leastaction.player.time < {run.t[-1] / 2}")
    page.run("leastaction.player.speed = 1; leastaction.player.pause(); 0")


def test_steps_go_from_node_to_node(page, run):
    seek(page, run.t[40])
    page.run("document.getElementById('forward').click()")
    assert page.run("leastaction.player.time") == pytest.approx(run.t[41], abs=1e-9)
    page.run("document.getElementById('back').click(); document.getElementById('back').click()")
    assert page.run("leastaction.player.time") == pytest.approx(run.t[39], abs=1e-9)
    page.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', shiftKey: true, bubbles: true}))")
    assert page.run("leastaction.player.time") == pytest.approx(run.t[49], abs=1e-9)


def test_the_cursors_of_all_plots_agree_with_the_scene(page, run):
    for time in (0.0, 0.4321, 1.5):
        seek(page, time)
        page.wait_for(f"Math.abs(leastaction.plots.time - {time}) < 1e-9")
        assert page.run("leastaction.plots.panels.map((p) => p.cursorTime())") == pytest.approx([time] * 6, abs=5e-3)


def test_plots_show_the_numbers_of_the_run(page, run):
    k = 321
    seek(page, run.t[k])
    page.wait_for(f"Math.abs(leastaction.plots.time - {run.t[k]}) < 1e-9")
    read = page.run("leastaction.plots.panels.map((p) => p.shown.map((c) => Number(c.value.textContent)))")
    wanted = [
        [run.energy[k], run.kinetic[k], run.potential[k]], [run.energy[k] - run.energy[0]], run.momentum[k, :3], run.momentum[k, 3:],
        run["ball"][k], run.v[k, :3],
    ]  # fmt: skip
    for numbers, exact in zip(read, wanted, strict=True):
        assert np.allclose(numbers, exact, rtol=5e-3, atol=2e-4 * max(1.0, np.abs(exact).max()))


def test_dragging_the_cursor_moves_the_scene(page, run):
    seek(page, 0.1)
    page.run("leastaction.plots.panels[0].element.scrollIntoView({block: 'center'})")
    x, y, wide, tall = place(page, "leastaction.plots.panels[0].area")
    left, right = 58, 12  # margins of a plot
    page.drag((x + left + 5, y + tall / 2), (x + left + 0.75 * (wide - left - right), y + tall / 2))
    assert page.run("leastaction.player.time") == pytest.approx(0.75 * run.t[-1], abs=0.01)
    k = int(np.argmin(np.abs(run.t - page.run("leastaction.player.time"))))
    assert np.allclose(page.run("leastaction.pose('tip')")["position"], la.dynamics.pose(run.model, run.q[k], "tip").p, atol=0.02)
    page.run("scrollTo(0, 0)")


def test_another_joint_can_be_chosen(page, run):
    change(page, "joint", "slider", "change")
    assert page.run("leastaction.plots.joints.map((p) => p.unit.textContent)") == ["m", "m/s"]
    values = page.run("Array.from(leastaction.plots.joints[0].shown[0].y)")
    assert np.allclose(values, run["slider"][:, 0], atol=1e-4)


@pytest.mark.parametrize("what", ["skeleton", "masses", "total", "frames", "axes", "momentum", "arrows", "ghosts", "grid"])
def test_switches_change_the_picture(page, what):
    seek(page, 0.7)
    before = picture(page)
    page.run(f"document.getElementById('show-{what}').click()")
    changed = picture(page)
    page.run(f"document.getElementById('show-{what}').click()")
    assert differing(before, changed) > 2e-4
    assert differing(before, picture(page)) < 1e-4, "it does not go back"


def test_orbit_pan_and_zoom(page):
    seek(page, 0.7)
    pictures = [picture(page)]
    x, y, wide, tall = place(page, "leastaction.canvas")
    middle = (x + wide / 2, y + tall / 2)
    page.drag(middle, (middle[0] + 90, middle[1] + 30))
    pictures.append(picture(page))
    page.drag(middle, (middle[0] + 90, middle[1] + 30), modifiers=8)  # shift
    pictures.append(picture(page))
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=middle[0], y=middle[1], deltaX=0, deltaY=-300)
    pictures.append(picture(page))
    for a, b in zip(pictures, pictures[1:], strict=False):
        assert differing(a, b) > 0.01
    page.run("document.getElementById('fit').click()")
    assert differing(pictures[0], picture(page)) < 1e-3


def test_what_is_followed_stays_where_it_is(page):
    """Projected by the page's own camera, the followed frame is in the middle at all times."""
    page.run("leastaction.follow('tip')")
    for time in (0.0, 0.9):
        seek(page, time)
        middle = page.run("""(() => {
            leastaction.draw();
            const m = leastaction.camera.look(leastaction.followedPlace()).matrix, p = [...leastaction.pose('tip').position, 1];
            const clip = [0, 1, 3].map((r) => [0, 1, 2, 3].reduce((s, c) => s + m[4 * c + r] * p[c], 0));
            return [clip[0] / clip[2], clip[1] / clip[2]];
        })()""")
        assert np.abs(middle).max() < 1e-3
    page.run("leastaction.follow(''); leastaction.camera.fit(); 0")


def test_dark_and_light(page):
    dark = page.run("document.getElementById('theme').click(), getComputedStyle(document.body).backgroundColor")
    darkest = picture(page).mean()
    light = page.run("document.getElementById('theme').click(), getComputedStyle(document.body).backgroundColor")
    assert dark != light and picture(page).mean() > darkest + 80


def test_smooth_edges_and_shadows_draw_without_complaint(page):
    for quality in (3, 2, 0, 1):
        page.run(f"leastaction.renderer.quality = {quality}; leastaction.isStale = true; 0")
        assert picture(page).std() > 1.0


def test_phone_width_has_no_sideways_scrolling(page):
    page.resize(390, 800)
    page.run("new Promise((done) => setTimeout(() => done(1), 200))")
    assert page.run("document.documentElement.scrollWidth") <= 390
    assert page.run("leastaction.canvas.clientWidth") > 300
    page.resize(1100, 900)


def test_several_runs_over_each_other(browser, tmp_path):
    model = la.examples.chain(3).compile()
    starts = {"fine": (2e-3, 0.8), "coarse": (1e-2, 0.4)}
    runs = {label: la.simulate(model, dt=dt, duration=1.0, q={"link1": angle}) for label, (dt, angle) in starts.items()}
    la.page.write(runs, tmp_path / "both.html")
    browser.open(tmp_path / "both.html")
    seek(browser, 0.5)
    for i, run in enumerate(runs.values()):
        k = int(round(0.5 / run.dt))
        exact = la.dynamics.pose(model, run.q[k], "link3").p
        assert np.allclose(browser.run(f"leastaction.pose('link3', {i})")["position"], exact, atol=1.1e-4)
    assert browser.run("document.getElementById('key').innerText").split() == ["fine", "coarse"]
    pixels = picture(browser)
    blue = (pixels[..., 2] > 1.5 * pixels[..., 0]) & (pixels[..., 2] > 100)
    orange = (pixels[..., 0] > 1.6 * pixels[..., 2]) & (pixels[..., 0] > 100)
    assert blue.sum() > 50 and orange.sum() > 50


def test_a_single_pose_and_meshes(browser, tmp_path):
    """A large mesh and a small one, which software renderers get in another way."""
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.torus(0.3, 0.1).export(tmp_path / "ring.stl")
    trimesh.creation.box(extents=(0.3, 0.3, 0.3)).export(tmp_path / "box.stl")
    mech = la.Mechanism(gravity=(0, -9.81, 0), name="</script><b>ring</b>")
    mech.add_body("ring", joint=la.Free(), mass=1.0, inertia=(0.1, 0.1, 0.2))
    mech.add_shape("ring", la.Mesh(tmp_path / "ring.stl"), color=(0.1, 0.6, 0.2))
    mech.add_shape("ring", la.Mesh(tmp_path / "box.stl"), color=(0.8, 0.1, 0.1))
    run = la.simulate(mech.compile(), dt=1e-2, steps=0)
    run.to_html(tmp_path / "ring.html")
    browser.open(tmp_path / "ring.html")
    pixels = picture(browser)
    green = ((pixels[..., 1] > 1.5 * pixels[..., 0]) & (pixels[..., 1] > 60)).sum()
    red = ((pixels[..., 0] > 2.0 * pixels[..., 1]) & (pixels[..., 0] > 60)).sum()
    assert 0.02 * red < green < 50 * red and red + green < 0.6 * pixels[..., 0].size and min(red, green) > 300
    assert browser.run("document.querySelector('h1').textContent") == "</script><b>ring</b>"
    browser.run("leastaction.player.play(); leastaction.player.step(1); 0")


def test_a_loop_shows_the_error_of_its_constraint(browser, tmp_path):
    model = la.examples.four_bar().compile()
    run = la.simulate(model, dt=1e-2, duration=0.5, q=model.assemble())
    run.to_html(tmp_path / "loop.html")
    browser.open(tmp_path / "loop.html")
    seek(browser, 0.3)
    last = "leastaction.plots.panels.at(-1)"
    assert browser.run(f"{last}.element.querySelector('b').textContent") == "Constraint error"
    assert np.allclose(browser.run(f"Array.from({last}.shown[0].y)"), run.constraint_error, atol=1e-4 * run.constraint_error.max())
    before = picture(browser)
    browser.run("document.getElementById('show-errors').click()")
    marked = picture(browser)
    green = (marked[..., 1] > 1.4 * marked[..., 0]) & (marked[..., 1] > 1.4 * marked[..., 2])
    assert differing(before, marked) > 1e-4 and green.sum() > 20  # closed to the tolerance of the solver


def test_inline_as_in_a_notebook(browser, tmp_path, run):
    """In a frame without rights but to run scripts: the scene is drawn there, too."""
    text = inline(la.page.make(run), height=500)
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><title>notebook</title><body style='margin:0'>{text}</body>", encoding="utf-8")
    browser.call("Page.navigate", url=(tmp_path / "notebook.html").as_uri())
    from PIL import Image

    for _ in range(100):
        browser.run("new Promise((done) => setTimeout(() => done(1), 100))")
        with Image.open(io.BytesIO(browser.screenshot())) as image:
            pixels = np.asarray(image.convert("RGB")).astype(int)
        if ((pixels[..., 0] > 1.7 * pixels[..., 1]) & (pixels[..., 0] > 1.7 * pixels[..., 2]) & (pixels[..., 0] > 90)).sum() > 100:
            return
    raise AssertionError("the red box of the arm is not seen")


def test_without_webgl_the_page_says_so(browser, tmp_path, run):
    text = la.page.make(run).text.replace('getContext("webgl2"', 'getContext("webgl9"')
    (tmp_path / "old.html").write_text(text, encoding="utf-8")
    browser.open(tmp_path / "old.html")
    assert "no WebGL 2" in browser.run("document.getElementById('message').textContent")
    assert [p for p in browser.problems if "no WebGL 2" in p]  # in the console, too
    browser.problems.clear()
