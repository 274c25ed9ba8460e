"""Commands and code shown in README and docs: what the pages print is what a user gets.

``python docs/shown.py`` (part of `make docs`) runs every ``$ slotwise …`` line of a console block
and writes its output behind it; `tests/test_documents.py` runs the same and compares. A block whose
commands show no output is run all the same. A line ``…`` stands for any lines. A command
with the comment ``# your …`` wants a file of the reader's and is not run. The commands of a
page run one after the other in a folder of their own; other commands (make, pip, git) are not run.
Python blocks of a page run one after the other in one namespace; what they print stands in
``# -> text`` comments or in a text block right behind.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import kept

ROOT = Path(__file__).resolve().parents[1]
#: The program is loaded once, and each command runs in a child of that process.
SUPPORT = ROOT / "tests" / "support"
#: As wide as the pages, as long as no page.
ENVIRONMENT = {"COLUMNS": "160", "LINES": "50", "NO_COLOR": "1", "TZ": "UTC"}
ANY = "…"
_CODE = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """One line of a console block, and the output that is shown behind it ("" for none)."""

    line: str
    output: str
    comment: str = ""

    @property
    def runs(self) -> bool:
        """Whether it is a command of ours that needs no file of the reader's (``# your …``)."""
        return self.line.startswith("slotwise ") and not self.comment.startswith("your ")


def pages() -> list[Path]:
    """README and every page of docs."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted((docs / "dev").glob("*.md"))]


def blocks(text: str, kind: str) -> list[str]:
    """The contents of the blocks of a kind, in order."""
    return [found[2] for found in _BLOCK.finditer(text) if found[1] == kind]


def commands(block: str) -> Iterator[Command]:
    """The commands of a console block; a backslash at the end of a line joins the next."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, output = part.replace("\\\n", "").partition("\n")
        line, _, comment = line.partition("  # ")
        yield Command(line.strip(), output, comment.strip())


def furnish(folder: Path) -> None:
    """Put the files of the administrator's tutorial into a page's folder."""
    shutil.copytree(ROOT / "instances" / "tutorial", folder, dirs_exist_ok=True)


def codes(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each Python block, and the lines it prints: ``# -> line``, or the text block behind it."""
    for found in re.finditer(_CODE, text):
        code, output = found[1], found[2]
        yield code, re.findall(r"# -> (.*)", code) + (output or "").splitlines()


def run(line: str, folder: Path) -> str:
    """What a command line prints in a folder, messages too; RuntimeError if it fails."""
    from forked import slotwise

    done = slotwise(
        *shlex.split(line)[1:],
        cwd=folder,
        before=lambda: os.environ.update(ENVIRONMENT),
        together=True,
    )
    if done.returncode:
        raise RuntimeError(f"{line}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def agrees(shown: str, printed: str) -> bool:
    """Whether an output is the one that is shown, a line ``…`` standing for any."""
    parts = [re.escape(part) for part in _lines(shown).split(f"{ANY}\n")]
    return re.fullmatch("(.*\n)*".join(parts), _lines(printed)) is not None


def _lines(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").split("\n"))


def rewritten(text: str, folder: Path) -> str:
    """The page with outputs as they are now; a shown output that still agrees stays."""

    def block(found: re.Match[str]) -> str:
        if found[1] != "console":
            return found[0]
        content = found[2]
        for command in commands(content):
            if not command.runs:
                continue
            printed = run(command.line, folder)
            if command.output.strip() and not agrees(command.output, printed):
                content = content.replace(command.output, _lines(printed))
        return f"```console\n{content}```"

    return _BLOCK.sub(block, text)


def remade(page: Path) -> str:
    """The page as it should be, its commands run in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        furnish(folder)
        return rewritten(page.read_text(encoding="utf-8"), folder)


def key(program: str, text: str) -> str:
    """What the outputs of a page depend on: the program and its console blocks, not its prose."""
    return kept.digest((), program, *blocks(text, "console"))


def main() -> None:
    """Bring the pages up to date whose commands or program have changed."""
    program = kept.digest(kept.PROGRAM)
    stale = [
        page
        for page in pages()
        if not kept.is_made(_name(page), key(program, page.read_text(encoding="utf-8")))
    ]
    if not stale:
        return
    sys.path.insert(0, str(SUPPORT))
    import forked  # noqa: F401

    # The pages with most commands first; each worker is a fork that has the program loaded.
    stale.sort(key=lambda page: -page.read_text(encoding="utf-8").count("$ slotwise"))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        for page, text in zip(stale, pool.map(remade, stale), strict=True):
            if text != page.read_text(encoding="utf-8"):
                page.write_text(text, encoding="utf-8")
            kept.keep(_name(page), key(program, text))


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    main()
