"""Files of studies (docs/sweep.md): cases, policies, parameters and seeds of a sweep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from ..errors import InputError
from . import fields as f
from .document import Finding, Location, Section, explain, problems
from .file_format import DefaultLimit
from .settings import Setting, workload_key
from .source_text import file_content, plain_data
from .units import parse_duration

FORMAT = "slotwise-study/1"


class GenerateEntry(Section):
    """A generated instance; the keys are options of `slotwise generate`."""

    hosts: f.Count = 100
    per_enclosure: f.Count = 16
    per_rack: f.Count = 4
    running: f.CountOrNone = 500
    pending: f.CountOrNone = 50
    load: f.Amount = 0.92
    memory: f.YesNo = True


#: The message for a log without hosts, or with two kinds of them.
GIVE_HOSTS = "has a log: give either site, or hosts: N for an SWF log"


class CaseEntry(Section):
    """A case: a site with its own jobs, a log on it or on a pool, or a generated instance."""

    name: f.NewName = ""
    site: f.Text | None = None
    log: f.Text | None = None
    hosts: f.Count | None = None
    changes: f.Text | None = None
    generate: GenerateEntry | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> CaseEntry:
        if self.generate is not None and (self.site or self.log or self.hosts):
            given = ", ".join(key for key in ("site", "log", "hosts") if getattr(self, key))
            raise ValueError(f"has generate and {given}: give generate alone, or remove it")
        if self.generate is None and not self.site and not self.log:
            raise ValueError("has no workload: give site, log or generate")
        if self.log and self.site and self.hosts is not None:
            raise ValueError(GIVE_HOSTS)
        if self.hosts is not None and not self.log:
            raise ValueError(f"has hosts: {self.hosts} without a log: give log, or remove hosts")
        return self

    @property
    def title(self) -> str:
        """Return the name of the study, else the name of its log or site."""
        if self.name:
            return self.name
        file = self.log or self.site
        return Path(file).name.split(".")[0] if file else "generated"


class PolicyEntry(Section):
    """A policy by name: a reservation method or a policy of `slotwise replay`, or settings."""

    name: f.NewName
    set: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data


def _until(value: Any) -> Any:
    """Return the value if it is a second or a time such as 7d; raises ValueError."""
    if value is None:
        return None
    second = type(value) is int or (isinstance(value, str) and value.strip().isdecimal())
    if not second and not isinstance(value, str):
        raise ValueError(f"must be seconds or a time such as 7d, not {value!r}")
    if (int(value) if second else parse_duration(value)) < 0:
        raise ValueError(f"must be no earlier than now, not {value!r}")
    return value


def _default_limit(value: str | None) -> str | None:
    """Return a limit in the form of --default-limit; raises ValueError for anything else."""
    if value is not None:
        try:
            DefaultLimit.parse(value)
        except InputError as error:
            raise ValueError(error.problems[0].message) from None
    return value


class StudyDocument(Section):
    """A study: every case under every policy, every point of the grid of parameters, every seed."""

    format: Literal["slotwise-study/1"]
    name: f.Line = ""
    description: f.Text = ""
    until: Annotated[str | int | None, BeforeValidator(_until)] = None
    keep_going: f.YesNo = False
    default_limit: Annotated[str | None, AfterValidator(_default_limit)] = None
    cases: Annotated[list[CaseEntry], Field(min_length=1)]
    policies: Annotated[list[PolicyEntry], Field(min_length=1)] = Field(
        default_factory=lambda: [PolicyEntry(name="configured")]
    )
    parameters: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    seeds: Annotated[list[f.CountOrNone], Field(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _count_of_seeds(cls, data: Any) -> Any:
        """Return the seeds 1, 2 and 3 for ``seeds: 3``."""
        seeds = data.get("seeds") if isinstance(data, dict) else None
        if isinstance(seeds, int) and not isinstance(seeds, bool) and 0 < seeds <= 100_000:
            return {**data, "seeds": list(range(1, seeds + 1))}
        return data


def load_study(path: str | Path) -> StudyDocument:
    """Return the study in a YAML or JSON file.

    Raises InputError with everything that is wrong with its form.
    """
    from .source_text import compose, lines

    data, kind = file_content(Path(path))
    plain, content = plain_data(data, str(path), kind)
    study, found = _interpret(plain)
    if study is None or found:
        places = lines(compose(content), [finding.place for finding in found])
        raise InputError(problems(found, str(path), places))
    return study


def _interpret(data: Any) -> tuple[StudyDocument | None, list[Finding]]:
    """Return the study and all errors; an unreadable part does not hide errors of other parts."""
    from .source_text import strange_values

    found = list(strange_values(data))
    unread: set[Location] = set()
    while True:
        try:
            study = StudyDocument.model_validate(data)
        except ValidationError as error:
            found += explain(error, StudyDocument)
            places = {detail["loc"] for detail in error.errors()}
            if not isinstance(data, dict) or places <= unread:
                return None, found
            unread |= places
            for place in sorted(places, key=str):
                data = _without(data, place)
        else:
            return None if unread else study, found + list(_disagreeing(study))


def _without(data: dict[str, Any], place: Location) -> dict[str, Any]:
    """Return a study without an unreadable part; other entries keep their numbers and names."""
    if not place:
        return {}
    section, *within = place
    if section == "format":
        return {**data, section: FORMAT}
    entries = data.get(str(section))
    if section == "parameters" and within and isinstance(entries, dict):
        return {**data, "parameters": {k: v for k, v in entries.items() if k != within[0]}}
    if section not in ("cases", "policies") or not within or not isinstance(entries, list):
        return {key: value for key, value in data.items() if key != section}
    number = within[0]
    if not isinstance(number, int) or not number < len(entries):
        return data
    entry, unnamed = entries[number], f"unnamed-{section}-{number}"
    given = entry if isinstance(entry, dict) else {}
    if within[1:2] == ["name"] and given:
        rest = {**given, "name": unnamed}
    else:
        rest = {"name": given.get("name", unnamed)}
        rest |= {"generate": {}} if section == "cases" else {}
    return {**data, str(section): [*entries[:number], rest, *entries[number + 1 :]]}


def _disagreeing(study: StudyDocument) -> Iterator[Finding]:
    """Yield inconsistencies between entries that are valid by themselves."""
    for section, names in (
        ("cases", [case.title for case in study.cases]),
        ("policies", [policy.name for policy in study.policies]),
    ):
        for n, name in enumerate(names):
            if name in names[:n]:
                said = f"{name!r} is already used: give each row its own name"
                yield Finding((section, n, "name"), said)
    places: list[Location] = [("parameters", key) for key in study.parameters]
    places += [("policies", n, "set", key) for n, p in enumerate(study.policies) for key in p.set]
    for at in places:
        if said := workload_key(str(at[-1])):
            yield Finding(at, said)
    for key, values in study.parameters.items():
        if (again := _repeated(map(value_text, values))) is not None:
            yield Finding(("parameters", key), f"gives {again!r} twice: give each value once")
    if (seed := _repeated(study.seeds or ())) is not None:
        yield Finding(("seeds",), f"gives {seed} twice: give each seed once")


def _repeated(values: Iterable[object]) -> object:
    """Return the first value that repeats an earlier one, None if all differ."""
    seen: set[object] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def value_text(value: Any) -> str:
    """Return a value of a study in the syntax of a setting."""
    return value if isinstance(value, str) else json.dumps(value)


def settings_of(values: Mapping[str, Any], place: str) -> tuple[Setting, ...]:
    """Return keys and values as settings; `place` locates them in messages."""
    return tuple(
        Setting(key, value_text(value), f"{place}.{key}={value_text(value)}")
        for key, value in values.items()
    )
