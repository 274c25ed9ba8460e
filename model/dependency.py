"""Dependency conditions (bsub -w): what is written, as a tree.

``done(12) && (started("prep*") || numdone(7, >= 3))``. Source: the -w option of bsub in the command
reference of LSF 10.1.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

from .errors import InputError, Problem, nearest
from .instance import Instance
from .job import Job

#: Tests of one job, of its exit code and of a status that it posts; counts of an array.
PLAIN = ("done", "ended", "started", "post_done", "post_err")
WITH_TEXT = ("exit", "external")
COUNTS = ("numdone", "numended", "numexit", "numhold", "numpend", "numrun", "numstart")
WORDS = (*PLAIN, *WITH_TEXT, *COUNTS)
Operator: TypeAlias = Literal["==", "!=", ">=", "<=", ">", "<"]
#: Characters of a condition that a message quotes.
LONGEST = 200
#: Longest condition and deepest nesting that are read.
MOST_TOKENS, DEEPEST = 20_000, 50

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<quoted>"[^"]*"|'[^']*')
    | (?P<operator>&&|\|\||==|!=|>=|<=|[><!(),])
    | (?P<name>(?:[^\s"'&|!<>=(),\[\]]|\[[^\[\]]*\])+)
    )""",
    re.VERBOSE,
)
_ELEMENTS = re.compile(r"(?P<name>.*?)\[(?P<elements>[^\[\]]*)\]\s*\Z", re.DOTALL)
_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?)?\Z")
_COMPARISONS = ("==", "!=", ">=", "<=", ">", "<")
#: Elements that one reference may name.
MOST_ELEMENTS = 100_000


