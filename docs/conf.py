"""How Sphinx builds the site (`make docs`); the reference pages are made from the program first."""

from __future__ import annotations

import sys
from pathlib import Path

import slotwise
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

import make_reference

make_reference.main()

project = "Slotwise"
author = "the Slotwise engineers"
copyright = "the Slotwise engineers, Apache-2.0"
version = release = slotwise.__version__
today = f"Slotwise {version}"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = "$ "
html_theme = "furo"
html_title = "Slotwise"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
exclude_patterns = ["_build"]
man_pages = [
    ("reference/commands", "slotwise", "when will each pending job start, and where", author, 1)
]
#: Pages of the last version that are parts of other pages now; their addresses lead there.
MOVED = {
    "diagnose-causes": "diagnose.html#how-the-cause-is-found",
    "easy-conservative": "replay.html#easy-against-conservative-backfilling",
    "fairshare-order": "fairshare.html#the-order-of-the-jobs",
    "forecast-hosts": "forecast.html#over-hosts",
    "import-logs": "import.html#an-instant-of-a-log",
    "import-state": "import.html#the-state-snapshot",
    "instances-jobs": "instances.html#jobs",
    "library-calls": "library.html#stop-a-long-call",
    "loop-cycle": "loop.html#phases-of-a-cycle",
    "optimal": "how-it-works.html#the-lexicographic-objective",
    "portals": "limits.html#untrusted-files-behind-a-portal",
    "replay-details": "replay.html#how-logs-are-read",
    "replay-measures": "replay.html#measures",
    "report-contents": "report.html#the-first-screen",
    "resreq-levels": "resreq.html#compound-requirements",
    "robustness": "limits.html#checkpoints",
    "verify": "score.html#one-snapshot",
    "views-reasons": "views.html#why-jobs-wait",
}


def setup(app: Sphinx) -> None:
    """Formulas as MathML, which browsers draw without any script, online or not."""
    app.connect("build-finished", _lead_on)
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))


def _inline(writer: nodes.NodeVisitor, node: nodes.Element) -> None:
    writer.body.append(str(tex2mathml(node.astext())))
    raise nodes.SkipNode


def _displayed(writer: nodes.NodeVisitor, node: nodes.Element) -> None:
    writer.body.append(str(tex2mathml(node.astext(), as_block=True)))
    raise nodes.SkipNode


def _lead_on(app: Sphinx, error: Exception | None) -> None:
    """Write a page at each old address that leads to the new one."""
    if error is None and app.builder.format == "html":
        for old, new in MOVED.items():
            leads = f'<meta http-equiv="refresh" content="0; url={new}"><a href="{new}">moved</a>'
            (Path(app.outdir) / f"{old}.html").write_text(leads, "utf-8")
