"""Text of others in each kind of output, read back by a parser of that kind: it is text."""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from slotwise.model.escaping import (
    csv_lines,
    html_text,
    markdown_code,
    markdown_text,
    printable,
)

HOSTILE = (
    "a` <img src=x onerror=alert(1)> `b",
    "``` `` `",
    "`",
    " ` ",
    "a\\",
    "\\`a",
    "<script>alert(1)</script>",
    "<!-- x",
    "&lt;b&gt; &amp &#60;",
    '" onmouseover="x',
    "' x='",
    "@all",
    "a@b.c @@x",
    "`@all`",
    "[a](javascript:alert(1))",
    "![a](http://x/y.png)",
    "http://x.y/z www.x.y <http://x.y>",
    "[x]: http://y",
    "**a** __b__ ~~c~~ *d* _e_",
    "# a",
    "- a",
    "+ a",
    "1. a",
    "12) a",
    "===",
    "---",
    "> a",
    "| a | b |",
    "    code",
    "a\nb",
    "a\n\n<b>",
    "a\n---\nb",
    "$a$ !12 #3 ~l",
    "=1+1",
    " =1+1",
    "\N{FULLWIDTH EQUALS SIGN}1",
    "a,b\"c\r\nd;e\t'f",
    "\x1b]0;title\x07\x1b[31m",
    "a\u202eb\u200bc\u2028d\ufeff",
    "\x9b31m",
)
#: What a name may be made of, and what it would have to be made of to do harm.
TEXTS = st.one_of(st.text(), st.text("`\\<>&@*_[]()!#|~$-+=.:/ \n1ab\"'\x1b\u202e", max_size=30))


def names(*more: str) -> list[str]:
    return [*HOSTILE, *more]


class _Read(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.title = ""
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags += [tag, *(name for name, _ in attrs)]
        self.title = dict(attrs).get("title") or ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")


def _html(name: str) -> None:
    read = _Read()
    read.feed(f'<p title="{html_text(name)}">{html_text(name)}</p>')
    read.close()
    assert read.tags == ["p", "title"]
    assert read.text == read.title == printable(name)


PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
#: Where our pages have prose, and the blocks that each is made of.
PLACES = {
    "{}": ["paragraph"],
    "- {}": ["bullet_list", "list_item", "paragraph"],
    "### {}": ["heading"],
    "**{}**": ["paragraph"],
    "**Cause.** {}": ["paragraph"],
    "1. `x`  \n   {}": ["ordered_list", "list_item", "paragraph"],
}


def _prose(name: str) -> None:
    wanted = " ".join(printable(name).split())
    for place, blocks in PLACES.items():
        if not wanted and place != "{}":
            continue
        tokens = PARSER.parse(place.format(markdown_text(name)))
        opened = [token.type.removesuffix("_open") for token in tokens if token.nesting == 1]
        assert opened == (blocks if wanted else []), (place, name)
        inner = [token for block in tokens for token in block.children or ()]
        strong = ["strong_open", "strong_close"] * ("**" in place)
        kinds = {"text", "text_special", "code_inline", "hardbreak", *strong}
        assert {token.type for token in inner} <= kinds, (place, name)
        said = "".join(token.content for token in inner)
        assert said.removeprefix("Cause. ").removeprefix("x") == wanted or place[0] == "1"
        assert said.endswith(wanted)
    raw = markdown_text(name)
    assert not any(f"@{letter}" in raw for letter in "abcxyz_1")
    assert not re.search(r"(?<!\\)://|www\.", raw)


def _code(name: str) -> None:
    wanted = printable(name).replace("\n", " ") or " "
    (_, inline, _) = PARSER.parse(f"x {markdown_code(name)} y")
    assert inline.children is not None
    assert [token.type for token in inline.children] == ["text", "code_inline", "text"], name
    assert inline.children[1].content == wanted


def _csv(name: str) -> None:
    lines = "".join(csv_lines([name, "b"], [[name, 1]]))
    rows = list(csv.reader(io.StringIO(lines, newline="")))
    assert len(rows) == 2
    for cell in (rows[0][0], rows[1][0]):
        assert cell.removeprefix("'") in (printable(name, "\n\t"), printable(name, "\n\t")[1:])
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "\t")) or _is_number(cell)


def _is_number(text: str) -> bool:
    try:
        return bool(float(text)) or True
    except ValueError:
        return False


def _terminal(name: str) -> None:
    shown = printable(name)
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in shown if sign != "\n")
    assert not set(shown) & set("\u202e\u200b\u2028\ufeff")
    assert printable(shown) == shown
    assert shown.count("\n") == name.count("\n")
    shown.encode()


CHECKS = {"html": _html, "prose": _prose, "code": _code, "csv": _csv, "terminal": _terminal}


@pytest.mark.parametrize("output", CHECKS)
@pytest.mark.parametrize("name", names("", "plain", "-5", "1e3"))
def test_a_hostile_name_is_text(output: str, name: str) -> None:
    CHECKS[output](name)


@pytest.mark.parametrize("output", CHECKS)
@given(text=TEXTS)
def test_any_name_is_text(output: str, text: str) -> None:
    CHECKS[output](text)


def _others(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("html", "csv", "xml.sax.saxutils"):
            yield f"from {node.module}"
        if isinstance(node, ast.Import):
            yield from (
                alias.name for alias in node.names if alias.name in ("html", "csv", "unicodedata")
            )


def test_nothing_else_escapes() -> None:
    """Of the modules that could: display's looks for strange characters and escapes none."""
    root = Path(sw.__file__).parent
    found = {
        str(path.relative_to(root)): sorted(set(_others(ast.parse(text))))
        for folder in ("cli", "solver", "model")
        for path in (root / folder).rglob("*.py")
        if re.search(r"import (html|csv|unicodedata)|from (html|csv|xml)", text := path.read_text())
    }
    assert {path: names for path, names in found.items() if names} == {
        "model/display.py": ["unicodedata"],
        "model/escaping.py": ["csv", "html", "unicodedata"],
    }
