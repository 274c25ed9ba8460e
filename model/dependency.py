"""Dependency conditions (bsub -w) and their syntax trees.

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

#: Words that test one job, its exit code or a status that it posts; words that count elements.
PLAIN = ("done", "ended", "started", "post_done", "post_err")
WITH_TEXT = ("exit", "external")
COUNTS = ("numdone", "numended", "numexit", "numhold", "numpend", "numrun", "numstart")
WORDS = (*PLAIN, *WITH_TEXT, *COUNTS)
Operator: TypeAlias = Literal["==", "!=", ">=", "<=", ">", "<"]
#: Maximum length of a condition that a message quotes, in characters.
LONGEST = 200
#: Maximum number of tokens, and maximum depth of nesting.
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
    """Error in a condition, with its position.

    text: the whole condition. position: offset from 0.
    """

    def __init__(self, what: str, text: str, position: int, expected: str = "") -> None:
        self.text, self.position = text, position
        message = f"{what}; expected {expected}" if expected else what
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        self.message = f"{message} (column {position + 1} of {shown!r})"
        super().__init__([Problem(self.message)])

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the attributes when pickled, because errors are passed between processes."""
        return _again, (self.message, self.text, self.position)


def _again(message: str, text: str, position: int) -> DependencyError:
    error = DependencyError("", text, position)
    error.message = message
    InputError.__init__(error, message)
    return error


@dataclass(frozen=True, slots=True)
class JobReference:
    """A reference to jobs by number, or by a name that may end in ``*``."""

    #: Job id, or job name with or without ``*`` at its end.
    name: str
    #: Whether the name was quoted, so that it is not a number even if it looks like one.
    quoted: bool = False
    #: Indices of elements, () for the whole array.
    ranges: tuple[range, ...] = ()
    #: Whether it is ``[*]``: for an element, the element of equal index in the other array.
    each: bool = False

    @property
    def elements(self) -> Iterator[int]:
        """Yield the indices one by one, in the order written."""
        return chain.from_iterable(self.ranges)


@dataclass(frozen=True, slots=True)
class StatusTest:
    """One test of a job or an array."""

    #: The function, such as "done".
    word: str
    #: Job, array or element that the test examines.
    job: JobReference
    #: Comparison of an exit code or a count with `number`.
    operator: Operator = "=="
    #: The exit code or count; None for any code, and for ``*``, all elements.
    number: int | None = None
    #: The status that external() tests.
    status: str = ""
    #: The test as written.
    text: str = ""


@dataclass(frozen=True, slots=True)
class Negation:
    """The negation (``!``) of a condition."""

    #: The condition that must not hold.
    part: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction (``&&``): all parts hold."""

    #: Conditions that must all be satisfied.
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction (``||``): at least one part holds."""

    #: Conditions of which one must be satisfied.
    parts: tuple[Condition, ...]


Condition: TypeAlias = "StatusTest | Negation | AllOf | AnyOf"


@lru_cache(maxsize=4096)
def parse_dependency(text: str) -> Condition:
    """Return the tree of a condition; raises DependencyError with the position of the error."""
    return _ConditionReader(text).whole()


def status_tests(condition: Condition) -> Iterator[StatusTest]:
    """Yield all tests of a condition, from left to right."""
    match condition:
        case StatusTest():
            yield condition
        case Negation(part):
            yield from status_tests(part)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from status_tests(part)


def written(condition: Condition) -> str:
    """Return the condition as text, which parses to an equal tree."""
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
    """Return the result of ``value operator number``."""
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
    """Recursive-descent parser for the tokens of one condition."""

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
        what = f"unexpected {token.text!r}" if token.text else "the condition is incomplete"
        return self._wrong(what, token.place, expected)

    def whole(self) -> Condition:
        """Parse the whole text as one condition."""
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
            raise self._wrong(f"is nested more than {DEEPEST} levels deep: use fewer", token.place)
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
        """Parse the second argument of a test: an exit code, a status or a count."""
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
        """Parse ``>= 3``, ``3``, or ``*`` (a count only)."""
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


