"""Dependency conditions (bsub -w): what is written, as a tree.

``done(12) && (started("prep*") || numdone(7, >= 3))``. Source: the -w option of bsub in the command
reference of LSF 10.1.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Literal, TypeAlias

from .errors import InputError, Problem, nearest
from .input_limits import limits
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
MAX_TOKENS, DEEPEST = 20_000, 50

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
    #: The indices of an array, () for all of it.
    ranges: tuple[range, ...] = ()
    #: ``[*]``: for an element of another array the one of the same index.
    each: bool = False

    @property
    def elements(self) -> Iterator[int]:
        """The indices, as they are written, one by one."""
        return chain.from_iterable(self.ranges)


@dataclass(frozen=True, slots=True)
class StatusTest:
    """One test of a job or an array."""

    #: "done" and so on.
    word: str
    job: JobReference
    #: How an exit code or a count is compared with `number`.
    operator: Operator = "=="
    #: The exit code or count; None for any code, and for ``*``, all elements.
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
            if count > MAX_TOKENS:
                raise self._wrong(f"has more than {MAX_TOKENS} words", place)
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

    def _elements(self, token: _Token, text: str) -> tuple[range, ...]:
        found: dict[range, None] = {}
        count = 0
        for part in text.split(","):
            match = _RANGE.match(part)
            first, last, step = (match[1], match[2], match[3]) if match else (None, None, None)
            if first is None or int(step or 1) == 0 or int(last or first) < int(first):
                raise self._wrong(
                    f"elements [{text}] cannot be read",
                    token.place,
                    "[3], [1-4] or [*]",
                )
            indices = range(int(first), int(last or first) + 1, int(step or 1))
            count += len(indices)
            if count > limits().elements:
                most = f"names more than {limits().elements:,} elements (--max-elements)"
                raise self._wrong(most, token.place)
            found[indices] = None
        return tuple(found)


#: Answers that a roster keeps.
_RECENT = 64
#: A reference, the user who asks, how many of the jobs it names count, the one that does not, and
#: the only element that does.
_Asked: TypeAlias = "tuple[JobReference, str, int, str, int]"
_ELEMENT = re.compile(r"(?P<array>.+)\[(?P<index>\d{1,9})\]\Z")


def element_of(name: str) -> tuple[str, int]:
    """Array and index of ``101[3]``; a job that is no element is alone, with index 0."""
    match = _ELEMENT.match(name)
    return (match["array"], int(match["index"])) if match else (name, 0)


class JobIndex:
    """The jobs that there are, in the order in which they were submitted as far as that is known.

    last_only: of several jobs of one name the latest counts (JOB_DEP_LAST_SUB); else all of them.
    """

    def __init__(self, jobs: Sequence[Job], *, last_only: bool = True) -> None:
        self._jobs = jobs
        self._last_only = last_only
        self._names_in_order: dict[str, list[str]] = {}
        #: What names and numbers mean, by name, whether it is quoted, and user.
        self._found: dict[tuple[str, bool, str], _Named] = {}
        #: The last answers, so that askers share them.
        self._recent: OrderedDict[_Asked, tuple[str, ...]] = OrderedDict()

    @classmethod
    def of(cls, instance: Instance) -> JobIndex:
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
    def _by_name(self) -> Mapping[str, Mapping[str, Mapping[str, None]]]:
        """By user and name the numbers of the jobs."""
        found: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
        for job in self._jobs:
            if job.name:
                name = job.name.partition("[")[0]
                found[job.user][name][element_of(job.id)[0]] = None
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

    def _sorted_names(self, user: str) -> list[str]:
        if user not in self._names_in_order:
            self._names_in_order[user] = sorted(self._by_name.get(user, ()))
        return self._names_in_order[user]

    def resolve(self, reference: JobReference, asker: Job) -> tuple[str, ...]:
        """The ids of the jobs or elements that a job refers to, () where nobody knows them.

        A name means own jobs that came before the asker, if there are any. Askers for whom a
        reference means the same get the same tuple.
        """
        own, index = element_of(asker.id)
        only = index if reference.each else 0
        named, end = self._named(reference, asker.user, own)
        key = (reference, asker.user, end, own if own in named.places else "", only)
        if key in self._recent:
            self._recent.move_to_end(key)
            return self._recent[key]
        chosen = [number for number in named.numbers[:end] if number != own or named.by_number]
        if named.last_only:
            chosen = chosen[-1:]
        found = self._recent[key] = self._ids(chosen, reference, only)
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)
        return found

    def _ids(self, numbers: Iterable[str], reference: JobReference, only: int) -> tuple[str, ...]:
        """Those of the elements that a reference names of jobs; only: this one, 0 for no such."""
        found: list[str] = []
        for number in numbers:
            members = self._by_number[number]
            wanted: Iterable[int] = reference.elements if reference.ranges else members
            if only:
                wanted = (only,)
            for item in wanted:
                if item not in members:
                    return ()
                found.append(members[item].id)
        return tuple(dict.fromkeys(found))

    def _named(self, reference: JobReference, user: str, own: str) -> tuple[_Named, int]:
        """The jobs that a reference names for a user, and how many of them count for job `own`."""
        key = reference.name, reference.quoted, user
        if key not in self._found:
            self._found[key] = self._look_up(*key)
        named = self._found[key]
        if named.by_number:
            return named, len(named.numbers)
        others = len(named.numbers) - (own in named.places)
        if not others:
            key = reference.name, False, ""
            if key not in self._found:
                self._found[key] = self._numbered(reference.name)
            return self._found[key], len(self._found[key].numbers)
        here = self._places.get(own)
        end = len(named.numbers) if here is None else bisect_left(named.in_order, here)
        return named, end or len(named.numbers)

    def _numbered(self, name: str) -> _Named:
        """The job of a number, if there is one."""
        known = (name,) if name in self._by_number else ()
        return _Named(known, frozenset(known), (), by_number=True)

    def _look_up(self, name: str, quoted: bool, user: str) -> _Named:
        if not quoted and name in self._by_number:
            return self._numbered(name)
        names = self._by_name.get(user, {})
        known: dict[str, None] = {}
        if name.endswith("*"):
            stem, ordered = name[:-1], self._sorted_names(user)
            for at in range(bisect_left(ordered, stem), len(ordered)):
                if not ordered[at].startswith(stem):
                    break
                known |= names[ordered[at]]
        else:
            known.update(names.get(name, {}))
        numbers = tuple(sorted(known, key=lambda number: self._places[number]))
        order = tuple(self._places[number] for number in numbers)
        last = self._last_only and not name.endswith("*")
        return _Named(numbers, frozenset(numbers), order, last_only=last)


@dataclass(frozen=True, slots=True)
class _Named:
    """The jobs of a number, or of a name and user."""

    #: In the order in which they were submitted.
    numbers: tuple[str, ...]
    places: frozenset[str]
    #: Their submissions; none where the number itself was meant.
    in_order: tuple[tuple[int, int], ...]
    by_number: bool = False
    #: Of those that count only the latest does.
    last_only: bool = False


def predecessors(roster: JobIndex, job: Job) -> tuple[str, ...]:
    """The jobs that the condition of a job names. Raises DependencyError."""
    if not job.dependency:
        return ()
    tests = status_tests(parse_dependency(job.dependency))
    named = [roster.resolve(test.job, job) for test in tests]
    return named[0] if len(named) == 1 else tuple(dict.fromkeys(chain.from_iterable(named)))


def dependency_cycle(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Jobs that wait for each other in a circle, () if none do. waits_for: by id.

    Of jobs that share one sequence the first alone goes through it.
    """
    done: set[str] = set()
    gone_through: set[int] = set()
    for first in waits_for:
        path: dict[str, Iterator[str]] = {}
        stack = [first] if first not in done else []
        while stack:
            name = stack[-1]
            others = waits_for.get(name, ())
            if name not in path:
                path[name] = iter(() if id(others) in gone_through else others)
            step = next(path[name], None)
            if step is None:
                gone_through.add(id(others))
                done.add(name)
                del path[name]
                stack.pop()
            elif step in path:
                names = list(path)
                return (*names[names.index(step) :], step)
            elif step not in done:
                stack.append(step)
    return ()


