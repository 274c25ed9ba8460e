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
        from .process import Exit

        sys.stderr.write("slotwise: stopped before there was an answer\n")
        sys.exit(Exit.INTERRUPTED)
    try:
        run()
    finally:
        if ordinary:
            # The answer is given; nothing may disturb the way out.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave_current_folder() -> None:
    """Take no code from the current folder, whatever PYTHONPATH says.

    ``PYTHONPATH=$PYTHONPATH:/tools`` has an empty entry as soon as the variable was not set before,
    and that means the current folder. What Python and this package lie in stays, wherever we are.
    """
    import os

    words = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        here = os.getcwd()
    except OSError:  # it is gone, and all code with it
        return
    given = {os.path.abspath(word) for word in words if word}
    relative = {os.path.abspath(word) for word in words if not os.path.isabs(word)}
    own = {os.path.dirname(os.__file__), *_installed()}

    def is_ours(folder: str) -> bool:
        if folder in own:
            return True
        real = os.path.realpath(folder)
        return folder != "" and folder not in relative and not (folder in given and real == here)

    sys.path[:] = [folder for folder in sys.path if is_ours(folder)]


def _installed() -> list[str]:
    """Where packages are installed."""
    site = sys.modules.get("site")
    return [] if site is None else [*site.getsitepackages(), site.getusersitepackages()]


def _leave(_number: int, _frame: object) -> None:
    """Nothing has been begun: there is nothing to clean up."""
    import os

    try:
        os.write(2, b"slotwise: stopped before there was an answer\n")
    finally:
        os._exit(130)
