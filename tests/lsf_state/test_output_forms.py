"""Every form of LSF's output is read, reported or rejected, as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lsf.lab import CLUSTER, HOSTS
from lsf_state.output_forms import FORMS, OTHERS, Form
from slotwise import InputError
from slotwise.cli.main import app
from typer.testing import CliRunner

PAGE = Path(__file__).parents[2] / "docs" / "output-forms.md"
#: A host for what names none.
HOST = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nh1 ok - 8 0 0 0 0 0\n"
TELLS = (
    "--aps",
    *("--bparams", "--bugroup", "--bmgroup", "--busers", "--lshosts"),
    *("--blimits", "--bjgroup", "--brsvs", "--bsla", "--bresources", "--topology"),
)
SNAPSHOT = ("--bjobs", "--bhosts", "--bqueues", "--bhpart")


def _given(form: Form, folder: Path) -> list[str]:
    """The words of the command that gets the text."""
    words = form.option.split()
    if isinstance(form.text, Path):
        return [*words, str(form.text)]
    if words == ["import", "lsf"] or form.option == "import lsf --lshosts":
        own = form.text if isinstance(form.text, dict) else {}
        conf = folder / "conf"
        conf.mkdir()
        for name, text in own.items() or [("lsf.cluster.c", CLUSTER), ("lsb.hosts", HOSTS)]:
            (conf / name).write_text(text)
        if "lsb.queues" in own:
            (conf / "lsf.cluster.c").write_text(CLUSTER)
            (conf / "lsb.hosts").write_text(HOSTS)
            return [*words, str(conf), "--ncpus", "4"]
        if own:
            return [*words, str(conf)]
        (folder / "f").write_text(str(form.text))
        return ["import", "lsf", str(conf), "--lshosts", str(folder / "f"), "--ncpus", "4"]
    (folder / "f").write_text(str(form.text))
    if words == ["snapshot"]:
        words.append("--bhosts")
    option, text = form.beside
    if not option and words[-1] in ("--bjobs", "--bqueues", "--bhpart", *TELLS):
        option, text = "--bhosts", HOST
    if option:
        (folder / "beside").write_text(text)
        words[1:1] = [option, str(folder / "beside")]
    return [*words, str(folder / "f")]


def _run(words: list[str]) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, words)
    if isinstance(done.exception, InputError):
        return 2, done.stdout, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.form} {form.versions}")
def test_what_becomes_of_a_form(form: Form, tmp_path: Path) -> None:
    code, printed, said = _run(_given(form, tmp_path))
    if form.outcome == "rejected":
        assert (code, printed) == (2, ""), said
    else:
        assert code == 0, said
    if form.outcome == "reported" and form.option.startswith("snapshot"):
        assert "\nomissions:\n" in printed or "unheeded: " in printed
    found = printed if form.outcome == "read" else said
    for part in form.shows:
        assert part in found, (part, printed, said)


@pytest.mark.parametrize("option", SNAPSHOT)
@pytest.mark.parametrize("form", OTHERS, ids=lambda form: form.form)
def test_what_nobody_reads_is_known_by_its_name_wherever_it_is_given(
    form: Form, option: str, tmp_path: Path
) -> None:
    """Never a table of another command that happens to have such columns."""
    (tmp_path / "f").write_text(str(form.text))
    code, printed, said = _run(["snapshot", option, str(tmp_path / "f")])
    assert (code, printed) == (2, "")
    (kind,) = re.findall(rf"is output of (.+?), not output of {option[2:]}", said)
    assert kind.split()[0] in form.form


def test_the_page_has_these_rows() -> None:
    forms = PAGE.read_text(encoding="utf-8").partition("## What each form calls a fact")[0]
    lines = forms.splitlines()
    rows = [line for line in lines if line.startswith("| ") and "| outcome |" not in line]
    assert rows == [form.row for form in FORMS]