class DependencyError(InputError):
    """A condition that cannot be read: what is wrong, and where.

    text: the whole condition. position: offset of the place from 0.
    """

    def __init__(self, what: str, text: str, position: int, expected: str = "") -> None:
        self.text, self.position = text, position
        message = f"{what}; expected {expected}" if expected else what
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        self.message = f"{message} (column {position + 1} of {shown!r})"
        super().__init__([Problem(self.message)])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its message: errors travel between processes too."""
        return _again, (self.message, self.text, self.position)


def _again(message: str, text: str, position: int) -> DependencyError:
    error = DependencyError("", text, position)
    error.message = message
    InputError.__init__(error, message)
    return error


@dataclass(frozen=True, slots=True)
class JobReference:
    """Which jobs are meant: a number, or a name that may end in ``*``."""

    name: str
    #: A name even where it looks like a number.
    quoted: bool = False
    #: Of an array, () for all of it.
    elements: tuple[int, ...] = ()
    #: ``[*]``: for an element of another array the one of the same index.
    each: bool = False


@dataclass(frozen=True, slots=True)
class StatusTest:
    """One test of a job or an array."""

    #: "done" and so on.
    word: str
    job: JobReference
    #: Of an exit code or a count; None for any code, and for ``*``, all elements.
    operator: Operator = "=="
    #: Of an exit code or a count; None for any code, and for ``*``, all elements.
    number: int | None = None
    #: Of external().
    status: str = ""
    #: As it was written.
    text: str = ""


@dataclass(frozen=True, slots=True)
class Negation:
    """``!``: the opposite."""

    part: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    """``&&``: all parts hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """``||``: one part holds at least."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = "StatusTest | Negation | AllOf | AnyOf"


@lru_cache(maxsize=4096)
def parse_dependency(text: str) -> Condition:
    """The tree of a condition. Raises DependencyError with the place of what is wrong."""
    return _ConditionReader(text).whole()


def status_tests(condition: Condition) -> Iterator[StatusTest]:
    """All tests of a condition, from left to right."""
    match condition:
        case StatusTest():
            yield condition
        case Negation(part):
            yield from status_tests(part)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from status_tests(part)


def written(condition: Condition) -> str:
    """The condition as text, which reads as the same tree."""
    match condition:
        case StatusTest(text=text):
            return text
        case Negation(part):
            inner = written(part)
            return f"!{inner}" if isinstance(part, StatusTest) else f"!({inner})"
        case AllOf(parts):
            whole = (
                f"({written(p)})" if isinstance(p, AllOf | AnyOf) else written(p) for p in parts
            )
            return " && ".join(whole)
        case AnyOf(parts):
            whole = (f"({written(p)})" if isinstance(p, AnyOf) else written(p) for p in parts)
            return " || ".join(whole)


def compare(value: int, operator: Operator, number: int) -> bool:
    """``value operator number``."""
    return {
        "==": value == number,
        "!=": value != number,
        ">=": value >= number,
        "<=": value <= number,
        ">": value > number,
        "<": value < number,
    }[operator]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    place: int


class _ConditionReader:
    """Recursive descent over the tokens of one condition."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._scan())
        self.at = 0
        self.depth = 0

    def _scan(self) -> Iterator[_Token]:
        place, end, count = 0, len(self.text.rstrip()), 0
        while place < end:
            match = _TOKEN.match(self.text, place)
            if match is None or match.lastgroup is None:
                at = place + len(self.text[place:]) - len(self.text[place:].lstrip())
                raise self._wrong(f"unexpected {self.text[at]!r}", at)
            count += 1
            if count > MOST_TOKENS:
                raise self._wrong(f"has more than {MOST_TOKENS} words", place)
            yield _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
            place = match.end()

    def _wrong(self, what: str, place: int, expected: str = "") -> DependencyError:
        return DependencyError(what, self.text, place, expected)

    def _peek(self) -> _Token:
        if self.at < len(self.tokens):
            return self.tokens[self.at]
        return _Token("end", "", len(self.text.rstrip()))

    def _take(self) -> _Token:
        token = self._peek()
        self.at += 1
        return token

    def _is(self, text: str) -> bool:
        token = self._peek()
        return token.kind == "operator" and token.text == text

    def _need(self, text: str) -> _Token:
        token = self._take()
        if token.kind != "operator" or token.text != text:
            raise self._unexpected(token, f"'{text}'")
        return token

    def _unexpected(self, token: _Token, expected: str) -> DependencyError:
        what = f"unexpected {token.text!r}" if token.text else "the condition ends too early"
        return self._wrong(what, token.place, expected)

    # --- the grammar ----------------------------------------------------------------------------

    def whole(self) -> Condition:
        """The condition, to the end of the text."""
        found = self._either()
        token = self._peek()
        if token.kind != "end":
            raise self._unexpected(token, "'&&', '||' or the end")
        return found

    def _either(self) -> Condition:
        parts = [self._every()]
        while self._is("||"):
            self._take()
            parts.append(self._every())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _every(self) -> Condition:
        parts = [self._negated()]
        while self._is("&&"):
            self._take()
            parts.append(self._negated())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _negated(self) -> Condition:
        token = self._peek()
        if not (self._is("!") or self._is("(")):
            return self._test()
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"is nested more than {DEEPEST} deep", token.place)
        self._take()
        if token.text == "!":
            found: Condition = Negation(self._negated())
        else:
            found = self._either()
            self._need(")")
        self.depth -= 1
        return found

    def _test(self) -> Condition:
        token = self._take()
        if token.kind not in ("name", "quoted"):
            raise self._unexpected(token, "a job or a test such as done(12)")
        if token.kind == "quoted" or not self._is("("):
            return StatusTest("done", self._reference(token), text=token.text)
        word = token.text.lower()
        if word not in WORDS:
            hint = nearest(word, WORDS)
            raise self._wrong(f"unknown test {token.text!r}{hint}", token.place, ", ".join(WORDS))
        self._need("(")
        target = self._take()
        if target.kind not in ("name", "quoted"):
            raise self._unexpected(target, "the number or name of a job")
        job = self._reference(target)
        operator, number, status = self._arguments(word)
        last = self._need(")")
        text = self.text[token.place : last.place + 1]
        return StatusTest(word, job, operator, number, status, text)

    def _arguments(self, word: str) -> tuple[Operator, int | None, str]:
        """What stands behind the job: an exit code, a status or a count."""
        if word in PLAIN or (word == "exit" and not self._is(",")):
            return "==", None, ""
        self._need(",")
        if word == "external":
            token = self._take()
            if token.kind not in ("name", "quoted"):
                raise self._unexpected(token, "a status")
            return "==", None, token.text.strip("\"'")
        return *self._comparison(word), ""

    def _comparison(self, word: str) -> tuple[Operator, int | None]:
        """``>= 3``, ``3`` or, of a count, ``*``."""
        operator: Operator = "=="
        token = self._peek()
        for known in _COMPARISONS:
            if token.kind == "operator" and token.text == known:
                self._take()
                operator = known  # type: ignore[assignment]
        token = self._take()
        if token.kind == "name" and token.text == "*" and word in COUNTS:
            return operator, None
        if token.kind != "name" or not re.fullmatch(r"\d{1,9}", token.text):
            star = " or *" if word in COUNTS else ""
            raise self._unexpected(token, f"a whole number{star}")
        return operator, int(token.text)

    def _reference(self, token: _Token) -> JobReference:
        quoted = token.kind == "quoted"
        text = (token.text[1:-1] if quoted else token.text).strip()
        match = _ELEMENTS.match(text)
        name = (match["name"] if match else text).strip()
        if not name or (not quoted and name == "*"):
            raise self._unexpected(token, "the number or name of a job")
        if match is None:
            return JobReference(name, quoted)
        if match["elements"].strip() == "*":
            return JobReference(name, quoted, each=True)
        return JobReference(name, quoted, self._elements(token, match["elements"]))

    def _elements(self, token: _Token, text: str) -> tuple[int, ...]:
        found: dict[int, None] = {}
        for part in text.split(","):
            match = _RANGE.match(part)
            first, last, step = (match[1], match[2], match[3]) if match else (None, None, None)
            if first is None or int(step or 1) == 0 or int(last or first) < int(first):
                raise self._wrong(
                    f"elements [{text}] cannot be read",
                    token.place,
                    "[3], [1-4] or [*]",
                )
            if int(last or first) - int(first) > MOST_ELEMENTS:
                raise self._wrong("names too many elements", token.place)
            found |= dict.fromkeys(range(int(first), int(last or first) + 1, int(step or 1)))
        return tuple(found)


