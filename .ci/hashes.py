#!/usr/bin/env python3
"""Write the sums of the wheels that constraints.txt stands for here, one file a platform.

    .ci/hashes.py            .ci/hashes-cp311-linux_x86_64.txt, by the index that pip uses here
    .ci/hashes.py --platform the platform's name alone

`make locked` installs by that file: a wheel with another sum is refused. What pip would install is
asked of pip itself, nothing is installed; build tools of the project are among it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

from groups import group

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ".[highs,report]"
#: What builds the project, so that no environment with other tools is needed for it.
BUILD = "setuptools"


def main() -> int:
    """The file of this platform, written anew; or only the platform's name."""
    if sys.argv[1:] == ["--platform"]:
        print(platform())
        return 0
    path = ROOT / ".ci" / f"hashes-{platform()}.txt"
    path.write_text("".join(f"{line}\n" for line in lines(resolved())), encoding="utf-8")
    print(path.relative_to(ROOT))
    return 0


def platform() -> str:
    """Interpreter and platform as wheels name them: cp311-linux_x86_64."""
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{version}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def resolved() -> list[dict[str, object]]:
    """What pip would install into an empty environment, as its report has it."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", "-"]
    command += ["--ignore-installed", "-c", "constraints.txt", "-e", PROJECT, *group("dev"), BUILD]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    installed: list[dict[str, object]] = json.loads(answer.stdout)["install"]
    return installed


def lines(installed: list[dict[str, object]]) -> list[str]:
    """`name==version --hash=sha256:…`, sorted; not the project itself, which is a folder."""
    found = []
    for item in installed:
        metadata, download = item["metadata"], item["download_info"]
        assert isinstance(metadata, dict)
        assert isinstance(download, dict)
        if "archive_info" in download:
            sum_ = download["archive_info"]["hashes"]["sha256"]
            found.append(f"{metadata['name']}=={metadata['version']} --hash=sha256:{sum_}")
    return sorted(found, key=str.lower)


if __name__ == "__main__":
    sys.exit(main())
