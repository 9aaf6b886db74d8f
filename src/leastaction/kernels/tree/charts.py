"""After a step: joints whose coordinates have become nearly singular change to their second chart."""

from ...compiling.decorators import kernel
from ...joints import dispatch
from ...joints.charts import change_chart
from .layout import CHARTED, KIND, NV, QI, VI


@kernel
def switch_charts(charts, m, w, q, tangent, covector):
    """Write q, a velocity or increment, and a momentum in better charts; returns how many joints have changed theirs.

    charts: Work.charts, or None.  Writes S0 of those joints, and that scratch.
    """
    changed = 0
    if charts is not None:
        for i in range(1, m.link.shape[0]):
            if m.link[i, CHARTED]:
                kind, k, v, nv = m.link[i, KIND], m.link[i, QI], m.link[i, VI], m.link[i, NV]
                if change_chart(kind, m.param, i, q, k, nv, tangent, covector, v, charts.rows, charts.numbers):
                    dispatch.columns(kind, m.param, i, q, k, tangent, v, 0.0, w.S0)
                    changed += 1
    return changed
