"""Where the ``slotwise`` command begins: Ctrl-C is one line of text, even while modules load."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it; an interrupt while loading ends as any other does."""
    _leave_current_folder()
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


def _leave_current_folder() -> None:
    """Take no code from the current folder where an empty entry of PYTHONPATH means it.

    ``PYTHONPATH=$PYTHONPATH:/tools`` has one as soon as the variable was not set before.
    """
    import os

    words = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if len(words) > 1 or words[0]:
        try:
            here = os.getcwd()
        except OSError:  # it is gone, and all code with it
            return
        if here not in words and any(os.path.normpath(word) == os.curdir for word in words):
            sys.path[:] = [folder for folder in sys.path if folder not in ("", here)]


def _leave(_number: int, _frame: object) -> None:
    """Nothing has been begun: there is nothing to clean up."""
    import os

    try:
        os.write(2, b"slotwise: stopped before there was an answer\n")
    finally:
        os._exit(130)
