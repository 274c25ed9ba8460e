"""What a process finds by its environment: neither code nor programs of the current folder.

Loaded before anything else of the command, so it imports only what Python itself has loaded.
"""

import os
import sys


def without_current_folder(environment: dict[str, str]) -> dict[str, str]:
    """The environment, changed so that a process begun with it takes nothing from where it is.

    ``PYTHONPATH=$PYTHONPATH:/tools`` has an empty entry as soon as the variable was not set before,
    and an empty or relative entry means the current folder; so it is with PATH and, in a Python of
    its own, with the place of a command given by ``-c``.
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
    # An empty list is taken for one empty entry by some.
    return {
        name: value
        for name, value in found.items()
        if value or name not in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")
    }


def leave_current_folder() -> None:
    """This process and those that it begins take no code from the current folder from here on.

    What Python and this package lie in stays, wherever we are.
    """
    words = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    cleaned = without_current_folder(dict(os.environ))
    for name in os.environ.keys() - cleaned.keys():
        del os.environ[name]
    os.environ.update(cleaned)
    here = _current_folder()
    if here is None:  # it is gone, and all code with it
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
    """None where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _installed() -> list[str]:
    """Where packages are installed."""
    site = sys.modules.get("site")
    return [] if site is None else [*site.getsitepackages(), site.getusersitepackages()]
