"""Root for whom the modes of files and folders count, as they do for everybody else."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

_DROP = 24  # PR_CAPBSET_DROP of prctl
_OVERRIDES = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: to write and to read whatever the mode
_VERSION = 0x20080522  # of the structures of capget and capset
_LIBC = ctypes.CDLL(None, use_errno=True)


def with_the_rights_of_modes() -> None:
    """For a child: from here on, and in what it runs, root has only the rights of an owner.

    It stays root, so that it can read the interpreter wherever that is installed.
    """
    if os.geteuid() != 0:
        return
    for right in _OVERRIDES:
        if _LIBC.prctl(_DROP, right, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "root may not give up its rights here")
    header, words = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    kept = ~sum(1 << right for right in _OVERRIDES)
    if _LIBC.capget(header, words) == 0:
        words[0] &= kept  # in effect
        words[1] &= kept  # permitted
        if _LIBC.capset(header, words) == 0:
            return
    raise OSError(ctypes.get_errno(), "root may not give up its rights here")


def probe(folder: Path) -> None:
    """Skip the test, and say so, where a child can write into a folder of mode 0555 after all."""
    touch = f"open({str(folder / 'probe')!r}, 'x')"
    try:
        done = subprocess.run(
            [sys.executable, "-c", touch],
            preexec_fn=with_the_rights_of_modes,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"root cannot give up its rights here, and writes anywhere: {error}")
    if done.returncode == 0:
        (folder / "probe").unlink()
        pytest.skip("folders are never read-only here")
