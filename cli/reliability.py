"""The reliability diagram of ``slotwise backtest`` as a picture: PNG or SVG, by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from .cells import printable

#: Inches of either side.
SIDE = 4.0
_RAW, _CALIBRATED, _IDEAL = "#3b76e1", "#e0742c", "#97a5b7"


def diagram_bytes(
    rows: Sequence[tuple[float, float, float | None]], title: str, form: str
) -> bytes:
    """Stated chance against the share that held; the same rows give the same bytes.

    rows: level, share, share after calibration or None. form: "png" or "svg".
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "slotwise", "svg.fonttype": "none", "font.size": 8}
    settings |= {"text.parse_math": False, "font.family": "DejaVu Sans"}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(SIDE, SIDE), layout="constrained")
        FigureCanvasAgg(figure)
        axis = figure.subplots()
        axis.plot([0, 1], [0, 1], color=_IDEAL, linewidth=1, label="as stated")
        axis.plot([r[0] for r in rows], [r[1] for r in rows], "o-", color=_RAW, label="forecast")
        after = [(level, share) for level, _, share in rows if share is not None]
        axis.plot(*zip(*after, strict=True), "s", color=_CALIBRATED, label="calibrated")
        axis.set(xlim=(0, 1), ylim=(0, 1), title=printable(title), aspect="equal")
        axis.set(xlabel="stated chance to have started", ylabel="share that had started")
        axis.legend(frameon=False)
        content = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(content, format=form, dpi=150, metadata=metadata)
    return content.getvalue()
