"""Write what the site takes from the program itself: no page of the reference can drift.

docs/reference/ (not kept in the repository): commands from the program, instance files from their
schema, the library from its docstrings. With ``--installed`` also what the wheel installs beside
the package: docs/man/slotwise.1 and the completions of the shells.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS / "reference"
#: Completion scripts by shell, under the names that shells look for.
COMPLETIONS = {"bash": "slotwise", "zsh": "_slotwise", "fish": "slotwise.fish"}
_ENTRY = re.compile(r"(.+)Entry")


def commands_page() -> str:
    """Every command with its arguments and options."""
    from slotwise.cli.main import app
    from typer.main import get_command

    root = get_command(app)
    lines = ["# Commands", "", str(root.help), "", "`slotwise [OPTIONS] COMMAND …`", ""]
    context = root.context_class(root)
    lines += _parameters(root, context)
    lines += _commands(root, "slotwise")
    return "\n".join(lines).rstrip() + "\n"


def _commands(group: Any, path: str) -> Iterator[str]:
    context = group.context_class(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        whole = f"{path} {name}"
        if hasattr(command, "list_commands"):
            yield from _commands(command, whole)
            continue
        arguments = [item for item in command.params if item.param_type_name == "argument"]
        words = " ".join(_argument(item) for item in arguments)
        yield from (f"## {whole}", "", f"`{whole} [OPTIONS] {words}`".replace(" `", "`"), "")
        yield from (_plain(command.help or ""), "")
        yield from _parameters(command, command.context_class(command))


def _argument(item: Any) -> str:
    name = (item.metavar or item.name).upper().strip("[]")
    return f"{name}{'…' if item.nargs == -1 else ''}" if item.required else f"[{name}]"


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for item in command.params:
        record = None if getattr(item, "hidden", False) else item.get_help_record(context)
        if record is not None and record[1]:
            yield f"- `{record[0].strip()}`: {_plain(record[1])}"
    yield ""


def _plain(text: str) -> str:
    """A help text as Markdown: words in angle or square brackets are no markup."""
    return re.sub(r"([<>\[\]|*_])", r"\\\1", text.replace("\f", "").strip())


def instances_page() -> str:
    """Every key of an instance file, from the schema."""
    from slotwise.model.formats import json_schema

    schema = json_schema()
    lines = ["# Keys of an instance file", "", str(schema.get("description", "")), ""]
    lines += _keys("The document", schema, schema)
    for name, entry in schema["$defs"].items():
        found = _ENTRY.fullmatch(name)
        lines += _keys(found[1] if found else name, entry, schema)
    return "\n".join(lines).rstrip() + "\n"


def _keys(title: str, entry: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    described = entry.get("description", "") if entry is not schema else ""
    lines = [f"## {title}", "", described, "", "| key | what it takes | default |", "|---|---|---|"]
    required = entry.get("required", ())
    for key, value in entry.get("properties", {}).items():
        default = "(needed)" if key in required else _default(value)
        lines.append(f"| `{key}` | {_taken(value)} | {default} |")
    return [*lines, ""]


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    return "" if default in (None, "", [], {}) else f"`{default}`"


def _taken(value: dict[str, Any]) -> str:
    """The form of a value in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        found = _ENTRY.fullmatch(name)
        title = found[1] if found else name
        return f"[{title}](#{title.lower()})"
    if "anyOf" in value:
        parts = [_taken(item) for item in value["anyOf"] if item.get("type") != "null"]
        return " or ".join(dict.fromkeys(parts))
    if "enum" in value:
        return "one of " + ", ".join(f"`{item}`" for item in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    kinds = value.get("type", "anything")
    text = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if "items" in value:
        text = f"list of {_taken(value['items'])}"
    elif isinstance(value.get("additionalProperties"), dict):
        text = f"mapping to {_taken(value['additionalProperties'])}"
    if value.get("examples"):
        text += ", as " + ", ".join(f"`{item}`" for item in value["examples"])
    return text.replace("|", "\\|")


#: Pages of the library by topic: title, and the modules whose names they have.
TOPICS = {
    "diagnosis": ("Diagnosis", ("solver.advice.diagnosis",)),
    "planning": ("Plans and answers", ("library", "solver.advice", "model.plan")),
    "instances": ("Instances and files", ("instances", "model.formats", "model.instance")),
    "cluster": (
        "Cluster, users and limits",
        ("model.cluster", "model.configuration", "model.configuration"),
    ),
    "jobs": (
        "Jobs, queues and parameters",
        ("model.job", "model.configuration", "model.configuration"),
    ),
    "changes": ("Changes over time", ("model.changes",)),
    "simulation": (
        "Simulation and studies",
        ("solver.scheduler", "solver.studies", "solver.planner"),
    ),
    "forecasts": ("Forecasts", ("solver.forecast",)),
    "errors": ("Errors, progress and the judge", ("",)),
}


def library_pages() -> dict[str, str]:
    """What `import slotwise` has, by file: a page a topic, and the page that lists them."""
    import slotwise

    lines: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    for name in sorted(dir(slotwise), key=str.lower):
        thing = getattr(slotwise, name)
        if isinstance(thing, type):
            entry = [f".. autoclass:: slotwise.{name}", "   :members:", ""]
        elif callable(thing):
            entry = [f".. autofunction:: slotwise.{name}", ""]
        else:
            continue
        lines[_topic(getattr(thing, "__module__", "").removeprefix("slotwise."))] += entry
    contents = ["Library", "=======", "", ".. toctree::", "   :maxdepth: 1", ""]
    contents += [f"   library-{topic}" for topic in TOPICS]
    pages = {"library.rst": "\n".join([*contents, ""])}
    for topic, (title, _) in TOPICS.items():
        head = [title, "=" * len(title), ""]
        pages[f"library-{topic}.rst"] = "\n".join([*head, *lines[topic]])
    return pages


def _topic(module: str) -> str:
    """The first topic that has a module; the last one has every other."""
    return next(
        topic
        for topic, (_, prefixes) in TOPICS.items()
        if any(module.startswith(prefix) for prefix in prefixes)
    )


def write_installed() -> None:
    """The man page and the completions, as the wheel has them."""
    import kept

    made = [DOCS / "man" / "slotwise.1", *(DOCS / "completions" / n for n in COMPLETIONS.values())]
    sources = (*kept.PROGRAM, "docs/conf.py", "docs/make_reference.py")
    if all(path.exists() for path in made) and kept.is_made("installed", _key(sources, made)):
        return
    with tempfile.TemporaryDirectory() as folder:
        # The page of the commands alone: no other goes into it.
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "man", str(DOCS), folder]
        command += ["-D", "include_patterns=reference/commands.md"]
        command += ["-D", "root_doc=reference/commands"]
        subprocess.run(command, check=True)
        page = (Path(folder) / "slotwise.1").read_text(encoding="utf-8")
    (DOCS / "man").mkdir(exist_ok=True)
    (DOCS / "man" / "slotwise.1").write_text(page, encoding="utf-8")
    (DOCS / "completions").mkdir(exist_ok=True)
    for shell, name in COMPLETIONS.items():
        (DOCS / "completions" / name).write_text(completion(shell), encoding="utf-8")
    kept.keep("installed", _key(sources, made))


def _key(sources: Iterable[str], made: Iterable[Path]) -> str:
    import kept

    return kept.digest((*sources, *(path.relative_to(DOCS.parent).as_posix() for path in made)))


def completion(shell: str) -> str:
    """The script that a shell sources; the command itself knows it."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("slotwise"))],
        env=os.environ | {"_SLOTWISE_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def main() -> None:
    """Write the pages of the reference."""
    REFERENCE.mkdir(exist_ok=True)
    pages = {
        "commands.md": commands_page(),
        "instances.md": instances_page(),
        **library_pages(),
    }
    for name, text in pages.items():
        path = REFERENCE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "--installed" in sys.argv[1:]:
        write_installed()
    else:
        main()