# --- Which jobs a dependency condition means: by number, element or name --------------------------

_ELEMENT = re.compile(r"(?P<array>.+)\[(?P<index>\d{1,9})\]\Z")


def element_of(name: str) -> tuple[str, int]:
    """Array and index of ``101[3]``; a job that is no element is alone, with index 0."""
    match = _ELEMENT.match(name)
    return (match["array"], int(match["index"])) if match else (name, 0)


class Roster:
    """The jobs that there are, in the order in which they were submitted as far as that is known.

    last_only: of several jobs of one name the latest counts (JOB_DEP_LAST_SUB); else all of them.
    """

    def __init__(self, jobs: Sequence[Job], *, last_only: bool = True) -> None:
        self._jobs = jobs
        self._last_only = last_only

    @classmethod
    def of(cls, instance: Instance) -> Roster:
        """The jobs of an instance: running, pending, then those to come."""
        running = (item.job for item in instance.running)
        jobs = (*running, *instance.pending, *instance.future)
        return cls(jobs, last_only=instance.params.job_dep_last_sub)

    @cached_property
    def _by_number(self) -> Mapping[str, Mapping[int, Job]]:
        """Jobs and elements by the number of their job."""
        found: dict[str, dict[int, Job]] = defaultdict(dict)
        for job in self._jobs:
            array, index = element_of(job.id)
            found[array][index] = job
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
        """By user and name the numbers of the jobs, each with its place among all."""
        found: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for place, job in enumerate(self._jobs):
            if job.name:
                number = element_of(job.id)[0]
                found[job.user][job.name.partition("[")[0]][number] = place
        return found

    @cached_property
    def _places(self) -> Mapping[str, tuple[int, int]]:
        """When jobs were submitted, and their place among all, by number.

        All elements of an array were at once: at the earliest time that one of them has, since
        those that run may have none of their own. They take the place of the last, since what runs
        comes first here whenever it was submitted.
        """
        found: dict[str, tuple[int, int]] = {}
        for place, job in enumerate(self._jobs):
            number = element_of(job.id)[0]
            submit = min(job.submit, found.get(number, (job.submit, 0))[0])
            found[number] = (submit, place)
        return found

    def meant(self, reference: JobReference, asker: Job) -> tuple[str, ...]:
        """The ids of the jobs or elements that a job refers to, () where nobody knows them.

        A name means own jobs that came before the asker, if there are any.
        """
        own, index = element_of(asker.id)
        found: list[str] = []
        for number in self._numbers(reference, asker.user, own):
            members = self._by_number[number]
            wanted: Sequence[int] = reference.elements or tuple(members)
            if reference.each and index:
                wanted = (index,)
            if any(item not in members for item in wanted):
                return ()
            found += [members[item].id for item in wanted]
        return tuple(dict.fromkeys(found))

    def _numbers(self, reference: JobReference, user: str, own: str) -> list[str]:
        if not reference.quoted and reference.name in self._by_number:
            return [reference.name]
        names = self._by_name.get(user, {})
        known: dict[str, int] = {}
        if reference.name.endswith("*"):
            stem = reference.name[:-1]
            for name, numbers in names.items():
                known |= numbers if name.startswith(stem) else {}
        else:
            known.update(names.get(reference.name, {}))
        known.pop(own, None)
        if not known:
            return [reference.name] if reference.name in self._by_number else []
        here = self._places.get(own)
        before = [n for n in known if here is None or self._places[n] < here]
        chosen = sorted(before or known, key=lambda n: self._places[n])
        last = self._last_only and not reference.name.endswith("*")
        return chosen[-1:] if last else chosen


