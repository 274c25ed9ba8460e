"""Draw comments, docstrings, sentences of the docs and messages by a seed, for readers to judge.

python benchmarks/draw_texts.py 2614 --comments 50 --docstrings 50 --sentences 60 --messages 40
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[1]
DIRECTIVE = re.compile(r"#\s*(noqa|type:|pragma|mypy|ruff|!)")
#: A text that names only the place of another message.
PLACE = re.compile(r"(?:((\w+ )?\{[^{}]*\}|[-\w]+|\w+ line): )+\{[^{}]*\}")
RAISES = re.compile(r"Error$|[Pp]roblem$|BadParameter|refuse|fail$")
#: Errors of the programmer: their text is not for users.
INTERNAL = {"AssertionError", "TypeError", "RuntimeError"}
#: A line number (0 if unknown) and the text.
Text = tuple[int, str]


def _written(node: ast.expr, known: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a string expression's text, with its replacement fields in braces.

    known: texts of variables.
    """
    match node:
        case ast.Name(id=name):
            return known.get(name, "")
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                _written(part.value, known) or "{" + ast.unparse(part.value) + "}"
                if isinstance(part, ast.FormattedValue)
                else _written(part)
                for part in parts
            )
        case ast.BinOp(left=left, right=right):
            return _written(left, known) + _written(right, known)
        case ast.IfExp(body=body, orelse=orelse):
            texts = {part: _written(part, known) for part in (body, orelse)}
            if not any(texts.values()):
                return ""
            shown = (t or ast.unparse(p).strip("'") for p, t in texts.items())
            return f"[{' | '.join(shown)}]"
        case ast.List(elts=[first, *_]):
            return _written(first, known)
        case _:
            return ""


def _variables(tree: ast.AST) -> dict[ast.AST, dict[str, str]]:
    """Return the last text of each variable that is assigned before a call of its function."""
    known: dict[ast.AST, dict[str, str]] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            texts: dict[str, str] = {}
            for node in sorted(ast.walk(function), key=lambda item: getattr(item, "lineno", 0)):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    texts[node.targets[0].id] = _written(node.value, texts)
                elif isinstance(node, ast.Call):
                    known[node] = dict(texts)
    return known


def messages(source: str) -> Iterator[Text]:
    """Yield the text of each call that makes or raises an error for users, with the remedy."""
    tree = ast.parse(source)
    known = _variables(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = str(getattr(node.func, "attr", getattr(node.func, "id", "")))
        if name in INTERNAL or not RAISES.search(name):
            continue
        texts = known.get(node, {})
        arguments = [*node.args, *(k.value for k in node.keywords if k.arg == "message")]
        text = next((t for a in arguments if " " in (t := _written(a, texts))), None)
        if text is not None and not PLACE.fullmatch(text):
            remedy = [k.value for k in node.keywords if k.arg == "expected"]
            remedy = remedy or (node.args[2:] if name.endswith("fail") else [])
            expected = "".join(_written(item, texts) for item in remedy)
            yield node.lineno, f"{text}; expected {expected}" if expected else text


def docstrings(source: str) -> Iterator[Text]:
    """Yield the docstrings of modules, classes and functions, each after the name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), f"{getattr(node, 'name', 'module')}: {text}"


def comments(source: str) -> Iterator[Text]:
    """Yield the comments; comments on consecutive lines of their own are one."""
    start, last, lines = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or DIRECTIVE.match(token.string):
            continue
        line = token.start[0]
        own = token.line.strip().startswith("#")
        if not (own and lines and last == line - 1):
            if lines:
                yield start, " ".join(lines)
            start, lines = line, []
        lines.append(token.string.lstrip("#: "))
        last = line if own else 0
    if lines:
        yield start, " ".join(lines)


def sentences(page: str) -> Iterator[Text]:
    """Yield the sentences of a Markdown page outside code, tables, headings and HTML."""
    page = re.sub(r"^(```.*?^```|<!--.*?-->)", "", page, flags=re.MULTILINE | re.DOTALL)
    for paragraph in page.split("\n\n"):
        if not paragraph.strip() or paragraph.strip()[0] in "#|<!":
            continue
        for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", paragraph.strip()):
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\[])", " ".join(item.split())):
                if len(sentence.split()) > 3:
                    yield 0, sentence


KINDS: dict[str, tuple[Callable[[str], Iterator[Text]], int]] = {
    "comments": (comments, 50),
    "docstrings": (docstrings, 50),
    "sentences": (sentences, 60),
    "messages": (messages, 40),
}


def _files(kind: str) -> list[Path]:
    if kind == "sentences":
        return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    rooms = [sorted((ROOT / room).rglob("*.py")) for room in ("model", "solver", "cli")]
    return [*sorted(ROOT.glob("*.py")), *(path for room in rooms for path in room)]


def main() -> None:
    """Print the drawn texts of each kind, numbered, with file and line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    for kind, (_, count) in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, default=count, metavar="N")
    asked = vars(parser.parse_args())
    drawing = random.Random(asked["seed"])
    for kind, (found_in, _) in KINDS.items():
        pool = [
            (path.relative_to(ROOT).as_posix(), line, text)
            for path in _files(kind)
            for line, text in found_in(path.read_text("utf-8"))
        ]
        print(f"== {kind}: {len(pool)}")
        chosen = drawing.sample(pool, min(asked[kind], len(pool)))
        for number, (path, line, text) in enumerate(chosen, 1):
            print(f"{number}. {path}{f':{line}' if line else ''} {text}")


if __name__ == "__main__":
    main()
