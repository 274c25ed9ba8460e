"""Words that the style of the project avoids, counted per file: no count may rise.

``python docs/terms.py`` prints each file that has more of a word than ``docs/terms-counts.tsv``
allows, with what to write instead, and ends with 1. ``--update`` lowers the counts that have fallen
and lets words move between files, as long as no word becomes more frequent in all of them.

The words are the rows of ``docs/terms.tsv``; those marked ``warn`` are counted and never fail.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TERMS, COUNTS = ROOT / "docs" / "terms.tsv", ROOT / "docs" / "terms-counts.tsv"
#: Code whose comments, docstrings, names and messages are read.
CODE = ("__init__.py", "__main__.py", "library.py", "model", "solver", "cli")
#: Files that the words come from or that look back.
EXEMPT = ("docs/glossary.md",)
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True)
class Term:
    """A word to avoid: what to write instead, and the expression that finds it."""

    avoid: str
    write: str
    #: Whether a file with more of it fails.
    fails: bool
    #: Whether names are searched as they are, not as words.
    in_raw_names: bool
    pattern: re.Pattern[str]


def terms(path: Path = TERMS) -> list[Term]:
    """The rows of the table."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Term(
            row["avoid"],
            row["write"],
            row["level"] != "warn",
            "_" in row["regex"],
            re.compile(row["regex"], 0 if row["case"] == "exact" else re.IGNORECASE),
        )
        for row in rows
    ]


def code_texts(source: str) -> tuple[list[str], list[str]]:
    """Comments, docstrings and messages of a module, and its names, each once."""
    tree = ast.parse(source)
    prose = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value:  # others are keys
                prose.append(" ".join(node.value.split()))
        else:
            names.update(_names(node))
    return prose, sorted(names)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[-1]


def words_of(name: str) -> str:
    """The words of a name, as text: ``JobState`` and ``job_state`` are ``job state``."""
    return " ".join(_WORD.findall(name)).lower()


def page_texts(text: str) -> list[str]:
    """The paragraphs of a page without code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "``", text)
    return [" ".join(part.split()) for part in text.split("\n\n")]


def counts_of(path: Path, known: Iterable[Term]) -> Counter[str]:
    """How often a file has each word to avoid."""
    source = path.read_text(encoding="utf-8")
    names: list[str] = []
    if path.suffix == ".py":
        prose, names = code_texts(source)
    else:
        prose = page_texts(source)
    text, raw = "\n".join(prose), "\n".join(names)
    split = "\n".join(map(words_of, names))
    found: Counter[str] = Counter()
    for term in known:
        number = sum(1 for _ in term.pattern.finditer(text))
        number += sum(1 for _ in term.pattern.finditer(raw if term.in_raw_names else split))
        if number:
            found[term.avoid] = number
    return found


def files() -> list[Path]:
    """The modules of the product and the pages for users."""
    tops = [ROOT / name for name in CODE]
    code = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*.py"))]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return sorted(path for path in (*code, *pages) if str(path.relative_to(ROOT)) not in EXEMPT)


def counted(known: list[Term]) -> dict[tuple[str, str], int]:
    """Counts by file and word."""
    return {
        (path.relative_to(ROOT).as_posix(), word): number
        for path in files()
        for word, number in counts_of(path, known).items()
    }


def allowed(path: Path = COUNTS) -> dict[tuple[str, str], int]:
    """Counts that the table allows, by file and word."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(row["file"], row["avoid"]): int(row["count"]) for row in rows}


def risen(
    found: dict[tuple[str, str], int], limits: dict[tuple[str, str], int], known: list[Term]
) -> list[str]:
    """A line for each file with more of a word than it may have."""
    by_word = {term.avoid: term for term in known if term.fails}
    return [
        f"{file}: {number} × '{word}', {limits.get((file, word), 0)} allowed: "
        f"write {by_word[word].write}"
        for (file, word), number in sorted(found.items())
        if word in by_word and number > limits.get((file, word), 0)
    ]


def risen_in_all(
    found: dict[tuple[str, str], int], limits: dict[tuple[str, str], int], known: list[Term]
) -> list[str]:
    """A line for each word that has become more frequent in all files together."""
    now, before = Counter[str](), Counter[str]()
    for (_, word), number in found.items():
        now[word] += number
    for (_, word), number in limits.items():
        before[word] += number
    return [
        f"'{term.avoid}': {now[term.avoid]} in all, {before[term.avoid]} allowed: "
        f"write {term.write}"
        for term in known
        if term.fails and now[term.avoid] > before[term.avoid]
    ]


def write(found: dict[tuple[str, str], int], known: list[Term]) -> None:
    """Write the table of counts."""
    kept = {term.avoid for term in known if term.fails}
    lines = ["file\tavoid\tcount"]
    for (file, word), number in sorted(found.items()):
        if word in kept:
            lines.append(f"{file}\t{word}\t{number}")
    COUNTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Check the counts, or lower them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="Lower the allowed counts.")
    parser.add_argument("--first", action="store_true", help="Write the table as counted.")
    options = parser.parse_args()
    known = terms()
    found = counted(known)
    limits = allowed() if COUNTS.exists() else {}
    problems = risen_in_all(found, limits, known) if options.update else risen(found, limits, known)
    if options.first or (options.update and not problems):
        write(found, known)
        return 0
    for line in problems:
        print(line)
    if problems and not options.update:
        print("words moved from one file to another? python docs/terms.py --update")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
