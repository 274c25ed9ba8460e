"""The pages of the service: a frame each, which its script fills from the API."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from string import Template
from typing import Final

from ... import __version__

#: Files that the pages share with the report.
SHARED: Final = ("base.css", "theme.js")
#: Files of the pages, each with its type.
ASSETS: Final = {
    "theme.js": "text/javascript",
    "base.css": "text/css",
    "serve.css": "text/css",
    "serve.js": "text/javascript",
    "board.js": "text/javascript",
    "job.js": "text/javascript",
    "score.js": "text/javascript",
    "api.js": "text/javascript",
}


@lru_cache(64)
def asset_bytes(name: str) -> bytes:
    """Return a file of the pages."""
    assert __package__ is not None
    package = f"{__package__.rpartition('.')[0]}.report" if name in SHARED else __package__
    return resources.files(package).joinpath("assets", name).read_bytes()


@lru_cache(64)
def page_bytes(name: str, up: str) -> bytes:
    """Return a page. up: the way from its address to that of the board, "" or "../" …"""
    text = resources.files(__package__).joinpath("assets", f"{name}.html").read_text("utf-8")
    return Template(text).substitute(up=up, version=__version__).encode()
