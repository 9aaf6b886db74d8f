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
}
