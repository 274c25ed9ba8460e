"""Entry point of the ``slotwise`` command: Ctrl-C and SIGTERM print one line, also while it loads.

Nothing is imported at the top but what Python has loaded itself, as :mod:`..solver.environment`.
"""

from ..solver.environment import leave_current_folder


def main() -> None:
    """Load the command line and run it; a signal while loading ends as any other does."""
    leave_current_folder()
    import signal

    asked = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    # Handlers that the calling process has changed stay.
    ours = [number for number, usual in asked.items() if signal.getsignal(number) is usual]
    for number in ours:
        # An exception in the middle of an import could be swallowed or wrapped.
        signal.signal(number, _leave)
    from .main import main as run
    from .process import end_on_sigterm

    try:
        if signal.SIGINT in ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if signal.SIGTERM in ours:
            signal.signal(signal.SIGTERM, end_on_sigterm)
        run()
    finally:
        # The answer is given; Ctrl-C may not disturb the way out, and SIGTERM ends it.
        if signal.SIGINT in ours:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        if signal.SIGTERM in ours:
            signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, _frame: object) -> None:
    """Exit by a signal while the program loads, when there is nothing to clean up."""
    import os

    try:
        os.write(2, b"slotwise: stopped before an answer was found\n")
    finally:
        os._exit(128 + number)
