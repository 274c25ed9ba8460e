"""README and docs: every command and code block runs and prints what the page shows."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from all_commands import all_commands
from slotwise.cli.main import app
from typer.main import get_command

ROOT = Path(__file__).resolve().parents[1]


def _shown() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shown", ROOT / "docs" / "shown.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shown"] = module
    spec.loader.exec_module(module)
    return module


shown = _shown()
PAGES = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in shown.pages()}
WITH_COMMANDS = [
    name
    for name, text in PAGES.items()
    if any(c.runs for block in shown.blocks(text, "console") for c in shown.commands(block))
]
WITH_CODE = [name for name, text in PAGES.items() if shown.blocks(text, "python")]


#: Pages whose commands take long and are of kinds that other pages have too.
DEAR = {
    *("docs/whatif.md", "docs/tutorial-researcher.md", "docs/import.md", "docs/views.md"),
    *("docs/report.md", "docs/loop.md"),
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page in DEAR else [])
        for page in sorted({*WITH_COMMANDS, *WITH_CODE})
    ],
)
def test_commands_and_code_print_what_the_page_shows(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The commands of a page first, then its code, in one folder."""
    shown.furnish(tmp_path)
    for block in shown.blocks(PAGES[page], "console"):
        for command in shown.commands(block):
            if not command.runs:
                continue
            printed = shown.run(command.line, tmp_path)
            if command.output.strip():
                assert shown.agrees(command.output, printed), f"$ {command.line}\n{printed}"
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    expected = []
    for code, printed in shown.codes(PAGES[page]):
        exec(compile(code, page, "exec"), names)
        expected += printed
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == expected


def test_the_pages_show_something() -> None:
    assert {"README.md", "docs/ask.md"} <= set(WITH_COMMANDS)
    assert {"README.md", "docs/ask.md"} <= set(WITH_CODE)


def test_no_command_of_ours_hides_in_another_block() -> None:
    """A line that begins with slotwise stands in a console block, behind a dollar, and is run."""
    hidden = [
        (name, line)
        for name, text in PAGES.items()
        for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if kind != "console" and re.match(r"\$? ?slotwise [a-z]+ ", line)
    ]
    assert hidden == []


def test_a_page_is_run_again_when_the_program_or_a_command_changed() -> None:
    """Prose is no reason: `make docs` takes seconds after an edit of sentences."""
    page = "Words.\n\n```console\n$ slotwise examples\nheadline\n```\n"
    key = shown.key("program", page)
    assert shown.key("program", page.replace("Words", "Other words")) == key
    assert shown.key("program", page.replace("examples", "check")) != key
    assert shown.key("program", page.replace("headline", "hedline")) != key
    assert shown.key("other program", page) != key


@pytest.mark.parametrize(
    ("text", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "\na  \nb\n\n", True),
        ("a\n…\nc\n", "a\nx\ny\nc\n", True),
        ("a\n…\nc\n", "a\nx\ny\n", False),
        ("a.c\n", "abc\n", False),
        ("…\n", "anything\n", True),
    ],
)
def test_what_agrees(text: str, printed: str, same: bool) -> None:
    assert shown.agrees(text, printed) is same


def test_links_lead_somewhere() -> None:
    missing = []
    for name, text in PAGES.items():
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\(([^)#\s]+)", prose):
            made = link.startswith("reference/")  # by `make docs`
            known = made or link.startswith("http") or (ROOT / name).parent.joinpath(link).exists()
            missing += [] if known else [(name, link)]
    assert missing == []


#: Options of other programs that the pages show.
FOREIGN = {
    "--dist",  # pytest
    *("--host", "--protocol", "--tls-ca-file", "--tls-cert", "--tls-key"),  # dask
    "--start",  # squeue
    *("--deadline", "--time-min", "--json", "--mem", "--ntasks-per-node", "--priority"),  # Slurm
    "--switches",  # sbatch
}


def test_options_of_the_pages_exist() -> None:
    """Every `--option` in code is of our commands or scripts, or of a program listed above."""
    root = get_command(app)
    known = {name for option in root.params for name in (*option.opts, *option.secondary_opts)}
    for words in all_commands():
        command: Any = root
        for word in words:
            command = command.get_command(None, word)
        for option in command.params:
            known.update((*option.opts, *option.secondary_opts))
    for script in (
        *ROOT.glob("benchmarks/*.py"),
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob("docs/*.py"),
    ):
        known.update(re.findall(r'add(?:_argument|option)\(\s*"(--[a-z-]+)"', script.read_text()))
    unknown = {
        (name, option)
        for name, text in PAGES.items()
        for code in re.findall(r"`+[^`]+`+", text)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b(?!-?…)", code)
        if option not in known | FOREIGN | {"--help", "--help-all"}
    }
    assert unknown == set()


def test_no_option_has_a_dash_or_a_quote_of_print() -> None:
    """An option that is copied from a page has to work: two hyphens, straight quotes."""
    broken = {
        (name, code)
        for name, text in PAGES.items()
        for code in re.findall(r"`[^`\n]*(?:[–—][a-z]+|[“”‘’])[^`\n]*`", text)
        if re.search(r"(?<!\w)[–—][a-z]|[“”‘’]", code)
    }
    assert broken == set()
