"""Protection of a process against code and programs in the current folder.

Loaded before anything else of the command, so it imports only modules that Python itself has
loaded.
"""

import os
import sys


def without_current_folder(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment, changed so that its processes load nothing from the current folder.

    ``PYTHONPATH=$PYTHONPATH:/tools`` has an empty entry if the variable was not set before, and an
    empty or relative entry means the current folder; so it is with PATH and, in a separate Python,
    for the place of a command given by ``-c``.
    """
    found = {**environment, "PYTHONSAFEPATH": "1"}
    for name in ("PATH", "LD_LIBRARY_PATH"):
        if name in found:
            found[name] = os.pathsep.join(
                word for word in found[name].split(os.pathsep) if os.path.isabs(word)
            )
    if "PYTHONPATH" in found:
        here = _current_folder()
        words = found["PYTHONPATH"].split(os.pathsep)
        kept = [word for word in words if os.path.isabs(word) and os.path.realpath(word) != here]
        found["PYTHONPATH"] = os.pathsep.join(kept)
    # Some programs take an empty list as one empty entry.
    return {
        name: value
        for name, value in found.items()
        if value or name not in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
    }


def leave_current_folder() -> None:
    """Stop this process and its children from loading code from the current folder.

    The folders of Python and of this package stay, even if the current folder is one of them.
    """
    words = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    cleaned = without_current_folder(dict(os.environ))
    for name in os.environ.keys() - cleaned.keys():
        del os.environ[name]
    os.environ.update(cleaned)
    here = _current_folder()
    if here is None:  # The folder is gone, with all its code.
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


def _current_folder() -> str | None:
    """Return the current folder, None if it no longer exists."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _installed() -> list[str]:
    """Return the folders where packages are installed."""
    site = sys.modules.get("site")
    return [] if site is None else [*site.getsitepackages(), site.getusersitepackages()]
