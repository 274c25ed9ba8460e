"""Runs a program of somebody else and ends it with all that it has begun: started by its path.

The program is killed at the end of standard input, which comes whatever ends the caller. Standard
output and error are the program's own. The exit code is the program's, 128 and the signal where one
killed it, 127 where it cannot be begun. Only the standard library is there.
"""

import contextlib
import os
import select
import signal
import sys

#: prctl: orphans of this process's offspring become its own children.
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Run the words of the command line."""
    _adopt_orphans()
    # A handler, so that the end of a child interrupts the wait below.
    ended, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(told)
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        child = os.posix_spawn(
            sys.argv[1],
            sys.argv[1:],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing, 0)],
            setpgroup=0,
            setsigdef=[signal.SIGPIPE],
        )
    except OSError as error:
        os.write(2, (error.strerror or str(error)).encode())
        os._exit(127)
    for stream in (1, 2):
        os.dup2(nothing, stream)  # or whoever reads the program's output waits for this process
    code = _wait(child, ended)
    _kill_all(child)
    os._exit(code)


def _wait(child: int, ended: int) -> int:
    """The exit code of the child; or nobody wants it any more."""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        ready, _, _ = select.select([0, ended], [], [])
        if 0 in ready:  # at its end: nothing is ever written there
            return 128 + signal.SIGKILL
        os.read(ended, 4096)


def _kill_all(child: int) -> None:
    """All that this process has begun, at first hand or not; elsewhere the child's group."""
    if sys.platform != "linux":
        _kill(-child)
        return
    while True:
        for process in _children():
            _kill(process)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                select.select([], [], [], 0.01)
        except OSError:  # there is none any more
            return


def _kill(process: int) -> None:
    with contextlib.suppress(OSError):  # it is gone
        os.kill(process, signal.SIGKILL)


def _children() -> list[int]:
    """The processes whose parent this one is, as Linux tells."""
    found = []
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                if int(file.read(4096).rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
        except (OSError, ValueError, IndexError):  # no process, or gone
            continue
    return found


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


if __name__ == "__main__":
    main()
