"""Where the ``slotwise`` command begins: Ctrl-C is one line of text, even while modules load."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it; an interrupt while loading ends as any other does."""
    try:
        import signal

        ordinary = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ordinary:
            # An exception in the middle of an import could be swallowed or wrapped.
            signal.signal(signal.SIGINT, _leave)
        from .main import main as run

        if ordinary:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    except KeyboardInterrupt:
        from .exits import Exit

        sys.stderr.write("slotwise: stopped before there was an answer\n")
        sys.exit(Exit.INTERRUPTED)
    try:
        run()
    finally:
        if ordinary:
            # The answer is given; nothing may disturb the way out.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(_number: int, _frame: object) -> None:
    """Nothing has been begun: there is nothing to clean up."""
    import os

    try:
        os.write(2, b"slotwise: stopped before there was an answer\n")
    finally:
        os._exit(130)
