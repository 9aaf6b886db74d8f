"""Which figures and tables there are, in the order of the report."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from types import ModuleType

from leastaction.errors import LeastActionError

PAPERS = {
    "lee": "Lee, Liu, Park, Srinivasa 2016: A Linear-Time Variational Integrator for Multibody Systems",
    "johnson": "Johnson, Murphey 2009: Scalable Variational Integrators for Constrained Mechanical Systems in Generalized Coordinates",
    "bruedigam": "Brüdigam, Manchester 2020: Linear-Time Variational Integrators in Maximal Coordinates",
    "kobilarov": "Kobilarov 2014: Solvability of Geometric Integrators for Multi-body Systems",
    "si": "Si, Guenter 2010: Linear-Time Dynamics for Multibody Systems with General Joint Models",
    "work": "All together: what an accuracy costs",
}


@dataclass(frozen=True)
class Entry:
    key: str  #: name of the script
    paper: str  #: key of PAPERS
    what: str  #: "Fig. 2"
    title: str

    @property
    def made(self) -> bool:
        return importlib.util.find_spec(f"papers.{self.key}") is not None

    def script(self) -> ModuleType:
        return importlib.import_module(f"papers.{self.key}")


ENTRIES = [
    Entry("lee2016_fig2", "lee", "Fig. 2", "a chain, and its energy with RIQN and with semi-implicit Euler"),
    Entry("lee2016_fig3", "lee", "Fig. 3", "computation time over degrees of freedom"),
    Entry("lee2016_fig4", "lee", "Fig. 4a and 4b", "how RIQN and Newton's method converge, and how many iterations they need"),
    Entry("johnson2009_fig1", "johnson", "Fig. 1", "energy of a pendulum over 5000 s"),
    Entry("johnson2009_fig7", "johnson", "Fig. 7", "run time of an N-link pendulum with and without caching"),
    Entry("johnson2009_fig8", "johnson", "Fig. 8", "energy of the closed-chain device over 120 s"),
    Entry("johnson2009_fig11", "johnson", "Fig. 11", "a scissor lift of 5 segments over 10 s"),
    Entry("johnson2009_fig12", "johnson", "Fig. 12", "the same lift after 1000 s"),
    Entry("johnson2009_fig13", "johnson", "Fig. 13", "run time for a given error over the number of segments"),
    Entry("bruedigam2020_fig4", "bruedigam", "Fig. 4a to 4d", "energy, drift, sparse against dense, convergence"),
    Entry("bruedigam2020_fig5", "bruedigam", "Fig. 5a and 5b", "open and closed chains"),
    Entry("bruedigam2020_fig6", "bruedigam", "Fig. 6", "chains of four-bars"),
    Entry("bruedigam2020_fig7", "bruedigam", "Fig. 7", "a quadruped with closed-loop legs"),
    Entry("bruedigam2020_fig8", "bruedigam", "Fig. 8a to 8c", "tolerances"),
    Entry("kobilarov2014_fig1", "kobilarov", "Fig. 1", "a three-link system at three time steps"),
    Entry("kobilarov2014_fig2", "kobilarov", "Fig. 2", "bounds on the step of a rigid body"),
    Entry("kobilarov2014_algorithm1", "kobilarov", "Algorithm 1", "a certified step at every node, 50 runs of 5 s"),
    Entry("kobilarov2014_fig5", "kobilarov", "Figs. 4 and 5", "a floating chain of three bodies at h = 0.1 s"),
    Entry("si2010_table1", "si", "Table 1", "forward dynamics of revolute chains, torus chains and the windmill"),
    Entry("si2010_fig1", "si", "Fig. 1", "a chain of tori"),
    Entry("si2010_fig2", "si", "Fig. 2", "the windmill"),
    Entry("si2010_fig3", "si", "Fig. 3", "a torus chain on a spline"),
    Entry("si2010_fig4", "si", "Fig. 4", "a board on a spline surface"),
    Entry("work_precision", "work", "Work and precision", "error against time of the processor, with MuJoCo, Pinocchio and DART"),
]


def chosen(names: list[str]) -> list[Entry]:
    """Entries of papers or single ones by name; all if there are no names."""
    known = {entry.key for entry in ENTRIES}
    for name in names:
        if name not in PAPERS and name not in known:
            raise LeastActionError(
                f"there is no paper or figure {name!r}; papers are {', '.join(PAPERS)}; figures are {', '.join(sorted(known))}"
            )
    return [entry for entry in ENTRIES if not names or entry.key in names or entry.paper in names]
