"""Runs a foreign program and kills it with all its children; started by its path.

The program is killed at the end of standard input, which comes at any end of the caller. Standard
output and error are the program's own. The exit code is the program's, 128 and the signal if one
killed it, 127 if it cannot be started. It uses only the standard library.
"""

import contextlib
import os
import select
import signal
import sys

#: Option of prctl: orphaned descendants of this process become its own children.
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Run the words of the command line; the first is the file of the program's input."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # A handler, so that the end of a child interrupts the wait below.
    ended, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(told)
    try:
        given, nothing = os.open(sys.argv[1], os.O_RDONLY), os.open(os.devnull, os.O_RDONLY)
        child = os.posix_spawn(
            sys.argv[2],
            sys.argv[2:],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, given, 0)],
            setpgroup=0,
            setsigdef=[signal.SIGPIPE],
        )
    except OSError as error:
        os.write(2, (error.strerror or str(error)).encode())
        os._exit(127)
    for stream in (1, 2):
        # Otherwise the reader of the program's output would wait for this process.
        os.dup2(nothing, stream)
    code = _wait(child, ended)
    _kill_all(child)
    os._exit(code)


def _wait(child: int, ended: int) -> int:
    """Return the exit code of the child; at the end of standard input, end without it."""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        ready, _, _ = select.select([0, ended], [], [])
        if 0 in ready:  # Standard input is at its end: nothing is ever written there.
            return 128 + signal.SIGKILL
        os.read(ended, 4096)


def _kill_all(child: int) -> None:
    """Kill all descendants of this process; elsewhere than on Linux the child's group."""
    if sys.platform != "linux":
        _kill(-child)
        return
    while True:
        for process in _children():
            _kill(process)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                select.select([], [], [], 0.01)
        except OSError:  # There is no child any more.
            return


def _kill(process: int) -> None:
    with contextlib.suppress(OSError):  # The process no longer exists.
        os.kill(process, signal.SIGKILL)


def _children() -> list[int]:
    """Return the child processes of this one, as Linux reports them."""
    found = []
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read(4096).rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
        # The entry is not a process, or the process no longer exists.
        except (OSError, ValueError, IndexError):
            continue
    return found


if __name__ == "__main__":
    main()
