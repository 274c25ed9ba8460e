"""Pictures by matplotlib, set up as it is by itself: the same data gives the same bytes.

It would obey a file ``matplotlibrc`` of the current folder before all others, which may have it run
LaTeX on text of that file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "slotwise",
    "svg.fonttype": "none",
    "font.size": 8,
    # Names are text: a dollar sign in one begins no formula.
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
}


#: Metadata of each form that would differ from one run to another.
_METADATA = {
    "svg": ("Date",),
    "png": ("Software",),
    "pdf": ("CreationDate", "Producer", "Creator"),
}


def check_library(options: str = "--png and --svg") -> None:
    """Raise InputError with the packages to install if matplotlib is missing.

    options: the options that need it.
    """
    from ..model.errors import InputError, missing_package

    try:
        _load()
    except ImportError:
        raise InputError(missing_package("matplotlib", options, "report")) from None


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """Yield a figure of this size in inches, to be plotted and written within the block."""
    _load()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = _SETTINGS
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings)
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def picture(figure: Figure, form: str) -> bytes:
    """Return the figure as the bytes of a file. form: "png", "svg" or "pdf"."""
    content = io.BytesIO()
    # Without the date and the program, equal figures give equal bytes.
    metadata: dict[str, Any] = dict.fromkeys(_METADATA[form])
    figure.savefig(content, format=form, dpi=150, metadata=metadata)
    return content.getvalue()


def _load() -> None:
    """Load matplotlib where no configuration of the current folder is; ImportError without it."""
    with ExitStack() as stack:
        with suppress(OSError):  # the current folder is gone, and all configuration with it
            stack.enter_context(chdir(Path(__file__).parent))
        import matplotlib  # noqa: F401
