"""Where the ``slotwise`` command begins: Ctrl-C is one line of text, even while modules load."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it; an interrupt while loading ends as any other does."""
    try:
        from .main import main as run
    except KeyboardInterrupt:
        from .exits import Exit

        sys.stderr.write("slotwise: stopped before there was an answer\n")
        sys.exit(Exit.INTERRUPTED)
    run()