def predecessors(roster: Roster, job: Job) -> tuple[str, ...]:
    """The jobs that the condition of a job names. Raises DependencyError."""
    if not job.dependency:
        return ()
    tests = status_tests(parse_dependency(job.dependency))
    return tuple(dict.fromkeys(name for test in tests for name in roster.meant(test.job, job)))


def circle(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Jobs that wait for each other in a circle, () if none do. waits_for: by id."""
    done: set[str] = set()
    for first in waits_for:
        path: dict[str, Iterator[str]] = {}
        stack = [first] if first not in done else []
        while stack:
            name = stack[-1]
            if name not in path:
                path[name] = iter(waits_for.get(name, ()))
            step = next(path[name], None)
            if step is None:
                done.add(name)
                del path[name]
                stack.pop()
            elif step in path:
                names = list(path)
                return (*names[names.index(step) :], step)
            elif step not in done:
                stack.append(step)
    return ()


def waiting_order(order: Sequence[str], waits_for: Mapping[str, Sequence[str]]) -> list[str]:
    """An order in which every job comes behind those it waits for, otherwise as it was.

    Jobs in a circle come last.
    """
    inside = set(order)
    open_still = {
        name: {other for other in waits_for.get(name, ()) if other in inside and other != name}
        for name in order
    }
    followers: dict[str, list[str]] = defaultdict(list)
    for name in order:
        for other in open_still[name]:
            followers[other].append(name)
    found: dict[str, None] = {}
    passed: set[str] = set()
    for name in order:
        passed.add(name)
        ready = [] if open_still[name] else [name]
        while ready:
            item = ready.pop(0)
            found[item] = None
            for follower in followers[item]:
                open_still[follower].discard(item)
                ready += [follower] if follower in passed and not open_still[follower] else []
    return [*found, *(name for name in order if name not in found)]