#: Number of answers in the cache of recent look-ups.
_RECENT = 64
#: Key of a look-up: the reference, the user who asks, the number of jobs that count, the job that
#: does not count, and the only element that counts.
_Asked: TypeAlias = "tuple[JobReference, str, int, str, int]"
_ELEMENT = re.compile(r"(?P<array>.+)\[(?P<index>\d{1,9})\]\Z")


def element_of(name: str) -> tuple[str, int]:
    """Return array and index of ``101[3]``; for any other job its id and 0."""
    match = _ELEMENT.match(name)
    return (match["array"], int(match["index"])) if match else (name, 0)


class JobIndex:
    """Index of all jobs by number and name, in order of submission where it is known.

    last_only: of several jobs of one name only the latest counts (JOB_DEP_LAST_SUB).
    """

    def __init__(self, jobs: Sequence[Job], *, last_only: bool = True) -> None:
        self._jobs = jobs
        self._last_only = last_only
        self._names_in_order: dict[str, list[str]] = {}
        #: Jobs by name or number, whether it is quoted, and user.
        self._found: dict[tuple[str, bool, str], _Named] = {}
        #: Recent answers, so that jobs with equal conditions share one tuple.
        self._recent: OrderedDict[_Asked, tuple[str, ...]] = OrderedDict()

    @classmethod
    def of(cls, instance: Instance) -> JobIndex:
        """Return the index of the jobs of an instance: running, pending, future."""
        return cls(instance.jobs, last_only=instance.params.job_dep_last_sub)

    @cached_property
    def _by_number(self) -> Mapping[str, Mapping[int, Job]]:
        """Return the jobs and elements by the number of their job, then by index."""
        found: dict[str, dict[int, Job]] = defaultdict(dict)
        for job in self._jobs:
            array, index = element_of(job.id)
            found[array][index] = job
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, Mapping[str, Mapping[str, None]]]:
        """Return the numbers of the jobs by user and name."""
        found: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
        for job in self._jobs:
            if job.name:
                found[job.user][job.name.partition("[")[0]][element_of(job.id)[0]] = None
        return found

    @cached_property
    def _places(self) -> Mapping[str, tuple[int, int]]:
        """Return submission time and position of the jobs by number.

        Elements of an array were submitted together: the earliest known time counts, since running
        elements may have none. Their position is that of the last element, since running jobs are
        listed first.
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
        """Return the ids of the jobs or elements that a reference denotes, () if unknown.

        A name denotes the user's own jobs submitted before the asker, if any. Askers with equal
        answers get one shared tuple.
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
        """Return the ids of the elements that a reference selects; only: one index, 0 for all."""
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
        """Return the jobs that a reference names for a user, and their number for job `own`."""
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
        """Return the job of a number, if it exists."""
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
    """The jobs of one number, or of one name and user."""

    #: Job numbers in order of submission.
    numbers: tuple[str, ...]
    #: The numbers as a set, for look-ups.
    places: frozenset[str]
    #: Submission time and position of each job; empty if the reference is a number.
    in_order: tuple[tuple[int, int], ...]
    #: Whether the reference is a number.
    by_number: bool = False
    #: Whether only the latest of them counts.
    last_only: bool = False


def predecessors(roster: JobIndex, job: Job) -> tuple[str, ...]:
    """Return the jobs that the condition of a job names; raises DependencyError."""
    if not job.dependency:
        return ()
    tests = status_tests(parse_dependency(job.dependency))
    named = [roster.resolve(test.job, job) for test in tests]
    return named[0] if len(named) == 1 else tuple(dict.fromkeys(chain.from_iterable(named)))


def dependency_cycle(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return jobs that wait for each other in a circle, () if none do. waits_for: by id.

    A sequence shared by several jobs is followed once.
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
    """Jobs that wait for one shared sequence of jobs."""

    #: Ids of the waiting jobs.
    names: list[str]
    #: Number of predecessors that are not in the order yet.
    open: int


def waiting_order(order: Sequence[str], waits_for: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a stable order in which every job comes after its predecessors.

    Jobs in a circle come last. Jobs that share one sequence are examined together.
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
