"""What notebooks show: mechanisms, models and runs as tables with a picture, whatever is in them."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import leastaction as la
from leastaction.drawing.skeleton import Skeleton
from leastaction.page.tables import _zero_position

EXAMPLES = [
    la.examples.chain(3), la.examples.marionette(), la.examples.humanoid(), la.examples.random_tree(8, seed=2, floating=True),
    la.examples.screw(), la.examples.four_bar(), la.examples.rolling_disc(), la.examples.knee_leg(), la.examples.torus_chain(2),
]  # fmt: skip


def parsed(text):
    """As XML: everything is closed and escaped."""
    return ElementTree.fromstring(f"<r>{re.sub(r'<iframe.*</iframe>', '', text, flags=re.DOTALL)}</r>")


@pytest.mark.parametrize("mech", EXAMPLES, ids=lambda m: m.name)
def test_mechanisms_and_models_are_shown_with_all_their_bodies(mech):
    model = mech.compile()
    for thing, bodies in ((mech, mech.bodies), (model, model.body_names)):
        tree = parsed(thing._repr_html_())
        cells = [cell.text.strip() for cell in tree.iter("td") if cell.text]
        assert set(list(bodies)[:20]) <= set(cells) or len(bodies) > 24
        assert len(list(tree.iter("line"))) >= 1 or not Skeleton(model).lines


@pytest.mark.parametrize("mech", EXAMPLES, ids=lambda m: m.name)
def test_the_picture_is_where_the_kernels_put_the_bodies(mech):
    skeleton = Skeleton(mech.compile())
    assert np.allclose(skeleton.placed(_zero_position(skeleton.model)), skeleton.points(skeleton.model.neutral()), atol=1e-9)


def test_names_are_escaped():
    mech = la.Mechanism(name="<script>alert(1)</script>")
    mech.add_body("<b>", joint=la.Revolute(), mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1))
    for thing in (mech, mech.compile()):
        assert "<script>" not in thing._repr_html_() and "&lt;b&gt;" in thing._repr_html_()


def test_a_mechanism_that_is_not_finished_is_shown_and_says_why():
    mech = la.Mechanism()
    assert "nothing that moves" in mech._repr_html_()
    mech.add_body("arm", parent="shoulder", joint=la.Revolute(), mass=1.0)
    assert "cannot be compiled yet" in mech._repr_html_() and "arm" in mech._repr_html_()


def test_large_mechanisms_are_cut_and_say_so():
    assert "… and 76 more" in la.examples.chain(100)._repr_html_()


def test_a_run_is_shown_with_its_facts_its_curve_and_its_page():
    run = la.simulate(la.examples.chain(3).compile(), dt=1e-2, duration=1.0, q={"link1": 0.8})
    text = run._repr_html_()
    tree = parsed(text)
    cells = [cell.text for cell in tree.iter("td")]
    for name, fact in run.facts():
        assert name in cells and fact in cells
    assert len(list(tree.iter("polyline"))) == 1 and "srcdoc=" in text and str(run).splitlines()[0].endswith(run.facts()[0][1])


def test_the_page_of_a_large_run_is_left_to_show(monkeypatch):
    run = la.simulate(la.examples.chain(3).compile(), dt=1e-2, duration=1.0, q={"link1": 0.8})
    monkeypatch.setattr("leastaction.page.tables._MOST_POSES", 10)
    assert "srcdoc" not in run._repr_html_() and "la.show(run)" in run._repr_html_()


def test_reports_are_tables_that_say_what_their_text_says():
    model = la.examples.chain(3).compile()
    report = la.solvability.report(model, model.state({"link1": 1.0}), dt=0.01)
    cells = [cell.text for cell in parsed(report._repr_html_()).iter("td")]
    assert len(cells) == 3 * (len(report.rows()) - 1)
    for row in report.rows()[1:]:
        assert all(cell in cells and cell in str(report) for cell in row)
    assert report.verdict in report._repr_html_() or report.verdict.replace("'", "&#x27;") in report._repr_html_()


def test_reactions_are_a_table_of_their_largest_loads():
    model = la.examples.four_bar().compile()
    run = la.simulate(model, dt=1e-2, duration=0.5, q=model.assemble({"rod1": 0.8, "rod2": -2.0, "rod3": -1.3}))
    rows = [[cell.text for cell in row.iter("td")] for row in parsed(run.reactions._repr_html_()).iter("tr")][1:]
    assert [row[0] for row in rows] == list(run.reactions)
    for row in rows:
        force = np.linalg.norm(run.reactions[row[0]].force, axis=1)
        assert row[3] == f"{force.max():.4g} N" and row[4] == f"{run.t[force.argmax()]:.4g} s"
    one = [cell.text for cell in parsed(run.reactions["rod2"]._repr_html_()).iter("td")]
    assert one == next(row for row in rows if row[0] == "rod2")
    assert len(list(parsed(run.reactions["rod2"].at(3)._repr_html_()).iter("td"))) == 8


def test_reactions_on_coordinates_have_no_force_in_the_table():
    mech = la.examples.screw()
    run = la.simulate(mech.compile(), dt=1e-2, steps=5)
    assert "–" in run.reactions._repr_html_()


def test_a_crosscheck_is_a_table_of_both_ways():
    found = la.crosscheck(la.examples.chain(3), dt=1e-3, duration=0.02, q={"link1": 0.7})
    cells = [cell.text for cell in parsed(found._repr_html_()).iter("td")]
    assert cells[0] == "Variational" and cells[4] == "Maximal" and "they agree" in found._repr_html_()
