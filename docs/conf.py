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


def setup(app: Sphinx) -> None:
    """Formulas as MathML, which browsers draw without any script, online or not."""
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))


def _inline(writer: nodes.NodeVisitor, node: nodes.Element) -> None:
    writer.body.append(str(tex2mathml(node.astext())))
    raise nodes.SkipNode


def _displayed(writer: nodes.NodeVisitor, node: nodes.Element) -> None:
    writer.body.append(str(tex2mathml(node.astext(), as_block=True)))
    raise nodes.SkipNode
