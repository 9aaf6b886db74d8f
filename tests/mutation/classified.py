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
    ("solvability/stepping.py", "self._one = self._inner.make_record(1, 1)", "1"): "equivalent: a record with room that is not used",
    (
        "solvability/kantorovich.py",
        "return min(float(np.linalg.norm(np.moveaxis(tensor, k, 0).reshape(n, -1), 2)) for k in range(tensor.ndim))",
        "0",
    ): "equivalent: the tensor is symmetric in all arguments but the first: it has two different unfoldings, which are looked at still",
    (
        "solvability/constants.py",
        "known = 1e-13 * (len(equation.q) + 8) * equation.tensors.magnitude(equation.q, radii)  # what rounding may have done to them",
        "8",
    ): "tolerance: how much is allowed for rounding",
    (
        "solvability/constants.py",
        'c = certified_constants(equation, radius) if kind == "certified" else sampled_constants(equation, radius, 40)',
        "40",
    ): "tolerance: number of samples",
    (
        "solvability/constants.py",
        "q = equation.q + radius * rng.uniform() ** (1.0 / n) * direction / np.linalg.norm(direction)",
        "1.0",
    ): "tolerance: how samples are spread over the ball",
    ("solvability/oscillation.py", "if not square > 1e-24 * float(abs(ritz).max()) ** 2:  # no other direction is left", "max"): (
        "tolerance: a direction more, of rounding, that is made orthogonal to the others changes no frequency"
    ),
    ("kernels/solvability/groups.py", "g.extent[f], g.extent[f + 1], g.extent[f + 2] = 0.0, 0.0, 0.0", "1"): (
        "tolerance: more is allowed for rounding where a ball joint turns"
    ),
    (
        "kernels/solvability/groups.py",
        "return (a[f] * a[f] + a[f + 1] * a[f + 1] + a[f + 2] * a[f + 2]) ** 0.5 * (1.0 + 1e-15)",
        "+",
    ): "tolerance: of the last + the last digits of a bound are rounded down; the others are killed",
    ("joints/symbolic.py", "turned = [self.pose(self._start + 2 * np.pi * e) for e in np.eye(self.nv)]", "+"): (
        "equivalent: a whole turn back changes as little as one ahead"
    ),
    ("joints/symbolic.py", "pose = np.eye(4)", "4"): "compiled: tests/unit/test_symbolic.py compares it with the expression",
    (
        "io/urdf_writer.py",
        'lines = [f"    <{placed.role}>", *_origin(placed.placement, 6), f"      <geometry>{_geometry(placed.shape)}</geometry>"]',
        "6",
    ): "equivalent: spaces in front of an element",
    (
        "lie/retraction_exp.py",
        "b = 0.5 - x * (1 / 24 - x * (1 / 720 - x * (1 / 40320 - x * (1 / 3628800 - x * (1 / 479001600 - x / 87178291200)))))",
        "87178291200",
    ): "tolerance: the eleventh digit of a coefficient whose term is below rounding",
    (
        "lie/retraction_exp.py",
        "return 1 / 3780 + x * (1 / 50400 + x * (1 / 997920 + x * (691 / 16345929600 + x * (1 / 622702080",
        "16345929600",
    ): "tolerance: the eleventh digit of a coefficient whose term is a small part of the sum",
    (
        "solvability/kantorovich.py",
        "low, high = 0.0, min((f / x) ** (1.0 / k) for k, (x, f) in enumerate(((b, 1.0), (c, 2.0), (d, 6.0)), start=1) if x > 0.0)",
        "6.0",
    ): "tolerance: where halving begins; a wider interval contains the place too",
    ("kernels/constraints/bordered.py", "for b in range(S.shape[0]):", "0"): "equivalent: S is square",
    ("kernels/solvability/certificate.py", "n = T.shape[0]", "0"): "equivalent: all sides of T are of one length",
    ("kernels/forces/laws.py", "store9(laws.place, e, 0, R)", "0"): (
        "equivalent: the only caller places the law anew before it asks again; the place is put back for callers that do not"
    ),
    ("kernels/lagrangian/derivatives.py", "for k in range(count - 1, 0, -1):", "0"): (
        "equivalent: the first frame stands on the world, to which nothing is passed on"
    ),
    ("kernels/lagrangian/balls.py", "J[v + 1, v + 2] += 0.5 * l[0]", "+"): (
        "tolerance: a matrix of Newton's method that is approximate anyway; a step takes a correction more, and is the same"
    ),
    ("kernels/stepping/maximal.py", "for i in range(1, flow.node.shape[0]):", "1"): (
        "tolerance: what errors of constraints are compared with, without the displacement of the first body"
    ),
    ("io/sexp_reader.py", "parallel = np.abs(np.cross(axis, first)).max() < 1e-12", "1e-12"): (
        "tolerance: which axes count as parallel, far above rounding and far below what files say"
    ),
}
