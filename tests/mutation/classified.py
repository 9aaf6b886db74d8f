"""Survivors that were looked at: (file, line of code, token) -> why no test can or need tell them from the original.

"equivalent": nothing changes; "unreachable": no input gets there; "tolerance": a number that may be another within reason.
"""

CLASSIFIED: dict[tuple[str, str, str], str] = {
    ("solvability/constants.py", "for _ in range(60):", "60"): "tolerance: halvings of an interval",
    ("solvability/equation.py", "scale = max(np.abs(self.p).max(), abs(h) * np.abs(self.force).max(), 1e-300)", "max"): (
        "tolerance: pure Newton of the checks is stopped by the size of its last correction too"
    ),
    ("solvability/stepping.py", 'if 0.0 < h < (1.0 - 1e-12) * wanted and self.integrator.controller == "reversible":', "1e-12"): (
        "tolerance: what counts as shorter"
    ),
    ("solvability/kantorovich.py", "return (low - b * low**2 / 2.0 - c * low**3 / 6.0 - d * low**4 / 24.0) * (1.0 - 1e-14)", "*"): (
        "tolerance: the last digits of a bound are rounded down, which no mechanism shows"
    ),
    ("joints/symbolic.py", "turned = [self.pose(self._start + 2 * np.pi * e) for e in np.eye(self.nv)]", "+"): (
        "equivalent: a whole turn back changes as little as one ahead"
    ),
    ("joints/symbolic.py", "pose = np.eye(4)", "4"): "compiled: tests/unit/test_symbolic.py compares it with the expression",
    (
        "io/urdf_writer.py",
        'lines = [f"    <{placed.role}>", *_origin(placed.placement, 6), f"      <geometry>{_geometry(placed.shape)}</geometry>"]',
        "6",
    ): "equivalent: spaces in front of an element",
}
