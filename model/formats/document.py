"""The instance file as pydantic models: which keys there are and what each takes.

Only here and in ``fields`` is pydantic used. Keys in LSF's own names take LSF's own units (minutes
for limits); the project's own lower-case keys take seconds. docs/instances.md describes them all.
An error of a document is a :class:`Finding` until its line in the text is known.
"""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic_core import ErrorDetails

from ..cluster import ComputeUnit, Host, ResourceDefinition, SharedResource
from ..configuration import (
    CONSUMERS,
    HostPartition,
    Limit,
    Params,
    Queue,
    User,
    UserGroup,
)
from ..display import visible
from ..errors import Problem, nearest
from ..instance import (
    AdvanceReservation,
    BorrowedSlots,
    HeldHosts,
    Instance,
    PoolUsage,
    SaidByLsf,
    ShareUsage,
)
from ..job import Application, Job, JobGroup, RunningJob
from ..omissions import Omission
from ..service_class import GuaranteedPool, ServiceClass
from ..slurm_fairshare import Association, SlurmLimit
from . import fields as f
from .fields import entry

FORMAT: Literal["slotwise/1"] = "slotwise/1"


def _schema_of_names(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Add LSF's own names of keys to the schema of a section."""
    names: dict[str, str] = getattr(model, "lsf_names", {})
    for other, key in names.items():
        schema["properties"][other] = schema["properties"][key]
        if key in schema.get("required", ()):
            schema["required"].remove(key)
            choice = [{"required": [name]} for name in (key, other)]
            schema.setdefault("allOf", []).append({"anyOf": choice})


class Section(BaseModel):
    """A part of the document: unknown keys are errors.

    lsf_names: keys as the documents spell them (in any case), for fragments copied from there.
    What is ``()`` or ``-`` under a key of LSF's is not set.
    """

    model_config = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, json_schema_extra=_schema_of_names
    )
    lsf_names: ClassVar[dict[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _as_copied(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.keys() <= cls._plain_keys():
            return data
        unset = [
            key
            for key, value in data.items()
            if value in ("()", "-") and str(key).isupper() and key != "DESCRIPTION"
        ]
        names = {
            key: name
            for key in data
            if (name := cls.lsf_names.get(str(key).upper())) and name not in data
        }
        if not unset and not names:
            return data
        return {names.get(key, key): value for key, value in data.items() if key not in unset}

    @classmethod
    @cache
    def _plain_keys(cls) -> frozenset[str]:
        """Return the keys of our own format, in lower case, which need no translation."""
        return frozenset(
            name for name in cls.model_fields if cls.lsf_names.get(name.upper(), name) == name
        )


class HostKeys(Section):
    """The keys of hosts that are more than a field of the model."""

    lsf_names: ClassVar[dict[str, str]] = {"HOST_NAME": "name"}
    name: f.HostNames
    count: f.Count | None = None
    slots: f.CountOrNone | None = None
    mxj: f.MaxSlots | None = Field(None, alias="MXJ")
    mem: f.Size | None = None
    swp: f.Size | None = None
    tmp: f.Size | None = None
    amounts: dict[f.Name, f.Amount] = Field(default_factory=dict)
    strings: dict[f.Name, f.Name] = Field(default_factory=dict)
    resources: f.Words = Field((), alias="RESOURCES")
    load: dict[f.Name, f.Number] = Field(default_factory=dict)
    gpus: f.HostGpus | None = None


class UnitEntry(Section):
    """A compute unit: hosts and host groups (finest type), or units of a finer type."""

    lsf_names: ClassVar[dict[str, str]] = {
        "NAME": "name",
        "MEMBER": "members",
        "TYPE": "type",
    }
    name: f.NewName
    type: f.Name
    members: f.Names


class SharedEntry(Section):
    """An amount that several hosts share, in one place or (``5@[a b] 9@[c]``) in several."""

    name: f.NewName
    amount: f.Places
    hosts: f.Words | None = None
    static: f.YesNo = True


class JobKeys(Section):
    """The keys of jobs that are more than a field of the model."""

    id: f.JobId
    bsub: f.Text | None = None
    script: f.Text | None = None
    slots: f.Slots | None = None
    array: f.Elements | None = None


if TYPE_CHECKING:
    # Their keys follow from the facts at the fields of the model.
    HostEntry: TypeAlias = HostKeys
    QueueEntry: TypeAlias = Section
    JobEntry: TypeAlias = JobKeys
    RunningEntry: TypeAlias = JobKeys

    class ParamsEntry(Section):
        """lsb.params and lsf.conf."""

        compute_unit_types: f.UnitTypes | None = Field(None, alias="COMPUTE_UNIT_TYPES")
else:
    HostEntry = entry(
        "HostEntry",
        Host,
        HostKeys,
        "One host, or several equal ones: a range, a list, or `count` of them.",
    )
    QueueEntry = entry("QueueEntry", Queue, Section, "A queue (lsb.queues).")
    JobEntry = entry(
        "JobEntry",
        Job,
        JobKeys,
        "A job: a `bsub` line, a job `script`, or fields, or a combination without overlap.",
        queue=(f.Name | None, None),
    )
    RunningEntry = entry("RunningEntry", RunningJob, JobEntry, "A job that runs.")
    ParamsEntry = entry(
        "ParamsEntry",
        Params,
        Section,
        "lsb.params and lsf.conf.",
        compute_unit_types=(f.UnitTypes | None, Field(None, alias="COMPUTE_UNIT_TYPES")),
    )


class PeriodKeys(Section):
    """The keys of an advance reservation, which is active once or again and again."""

    windows: str

    @model_validator(mode="after")
    def _once_or_again(self) -> PeriodKeys:
        times = self.model_fields_set & {"start", "end"}
        if times if self.windows else len(times) < 2:
            raise ValueError("give either start and end, or windows if the reservation recurs")
        return self


class LimitKeys(Section):
    """The keys of Limit sections other than consumers."""

    lsf_names: ClassVar[dict[str, str]] = {"NAME": "name"}
    name: f.NewName
    slots: f.Amount | None = Field(None, alias="SLOTS")
    slots_per_processor: f.Amount | None = Field(None, alias="SLOTS_PER_PROCESSOR")
    jobs: f.Amount | None = Field(None, alias="JOBS")
    mem: f.LimitSize | None = Field(None, alias="MEM")
    swp: f.LimitSize | None = Field(None, alias="SWP")
    tmp: f.LimitSize | None = Field(None, alias="TMP")
    resource: f.ResourceAmounts | None = Field(None, alias="RESOURCE")


if TYPE_CHECKING:
    LimitEntry: TypeAlias = LimitKeys
else:
    LimitEntry = create_model(
        "LimitEntry",
        __base__=LimitKeys,
        __doc__="A Limit section (lsb.resources).",
        __module__=__name__,
        **{
            key: (kind | None, Field(None, alias=key.upper()))
            for item in CONSUMERS
            for key, kind in ((item.field, f.AllScope), (item.per_field, f.PerScope))
        },
    )


class ConfigEntry(Section):
    """A directory of LSF configuration that the document adds to."""

    directory: f.Text
    cluster: f.Name = ""
    user: f.Name = ""
    lshosts: f.Text | None = None
    ncpus: f.Count | None = None


class Document(Section):
    """One problem a document."""

    model_config = ConfigDict(title="Slotwise instance")

    format: Literal["slotwise/1"]
    name: f.Line = ""
    description: f.Text = ""
    size_base: Literal[1024, 1000] = 1024
    origin: f.Stamp | None = None
    now: f.Instant = 0
    config: f.Text | ConfigEntry | None = None
    dialect: f.Dialect | None = None
    params: ParamsEntry = ParamsEntry()
    resources: list[Section] = []
    hosts: Annotated[list[HostEntry], Field(min_length=1)]
    host_groups: dict[f.NewName, f.Words] = {}
    compute_units: list[UnitEntry] = []
    shared_resources: list[SharedEntry] = []
    users: list[Section] = []
    user_groups: list[Section] = []
    host_partitions: list[Section] = []
    queues: list[QueueEntry] = []
    applications: list[Section] = []
    job_groups: list[Section] = []
    service_classes: list[Section] = []
    guaranteed_pools: list[Section] = []
    limits: list[LimitEntry] = []
    reservation_usage: dict[f.Name, Literal["PER_JOB", "PER_HOST", "PER_SLOT", "PER_TASK"]] = {}
    advance_reservations: list[Section] = []
    share_usage: list[Section] = []
    pool_usage: list[Section] = []
    associations: list[Section] = []
    slurm_limits: list[Section] = []
    held: list[Section] = []
    borrowed: list[Section] = []
    lsf_says: list[Section] = []
    running: list[RunningEntry] = []
    pending: list[JobEntry] = []
    future: list[JobEntry] = []
    omissions: list[Section] = []

    @model_validator(mode="before")
    @classmethod
    def _with_tables(cls, data: Any) -> Any:
        """Return the document with HostGroup rows, if copied as a table, as a mapping."""
        rows = data.get("host_groups") if isinstance(data, dict) else None
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and row.keys() == {"GROUP_NAME", "GROUP_MEMBER"} for row in rows
        ):
            return data
        groups = {str(row["GROUP_NAME"]): row["GROUP_MEMBER"] for row in rows}
        return data if len(groups) < len(rows) else {**data, "host_groups": groups}


#: Sections whose entries are objects of one class of the model with nothing more than its facts.
FACT_SECTIONS: Mapping[str, type] = {
    "applications": Application,
    "job_groups": JobGroup,
    "service_classes": ServiceClass,
    "guaranteed_pools": GuaranteedPool,
    "users": User,
    "user_groups": UserGroup,
    "host_partitions": HostPartition,
    "advance_reservations": AdvanceReservation,
    "share_usage": ShareUsage,
    "pool_usage": PoolUsage,
    "associations": Association,
    "slurm_limits": SlurmLimit,
    "held": HeldHosts,
    "borrowed": BorrowedSlots,
    "lsf_says": SaidByLsf,
    "omissions": Omission,
}
#: Fields of the instance with another name than their section.
ATTRIBUTES = {"user_groups": "groups", "host_partitions": "partitions"}
#: Forms of entries by the class of their objects.
FORMS: dict[type, type[Section]] = {
    kind: entry(
        f"{kind.__name__}Entry",
        kind,
        PeriodKeys if kind is AdvanceReservation else Section,
        str(kind.__doc__),
    )
    for kind in (ResourceDefinition, *FACT_SECTIONS.values())
}
if not TYPE_CHECKING:
    Document = create_model(
        "Document",
        __base__=Document,
        __doc__=Document.__doc__,
        __module__=__name__,
        resources=(list[FORMS[ResourceDefinition]], []),
        **{section: (list[FORMS[kind]], []) for section, kind in FACT_SECTIONS.items()},
    )
FORMS |= {
    Host: HostEntry,
    Queue: QueueEntry,
    Params: ParamsEntry,
    Job: JobEntry,
    RunningJob: RunningEntry,
    ComputeUnit: UnitEntry,
    SharedResource: SharedEntry,
    Limit: LimitEntry,
    Instance: Document,
}


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an instance file."""
    found = Document.model_json_schema(by_alias=True)
    found["required"].remove("hosts")
    found["anyOf"] = [{"required": [key]} for key in ("hosts", "config")]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


#: Keys and indices from the root of a document.
Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """An error or warning at `place`; a warning does not stop the reader."""

    #: Keys and indices from the top of the document to the value.
    place: Location
    #: Description of the error or warning.
    message: str
    #: Whether the instance can be used although the finding exists.
    warning: bool = False
    #: Whether it reports a name without a definition; it is unreliable if definitions are
    #: unreadable.
    undefined: bool = False
    #: Whether it depends on a key in another entry; it is unreliable if that entry is unreadable.
    undecided: bool = False

    @property
    def rests_on_others(self) -> bool:
        """Return whether it is unreliable if other entries are unreadable."""
        return self.undefined or self.undecided


def unknown_names(
    place: Location, what: str, names: Iterable[str], known: Container[str], *words: str
) -> Iterator[Finding]:
    """Yield a finding on each name without a definition; ``~`` before it is ignored.

    what: the kind of the names. known: those with a definition, an Iterable too. words: stand for
    no single one.
    """
    for name in names:
        bare = name.removeprefix("~")
        if bare not in known and bare not in words:
            hint = nearest(bare, cast("Iterable[str]", known))
            yield Finding(place, f"unknown {what} {bare!r}{hint}", undefined=True)


def path_text(place: Location) -> str:
    """Return a path such as ``hosts[1].slots``."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{visible(part)}" if text else visible(part)
    return text


def problems(
    findings: Iterable[Finding], source: str, lines: dict[Location, int]
) -> tuple[Problem, ...]:
    """Return the findings as problems, in document order and without repetition."""
    unique = list(dict.fromkeys(findings))
    unique.sort(key=lambda finding: lines.get(finding.place, 0))
    return tuple(
        Problem(finding.message, source, lines.get(finding.place), path_text(finding.place))
        for finding in unique
    )


#: Sections to which other sections refer by name.
_DEFINING = frozenset(
    {"hosts", "host_groups", "compute_units", "resources", "shared_resources", "queues"}
    | {"applications", "job_groups", "service_classes", "users", "user_groups", "params"}
)
#: Correct key for a frequent wrong one, by section.
_MEANT = {("resources", "type"): "kind", ("resources", "resourcename"): "name"}
#: Maximum length of an example in a message, in characters.
_SHOWN = 80
#: Keys that are required in an entry.
_NEEDED = frozenset(
    {"name", "id", "type", "members", "amount", "HOSTS", "USER_SHARES"}
) | frozenset({"start", "end", "allocation"})
#: Keys whose value affects the checks of other entries.
_DECIDING = frozenset({"MXJ", "slots", "ncpus", "PRIORITY", "FAIRSHARE", "HOSTS"})


def explain(error: ValidationError, root: type[BaseModel] = Document) -> list[Finding]:
    """Return one finding for each error; unknown keys get the nearest valid key as a hint.

    root: what the document is an instance of.
    """
    found: list[Finding] = []
    for detail in error.errors(include_url=False):
        place = _place(detail)
        found.append(Finding(place, _message(detail, place, root)))
    return found


def _place(detail: ErrorDetails) -> Location:
    """Return the place of an error; pydantic appends ``[key]`` to a wrong key."""
    loc = detail["loc"]
    marked = loc[-1:] == ("[key]",) and detail["type"] != "extra_forbidden"
    return loc[:-1] if marked else loc


def _message(detail: ErrorDetails, place: Location, root: type[BaseModel]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    given = reprlib.repr(detail["input"])
    match kind:
        case "extra_forbidden":
            return f"unknown key {place[-1]!r}{_hint(place, root)}"
        case "missing":
            return f"the key {place[-1]!r} is missing"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"must be {context['expected']}, not {given}"
        case "greater_than_equal":
            return f"must be {context['ge']} or more, not {given}"
        case "less_than_equal":
            return f"must be {context['le']} or less, not {given}"
        case "list_type" | "tuple_type":
            return f"must be a list, not {given}{_as_list(place, detail['input'], root)}"
        case "too_short":
            return "must have at least one entry"
    wanted = {
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "finite_number": "a number",
        "string_type": "a text",
        "bool_type": "true or false",
        "dict_type": "a mapping of keys to values",
        "model_type": "a mapping of keys to values",
    }.get(kind)
    return f"must be {wanted}, not {given}" if wanted else f"{detail['msg']}, not {given}"


def _hint(place: Location, root: type[BaseModel]) -> str:
    """Return the key that was probably intended: of equal meaning, or of similar spelling."""
    key, known = str(place[-1]), _keys(place[:-1], root)
    meant = _MEANT.get((str(place[0]), key.lower()))
    return f" (did you mean {meant!r}?)" if meant in known else nearest(key, known)


def _as_list(place: Location, given: object, root: type[BaseModel]) -> str:
    """Return the first entry of a mapping rewritten as a list entry, "" if it is not a mapping."""
    first = next(iter(given.items()), None) if isinstance(given, dict) else None
    if first is None or not isinstance(first[1], dict) or "name" not in _keys(place, root):
        return ""
    meant = ((_MEANT.get((str(place[0]), str(key)), key), first[1][key]) for key in first[1])
    shown = ", ".join(f"{key}: {value}" for key, value in (("name", first[0]), *meant))
    return f": write - {{{shown}}}" if len(shown) <= _SHOWN else ""


def section_of(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    """Return the section model under a key, or of each entry there; None for plain values."""
    info = next((i for n, i in model.model_fields.items() if (i.alias or n) == key), None)
    return _section(info.annotation if info else None)


def _keys(place: Location, root: type[BaseModel]) -> list[str]:
    """Return the keys that are valid at a place of the document."""
    model = root
    for part in place:
        if isinstance(part, str):
            model = section_of(model, part) or model
    return [info.alias or name for name, info in model.model_fields.items()]


def _section(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _section(arg))), None)


@dataclass(frozen=True, slots=True)
class Rest:
    """A document without its broken parts, so that the remainder can still be checked."""

    #: Document without the entries that cannot be read.
    data: Any
    #: Indices of removed entries by section.
    removed: Mapping[str, tuple[int, ...]]
    #: Whether other parts may refer to removed ones, so that a missing name proves nothing.
    defining: bool
    #: Whether removed values may affect the checks of other parts.
    deciding: bool

    def original(self, finding: Finding) -> Finding:
        """Return the finding at its place in the original document."""
        if len(finding.place) < 2 or not isinstance(finding.place[1], int):
            return finding
        index = finding.place[1]
        for gone in self.removed.get(str(finding.place[0]), ()):
            index += gone <= index
        return replace(finding, place=(finding.place[0], index, *finding.place[2:]))


def rest(data: Any, error: ValidationError) -> Rest:
    """Return the data without the parts that the error concerns."""
    data = copy.deepcopy(data)
    removed: dict[str, list[int]] = {}
    defining = deciding = False
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        place = _place(detail)
        if place == ("format",):
            data["format"] = FORMAT
            continue
        whole = len(place) <= 2 or detail["type"] == "missing" or place[2] in _NEEDED
        if whole and len(place) >= 2 and isinstance(place[1], int):
            removed.setdefault(str(place[0]), []).append(place[1])
            defining |= place[0] in _DEFINING
        elif whole:
            _remove(data, place)
            defining |= len(place) < 2 or place[0] in _DEFINING
        else:
            _remove(data, place[:3])
            deciding |= place[2] in _DECIDING
    unique = {section: tuple(sorted(set(found))) for section, found in removed.items()}
    for section, indices in unique.items():
        if isinstance(data[section], list):
            for index in reversed(indices):
                del data[section][index]
        else:  # an array or another sequence of a program
            del data[section]
    return Rest(data, unique, defining, deciding)


def _remove(data: Any, place: Location) -> None:
    """Take one key out, if it is (still) there."""
    for part in place[:-1]:
        data = data.get(part, {}) if isinstance(data, dict) else data[int(part)]
    if isinstance(data, dict) and place:
        data.pop(place[-1], None)