@dataclass(slots=True)
class _Waiting:
    """Jobs that wait for the same others."""

    names: list[str]
    #: Of the others, how many have no place in the order yet.
    open: int


def waiting_order(order: Sequence[str], waits_for: Mapping[str, Sequence[str]]) -> list[str]:
    """An order in which every job comes behind those it waits for, otherwise as it was.

    Jobs in a circle come last. Those that share one sequence are looked at as one.
    """
    place = {name: at for at, name in enumerate(order)}
    groups: dict[tuple[int, str], _Waiting] = {}
    of: dict[str, _Waiting] = {}
    followers: dict[str, list[_Waiting]] = defaultdict(list)
    members: dict[int, set[str]] = {}
    for name in order:
        shared = waits_for.get(name, ())
        if not shared:
            continue
        if id(shared) not in members:
            members[id(shared)] = {other for other in shared if other in place}
        others = members[id(shared)]
        key = id(shared), name if name in others else ""
        if key not in groups:
            others = others - {name}
            groups[key] = _Waiting([], len(others))
            for other in others:
                followers[other].append(groups[key])
        groups[key].names.append(name)
        of[name] = groups[key]
    found: dict[str, None] = {}
    passed: set[str] = set()
    for name in order:
        passed.add(name)
        ready = deque(() if name in of and of[name].open else (name,))
        while ready:
            item = ready.popleft()
            found[item] = None
            free: list[str] = []
            for group in followers.get(item, ()):
                group.open -= 1
                free += [] if group.open else group.names
            ready += sorted((other for other in free if other in passed), key=place.__getitem__)
    return [*found, *(name for name in order if name not in found)]
