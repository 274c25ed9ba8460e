"""``sbatch`` lines and job scripts with ``#SBATCH``: the job that they would submit.

Its project is its account, with its QOS where a QOS has limits (``limits.py``).
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from ... import slurm_values as values
from ...display import visible
from ...errors import InputError, Problem, nearest
from ...formats.bsub import is_rewritten, no_option
from ...formats.submit import (
    UNNAMED,
    Submission,
    replace_omitted,
    submission,
    with_unnamed_user,
)
from ...gpu_request import gpu_request
from ...instance import Instance
from ...job import NO_RUN_LIMIT, ArraySpec, Job, parse_spec
from ...slurm_partitions import SEVERAL, partitions_of
from ...slurm_priority import PriorityRequest, SizeAndPartition
from ...slurm_select import words_of
from ...slurm_words import foreign_command, lowest_priority, refusal_text
from .conditions import TESTS, NeverSatisfied, condition_of
from .limits import left_of_limits, rows_of_instance
from .priorities import fairshare_part, request_of, size_and_partition
from .requests import (
    beyond_memory,
    licence_counts,
    requested_of,
    unknown_features,
    with_default_memory,
    with_fewer_threads,
)
from .seen import SlurmJob, SlurmJobSize
from .several_partitions import in_taking, planned_in_first
from .site import SlurmSite, gres_resource, is_gpu, licence_name, site_of


def has_limited_projects(instance: Instance) -> bool:
    """Return whether a limit depends on the account or the QOS of a job."""
    return any(limit.projects is not None for limit in instance.limits)


def project_of_new(
    instance: Instance, given: Mapping[str, str], user: str, omitted: list[str]
) -> str:
    """Return the project of a new job; what is not given is as in the other jobs of its user.

    given: options of sbatch. omitted: gets what may bring it under other limits.
    """
    account, qos = given.get("account", ""), given.get("qos", "")
    limited = {name for limit in instance.limits if limit.projects for name in limit.projects.names}
    by_qos = any("/" in name for name in limited)
    account = account or _association(instance, user)
    if limited:
        other_account, other_qos = _of_other_jobs(instance, user, account)
        if not account:
            account = other_account
            omitted.append(_guessed("account", account))
        if by_qos and not qos:
            qos = other_qos
            omitted.append(_guessed("qos", qos))
    account = account or "default"
    project = f"{account}/{qos or 'none'}" if by_qos or (qos and not limited) else account
    options = [f"--{name} {given[name]}" for name in ("account", "qos") if name in given]
    is_enforced = limited or "NoLimits" not in words_of(instance.params.select_parameters)[""]
    unlisted = options and is_enforced and not instance.slurm_limits and project not in limited
    if unlisted and (qos or (limited and not by_qos)):
        omitted.append(f"limits of {' '.join(options)}")
    return project


def _guessed(option: str, value: str) -> str:
    taken = f", treated as {value}" if value else ""
    return f"limits of its {option} (--{option} is not given{taken})"


def _association(instance: Instance, user: str) -> str:
    """Return the account of a user who has one association, "" if that is not known."""
    accounts = {item.account for item in instance.associations if user and item.user == user}
    accounts |= {item.account for item in instance.slurm_limits if user and item.user == user}
    return accounts.pop() if len(accounts) == 1 else ""


def _of_other_jobs(instance: Instance, user: str, account: str) -> tuple[str, str]:
    """Return account and QOS of the jobs of a user, or of all jobs; "" if they differ."""
    jobs = instance.present_jobs
    own = [job for job in jobs if job.user == user and user != UNNAMED]
    projects = {(job.project or "").partition("/")[::2] for job in own or jobs}
    accounts = {name for name, _ in projects}
    kinds = {kind for name, kind in projects if account in ("", name)}
    return accounts.pop() if len(accounts) == 1 else "", kinds.pop() if len(kinds) == 1 else ""


#: Options of which a line has one.
_MEMORY_OPTIONS = ("mem", "mem-per-cpu", "mem-per-gpu")
#: Words of --exclusive and of --hint.
_EXCLUSIVE = {
    "exclusive": "none", "allocation": "none", "user": "user", "mcs": "mcs", "topo": "topo",
    "oversubscribe": "shared",
}  # fmt: skip
_HINTS = ("compute_bound", "memory_bound", "multithread", "nomultithread")
#: Words with which a line begins that this module reads.
COMMANDS = ("sbatch", "srun", "salloc")
_DIRECTIVE = re.compile(r"^#SBATCH(?!\w)(.*)$")
#: A line that resembles a directive and is none.
_NEARLY = re.compile(r"\s*#\s*SBATCH\s*-.*", re.IGNORECASE)
#: Maximum length of a line in a message, in characters.
_SHOWN = 80
#: Short options and the long ones that they stand for.
_SHORT = {
    "-A": "account", "-a": "array", "-b": "begin", "-B": "extra-node-info", "-c": "cpus-per-task",
    "-C": "constraint", "-d": "dependency", "-D": "chdir", "-e": "error", "-F": "nodefile",
    "-G": "gpus", "-H": "hold", "-i": "input", "-J": "job-name", "-k": "no-kill",
    "-L": "licenses", "-m": "distribution", "-M": "clusters", "-n": "ntasks", "-N": "nodes",
    "-o": "output", "-O": "overcommit", "-p": "partition", "-q": "qos", "-Q": "quiet",
    "-s": "oversubscribe", "-S": "core-spec", "-t": "time", "-v": "verbose", "-w": "nodelist",
    "-W": "wait", "-x": "exclude",
}  # fmt: skip


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Long options without a value, and long options with an optional value.
_SWITCHES = _names(
    "consolidate-segments contiguous external hold ignore-pbs no-requeue overcommit oversubscribe "
    "parsable quiet reboot requeue spread-job spread-segments stepmgr test-only use-min-nodes "
    "verbose wait"
)
_MAY_HAVE_VALUE = _names("exclusive get-user-env nice no-kill oom-kill-step propagate")
#: Options of srun and salloc alone, which do not affect the start: without a value, with an
#: optional one, with one.
_INTERACTIVE = (
    _names("async bell disable-status exact interactive label multi-prog no-bell no-shell overlap "
           "preserve-env quit-on-interrupt unbuffered wait-for-children whole"),
    _names("bcast compress external-launcher immediate kill-command kill-on-bad-exit pty "
           "resv-ports send-libs x11"),
    _names("accel-bind bcast-exclude cpu-bind epilog het-group mpi msg-timeout prolog relative "
           "slurmd-debug task-epilog task-prolog threads treewidth"),
)  # fmt: skip
_INTERACTIVE_SHORT = {
    "-E": "preserve-env", "-I": "immediate", "-K": "kill-on-bad-exit", "-l": "label",
    "-T": "threads", "-u": "unbuffered", "-X": "disable-status",
}  # fmt: skip
#: Options that do not affect the start.
_QUIET = _names(
    "account acctg-freq batch chdir comment container container-id container-type cpu-freq "
    "delay-boot "
    "distribution error export export-file extra get-user-env gid gpu-bind gpu-freq gres-flags "
    "ignore-pbs input job-name kill-on-invalid-dep mail-type mail-user mem-bind mem-update "
    "network no-kill no-requeue oom-kill-step open-mode output parsable power profile propagate "
    "quiet requeue signal stepmgr test-only tres-bind uid verbose wait wait-all-nodes wckey wrap"
)
#: Options that no method takes into account.
_NAMED = _names(
    "bb bbf cluster-constraint clusters consolidate-segments contiguous core-spec "
    "cores-per-socket cpus-per-gpu external extra-node-info gpus-per-socket mcs-label mincpus "
    "nodefile ntasks-per-core ntasks-per-gpu ntasks-per-socket ntasks-per-tres overcommit reboot "
    "resources segment sockets-per-node spread-job spread-segments thread-spec tmp "
    "tres-per-task use-min-nodes"
)
#: Options that are read.
_READ = _names(
    "array begin constraint cpus-per-task deadline dependency exclude exclusive gpus gpus-per-node "
    "gpus-per-task gres hint hold licenses mem mem-per-cpu mem-per-gpu nice nodelist nodes "
    "ntasks ntasks-per-node oversubscribe partition prefer priority qos reservation switches "
    "threads-per-core time time-min"
)
_KNOWN = _QUIET | _NAMED | _READ
#: Options of one letter with any text as value.
_WRITTEN_FREELY = _names("chdir error input job-name output")
_IN_TIME = re.compile(r"now(?:\+(\d{1,9})([a-z]*))?", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?\s*(AM|PM)?", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(slots=True)
class SbatchLine:
    """Options of one sbatch command by long name; the command precedes its script."""

    #: Value by the long name of an option.
    given: dict[str, str] = field(default_factory=dict)
    #: Line of the script that gave an option.
    lines: dict[str, int] = field(default_factory=dict)
    #: Errors in the command or in its script.
    problems: list[Problem] = field(default_factory=list)
    #: Lines of its script that are ignored, with the reason.
    ignored: list[str] = field(default_factory=list)
    #: The script that it names, "" if it names none.
    script: str = ""
    #: Whether these are the options of the first component of a heterogeneous job.
    is_het: bool = False

    def complain(self, option: str, message: str) -> None:
        """Add a problem with an option."""
        line = self.lines.get(option)
        self.problems.append(
            Problem(f"--{option}: {message}", line=line) if line
            else Problem(f"--{option}: {message}", path="sbatch line")
        )  # fmt: skip


def is_sbatch(line: str) -> bool:
    """Whether a line, or a script, is for sbatch."""
    return line.split(maxsplit=1)[:1] in ([word] for word in COMMANDS) or has_directives(line)


def has_directives(text: str) -> bool:
    """Whether a text is a job script with ``#SBATCH`` lines."""
    return any(_DIRECTIVE.match(line) for line in text.splitlines()[:500])


def script_named(line: str) -> str:
    """Return the script that an sbatch line names, "" if it names none."""
    return _line_of(line).script


def sbatch_submission(
    instance: Instance,
    line: str,
    *,
    user: str = "",
    script: str | None = None,
    script_name: str = "",
) -> Submission:
    """Return the jobs that an sbatch line submits now, as the last jobs of its partition.

    line: options after the word sbatch, or a script. script: text of the script that `line`
    names; script_name: its name in messages. Raises InputError with every error.
    """
    found = SbatchLine() if has_directives(line) and "\n" in line else _line_of(line)
    text = line if has_directives(line) and "\n" in line else script
    if text is not None:
        _read_script(found, text)
    job, array, notes = _job_of(instance, found, user)
    if found.problems:
        name = script_name or "job script"
        raise InputError(
            replace(problem, source=name) if problem.line else problem for problem in found.problems
        )
    try:
        submitted = submission(instance, job)
    except InputError as error:
        texts = [refusal_text(instance, problem.message) for problem in error.problems]
        texts = texts if user else [with_unnamed_user(text) for text in texts]
        raise InputError(Problem(text, path="sbatch line") for text in texts) from None
    is_limited = instance.associations or instance.slurm_limits or has_limited_projects(instance)
    counted = ("account",) if is_limited else ()
    silent = _QUIET.union(*_INTERACTIVE)
    quiet = tuple(f"--{name}" for name in found.given if name in silent and name not in counted)
    return replace(submitted, quiet=quiet, array=array, notes=tuple(found.ignored),
        assumed=(*foreign_command(instance, "sbatch"), *notes))  # fmt: skip


def _line_of(line: str) -> SbatchLine:
    found = SbatchLine()
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InputError([Problem(f"cannot be read: {error}", path="sbatch line")]) from None
    command = words[0] if words and words[0] in COMMANDS else ""
    is_interactive = command in ("srun", "salloc")
    rest = _read_words(found, words[1:] if command else words, 0, is_interactive=is_interactive)
    while rest[:1] == [":"]:  # options of another component
        found.is_het = True
        rest = _read_words(SbatchLine(), rest[1:], 0, is_interactive=is_interactive)
    if rest and is_rewritten(rest[0]):
        found.problems.append(
            Problem(f"{rest[0]!r} {no_option(rest[0], '--')}", path="sbatch line")
        )
    elif not is_interactive:  # srun and salloc run a command and read no script
        found.script = rest[0] if rest else ""
    return found


def _read_script(found: SbatchLine, text: str) -> None:
    """Read the directives of a script, up to its first command; options of sbatch precede
    them.
    """
    behind = False
    for number, line in enumerate(text.splitlines(), start=1):
        directive = _DIRECTIVE.match(line)
        if _NEARLY.fullmatch(line) and (behind or directive is None):
            why = ", after the first command" if directive else ": a directive begins with #SBATCH"
            found.ignored.append(f"{visible(line.strip()[:_SHOWN])} (line {number}{why})")
        elif directive is not None and not behind:
            try:
                words = shlex.split(directive[1], comments=True)
            except ValueError as error:
                found.problems.append(Problem(f"cannot be read: {error}", line=number))
                continue
            if words[:1] in (["hetjob"], ["packjob"]):  # the next lines are of another component
                found.is_het = True
                return
            if rest := _read_words(found, words, number):
                message = f"#SBATCH: {rest[0]!r} {no_option(rest[0], '--')}"
                found.problems.append(Problem(message, line=number))
        behind = behind or (bool(line.strip()) and not line.lstrip().startswith("#"))


def _read_words(
    found: SbatchLine, words: Sequence[str], number: int, *, is_interactive: bool = False
) -> list[str]:
    """Read the options of one line, the first of each counts; return the other words."""
    rest = list(words)
    more = _INTERACTIVE if is_interactive else (frozenset[str](),) * 3
    known = _KNOWN.union(*more)
    own: dict[str, str] = {}
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name, value = _name_and_value(word)
        if is_interactive and not word.startswith("--"):
            name = _INTERACTIVE_SHORT.get(word[:2], name)
        if value is None and name in _SWITCHES | _MAY_HAVE_VALUE | more[0] | more[1]:
            value = ""
        wrong = _misread(word, known)
        if not wrong and name not in known:
            close = nearest(f"--{name}", [f"--{other}" for other in sorted(known)])
            wrong = f"unknown option {word!r}{close}"
        elif value is None and not rest:
            wrong = wrong or f"--{name}: needs a value"
        if wrong:
            found.problems.append(Problem(wrong, line=number or None))
            return []
        own[name] = rest.pop(0) if value is None else value
    for name, value in own.items():  # the last of equal options in one text applies
        if name not in found.given:
            found.given[name] = value
            if number:
                found.lines[name] = number
    return rest


def _name_and_value(word: str) -> tuple[str, str | None]:
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        name = "ntasks-per-node" if name == "tasks-per-node" else name
        return name, value if equals else None
    name = _SHORT.get(word[:2], word[1:])
    return name, word[2:] if len(word) > 2 else None


def _misread(word: str, known: Collection[str]) -> str:
    """Return why a word with one dash is not what it looks like, "" if it is.

    Slurm takes what follows the letter for its value: ``-mem=4G`` is -m with ``em=4G``.
    """
    name = word[1:].partition("=")[0]
    of_letter = _SHORT.get(word[:2], "")
    if word.startswith("--") or not of_letter or of_letter in _WRITTEN_FREELY:
        return ""
    if len(name) > 1 and name in known:
        return f"{word!r} is read as {word[:2]} {word[2:]!r}: write -{word}"
    if word[2:3] == "=":
        return f"{word!r} is read as {word[:2]} {word[2:]!r}: write {word[:2]}{word[3:]}"
    return ""


def _read(found: SbatchLine, name: str, reader: Callable[[str], Any], default: Any = None) -> Any:
    """Return the value of an option; an error is added to the problems."""
    if name not in found.given:
        return default
    try:
        return reader(found.given[name])
    except ValueError as error:
        found.complain(name, str(error))
        return default


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text.strip()):
        raise ValueError(f"must be a number of 1 or more, not {text!r}")
    return int(text)


def _node_range(text: str) -> tuple[int, int | None]:
    found = re.fullmatch(r"\s*(\d{1,7})(?:-(\d{0,7}))?\s*", text)
    if found is None or int(found[1]) < 1:
        raise ValueError(f"must be nodes such as 4 or 2-4, not {text!r}")
    fewest = int(found[1])
    most = fewest if found[2] is None else int(found[2]) if found[2] else None
    if most is not None and most < fewest:
        raise ValueError(f"must be the fewest and the most nodes, not {text!r}")
    return fewest, most


def _size(found: SbatchLine) -> SlurmJobSize:
    nodes, most = _read(found, "nodes", _node_range, (1, None))
    per_node = _read(found, "ntasks-per-node", _count, 0)
    tasks = _read(found, "ntasks", _count, per_node * nodes if per_node else nodes)
    if "ntasks" in found.given:  # as sbatch does: no node without a task
        nodes, most = min(nodes, tasks), None if most is None else min(most, tasks)
    if "overcommit" in found.given:  # as one task of a node
        tasks, per_node = nodes, 0
    per_task = _read(found, "cpus-per-task", _count, 1)
    memory = _read(found, "mem", _megabytes)
    by_cpu = _read(found, "mem-per-cpu", _megabytes)
    given = found.given
    if len(both := [name for name in _MEMORY_OPTIONS if name in given]) > 1:
        found.complain(both[0], f"excludes --{both[1]}: give one of them")
    return SlurmJobSize(
        cpus=tasks * per_task,
        tasks=tasks,
        cpus_per_task=per_task,
        tasks_per_node=per_node,
        nodes=nodes,
        max_nodes=most,
        memory_per_node=memory,
        memory_per_cpu=by_cpu,
        memory_per_gpu=_read(found, "mem-per-gpu", _megabytes),
        all_memory=memory == 0,
        gres_per_node=values.gres(given.get("gres", "")) | _gpus(given.get("gpus-per-node", "")),
        gres_per_job=_gpus(given.get("gpus", "")),
        gres_per_task=_gpus(given.get("gpus-per-task", "")),
        threads=_read(found, "threads-per-core", _count, int(given.get("hint") == "nomultithread")),
    )


def _megabytes(text: str) -> float:
    size = values.amount_of(text)
    if size is None or "." in text:
        raise ValueError(f"must be a size such as 4000M or 4G, not {text!r}")
    return size


def _word(words: Collection[str], text: str) -> str:
    """Return a word of a list in small letters, the first for an empty text."""
    if text and text.lower() not in words:
        raise ValueError(f"must be one of {', '.join(words)}, not {text!r}")
    return text.lower() or next(iter(words))


def _gpus(text: str) -> dict[str, int]:
    """Return ``2`` or ``a100:2`` of --gpus as generic resources."""
    parts = [part for part in text.split(",") if part]
    if not all(re.fullmatch(r"(?:.*:)?\d{1,9}", part) for part in parts):
        raise ValueError(f"must be GPUs such as 2 or a100:2, not {text!r}")
    return values.gres(",".join(f"gpu:{part}" for part in parts))


def _places(found: SbatchLine) -> dict[str, Any]:
    """Return nodes, features, licences and sharing, by the fields of a job."""
    given = found.given
    sharing = "shared" if "oversubscribe" in given else ""
    if "exclusive" in given:
        sharing = _EXCLUSIVE[_read(found, "exclusive", partial(_word, _EXCLUSIVE), "exclusive")]
    _read(found, "hint", lambda text: [_word(_HINTS, hint) for hint in re.split("[,;]", text)])
    switches, wait = _read(found, "switches", values.switches, (0, None))
    return {
        "features": given.get("constraint", ""),
        "preferred": given.get("prefer", ""),
        "licences": given.get("licenses", ""),
        "required": _read(found, "nodelist", values.host_list, ()),
        "excluded": _read(found, "exclude", values.host_list, ()),
        "sharing": sharing,
        "switches": switches,
        "switch_wait": wait,
    }


def _job_of(
    instance: Instance, found: SbatchLine, user: str
) -> tuple[Job, ArraySpec | None, tuple[str, ...]]:
    """Return the job of a line with its notes; errors are added to the problems."""
    given, site, now = found.given, site_of(instance), instance.now
    seen = _seen(instance, found, user)
    _check_names(instance, seen, site, found)
    begin = _read(found, "begin", lambda text: _instant(instance, text))
    unknown: list[str] = []
    rows = rows_of_instance(instance)
    own = rows.association(
        given.get("account", "") or _association(instance, user), user, seen.partitions[0]
    )
    if own and own.user and "defqos" in own.values:
        given.setdefault("qos", own.values["defqos"])
    project = project_of_new(instance, given, user, unknown)
    counted = _as_limited(instance, seen, project)
    most = rows.within_nodes(counted).size.max_nodes
    requested = requested_of(replace(seen, size=replace(seen.size, max_nodes=most)), site)
    omitted = [item.what for item in requested.omitted if not item.lifts]
    replaced = [item.what for item in requested.omitted if item.lifts]
    condition = _condition(instance, seen, omitted, found)
    deadline = _read(found, "deadline", lambda text: _instant(instance, text))
    reservation, closes = _reservation(instance, found, user, omitted)
    array = _read(found, "array", lambda text: _tasks(instance, text))
    if found.is_het:
        omitted.append(
            "the other components of the heterogeneous job: its first component is planned alone"
        )
    if "hold" in given or given.get("priority") == "0":
        omitted.append("--hold: it starts once it is released")
    job = Job(
        "asked", requested.slots, user=user or UNNAMED,
        queue=_queue_of(instance, seen.partitions, replaced), res_req=requested.res_req,
        run_limit=seen.limit if seen.limit is None else int(seen.limit),
        estimated_run_time=seen.min_limit,
        submit=now,
        begin=begin if begin is not None and begin > now else None,
        deadline=min((at for at in (deadline, closes) if at is not None), default=None),
        reservation=reservation,
        project=project,
        hosts=requested.hosts, exclusive=requested.exclusive, gpu=requested.gpu,
        name=given.get("job-name", ""), dependency=condition,
    )  # fmt: skip
    default, note = _priority_of(instance, found, seen.size, job)
    if "nice" in given and ("priority" in given or default == instance.params.default_priority):
        omitted.append(f"--nice ({given['nice'] or 100})")
    omitted += unknown
    others = [_submitted(instance, item) for item in instance.present_jobs]
    omitted += left_of_limits(instance, counted, project, others, len(array or "1"))
    job = replace(
        job,
        priority=_read(found, "priority", int, default),
        has_fixed_priority="priority" in given and instance.params.grows_priorities,
        unheeded=tuple(omitted),
        assumed=tuple(replaced),
    )
    return job, array, note if "priority" not in given else ()


def _seen(instance: Instance, found: SbatchLine, user: str) -> SlurmJob:
    """Return the request of a line as a record of Slurm; errors are added to the problems."""
    given = found.given
    partitions = tuple(filter(None, given.get("partition", "").split(",")))
    try:
        size = _size(found)
    except ValueError as error:
        found.problems.append(Problem(str(error), path="sbatch line"))
        size = SlurmJobSize()
    named = [(f"--{name}", given[name] or "set") for name in given if name in _NAMED]
    if "gpus-per-node" in given and any(map(is_gpu, values.gres(given.get("gres", "")))):
        named.append(("--gres", f"{given['gres']} with --gpus-per-node"))  # rejected from 26.05
    limit, least = _read(found, "time", _time_limit), _read(found, "time-min", values.clock_seconds)
    if least is not None and limit is not None and least > limit:
        found.complain("time-min", f"must be at most --time, not {given['time-min']!r}")
    longest = {
        queue.name: queue.run_limit_max if queue.active and queue.open else -1
        for queue in instance.queues
    }
    made = SlurmJob(
        "0", (), partitions=partitions or (instance.params.default_queue,), user=user, size=size,
        name=given.get("job-name", ""), limit=limit, min_limit=least,
        dependency=given.get("dependency", ""),
        named=tuple(named),
        **_places(found),
    )  # fmt: skip
    return in_taking(made, longest)


def _as_limited(instance: Instance, seen: SlurmJob, project: str) -> SlurmJob:
    """Return the job as limits count it: with the account and the QOS of its project, and the
    memory and the time limit that it gets.
    """
    size = with_default_memory(seen.size, seen.partitions, site_of(instance))
    queue = next((item for item in instance.queues if item.name == seen.partitions[0]), None)
    limit = seen.limit or (queue.run_limit if queue else None)  # without either MaxWall decides
    limit = math.inf if limit == NO_RUN_LIMIT else limit
    return _named_in(project, replace(seen, size=size, limit=limit))


def _named_in(project: str, seen: SlurmJob) -> SlurmJob:
    """Return a job with the account and the QOS of its project."""
    account, _, qos = project.partition("/")
    return replace(
        seen, qos="" if qos == "none" else qos, account="" if account == "default" else account
    )


def _submitted(instance: Instance, job: Job) -> SlurmJob:
    """Return a running or a pending job as a record with what says which limits count for it."""
    partitions = partitions_of(instance, job.queue)
    return _named_in(job.project or "", SlurmJob(job.id, (), partitions=partitions, user=job.user))


#: Number of slots of a host, and memory (MB) of a host or of a task, in a requirement.
_TILE = re.compile(r"ptile=(\d+)")
_MEMORY = re.compile(r"mem(?:>=|=)([\d.]+)(/task)?")


def limited(instance: Instance, job: Job, edited: Job) -> tuple[Job, str]:
    """Return a changed job of an sbatch line or of a listing, without the limits of each job that
    it no longer exceeds; and those that it alone exceeds, "" if there are none.
    """
    if not instance.params.select_parameters:
        return edited, ""
    before, after = (_exceeded(instance, item) for item in (job, edited))
    new = [text for text in after if text not in before]
    unsure = [text for text in new if not after[text]]
    job = replace_omitted(edited, before.keys() - after.keys(), unsure)
    return job, "; ".join(text for text in new if after[text])


def _exceeded(instance: Instance, job: Job) -> dict[str, bool]:
    """Return the limits of each job that a job in the form of the model exceeds, each with whether
    Slurm starts no such job.
    """
    seen = SlurmJob(
        job.id, (), partitions=partitions_of(instance, job.queue), user=job.user,
        limit=job.run_limit, size=_size_of(job), sharing="none" if job.exclusive else "",
    )  # fmt: skip
    seen = _as_limited(instance, seen, job.project or "")
    return dict(
        (*rows_of_instance(instance).exceeded(seen), *beyond_memory(seen, site_of(instance)))
    )


def _size_of(job: Job) -> SlurmJobSize:
    """Return what a job requests, in Slurm's words."""
    text = " ".join(job.res_req)
    tile, memory = _TILE.search(text), _MEMORY.search(text)
    amount, of_task = (float(memory[1]), bool(memory[2])) if memory else (None, False)
    gpus = gpu_request((job.gpu,)) if job.gpu else None
    held = {f"gpu:{gpus.model}".rstrip(":"): gpus.num} if gpus else {}
    of_job = gpus is not None and gpus.per == "job"
    nodes = -(-job.slots // int(tile[1])) if tile else 1
    return SlurmJobSize(
        cpus=job.slots, tasks=job.slots, nodes=nodes,
        max_nodes=nodes if tile or "hosts=1" in text else None,
        memory_per_cpu=amount if of_task else None, memory_per_node=None if of_task else amount,
        gres_per_job=held if of_job else {}, gres_per_node={} if of_job else held,
    )  # fmt: skip


def _check_names(instance: Instance, seen: SlurmJob, site: SlurmSite, found: SbatchLine) -> None:
    """Complain of nodes, features and licences that the cluster does not have, as sbatch does."""
    for option, names in (("nodelist", seen.required), ("exclude", seen.excluded)):
        for name in names:
            if name not in site.nodes:
                found.complain(option, f"unknown node {name!r}{nearest(name, site.nodes)}")
    if unknown := unknown_features(seen.features, site):
        found.complain("constraint", f"no node has the feature {unknown[0]!r}")
    size, known = seen.size, {item.name for item in instance.cluster.resources}
    if len(with_fewer_threads(size, site)) == len(site.nodes):
        found.complain("threads-per-core", f"no node has {size.threads} threads in a core")
    for name in (*size.gres_per_node, *size.gres_per_job, *size.gres_per_task):
        if not is_gpu(name) and gres_resource(name) not in known:
            found.complain("gres", f"no node has the generic resource {name!r}")
    licences = {item.name for item in instance.cluster.shared}
    for name, _ in licence_counts(seen.licences):
        if licence_name(name) not in licences:
            found.complain("licenses", f"unknown licence {name!r}")


def _priority_of(
    instance: Instance, found: SbatchLine, size: SlurmJobSize, job: Job
) -> tuple[int, tuple[str, ...]]:
    """Return the priority of a job that asks for none, and notes on it."""
    parts = size_and_partition(instance)
    request = None if parts is None else _requested(instance, parts, found, size, job)
    shares = None if request is None else fairshare_part(instance, job)
    if parts is None or request is None or shares is None:
        return instance.params.default_priority, lowest_priority(instance, "--priority")
    priority = parts.priority_of(request, shares)
    names = ["size", "partition"]
    names += [f"QOS {request.qos}"] if parts.qos_weight else []
    names += ["TRES"] if parts.tres_weights else []
    names += ["nice value"] if request.nice else []
    names += ["fairshare"] if instance.associations else []
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return priority, (f"it has priority {priority}, of its {listed}",)


def _requested(
    instance: Instance, parts: SizeAndPartition, found: SbatchLine, size: SlurmJobSize, job: Job
) -> PriorityRequest | None:
    """Return what the priority measures, None if something that counts is not known."""
    partition = partitions_of(instance, job.queue)[0]
    qos = found.given.get("qos", "normal")
    queues = [queue for queue in instance.queues if queue.name == partition]
    limit = job.run_limit or (queues[0].run_limit if queues else None)
    minutes = None if limit is None or limit == NO_RUN_LIMIT else limit // 60
    request = request_of(size, partition, minutes, qos, _read(found, "nice", _nice, 0))
    lacks_memory = "mem" in parts.tres_weights and not request.memory
    return None if lacks_memory or (parts.qos_weight and qos not in parts.qos) else request


def _nice(text: str) -> int:
    """Return a nice value, 100 if none is written."""
    if text and not re.fullmatch(r"-?\d{1,10}", text.strip()):
        raise ValueError(f"must be a whole number, not {text!r}")
    return int(text) if text else 100


def _queue_of(instance: Instance, partitions: tuple[str, ...], replaced: list[str]) -> str:
    """Return the queue of all partitions if there is one, else the first.

    With a note if it has the nodes of the first partition alone, as its pending jobs say.
    """
    name = SEVERAL.join(partitions)
    known = {queue.name for queue in instance.queues}
    is_first = name not in known or any(
        item.mark == "first partition" and name in item.queues for item in instance.omissions
    )
    if len(partitions) > 1 and is_first and partitions[0] in known:
        replaced.append(planned_in_first(partitions).what)
    return name if name in known else partitions[0]


def _reservation(
    instance: Instance, found: SbatchLine, user: str, omitted: list[str]
) -> tuple[str, int | None]:
    """Return the reservation of --reservation and its end, by which the job must end."""
    name = found.given.get("reservation", "")
    if not name:
        # The priority of jobs that are not planned is not known.
        named = (item for item in instance.omissions if item.mark == "reserved ahead")
        omitted += {item.what: 1 for item in named if not item.users or user in item.users}
        return "", None
    known = {item.name: item for item in instance.advance_reservations}
    if name in known and not known[name].windows:
        if "time" not in found.given or _time_limit(found.given["time"]) is None:
            omitted.append(f"--reservation ({name}) without --time: taken to end with it")
        return name, known[name].end
    if known and name not in known and "," not in name:
        found.complain("reservation", f"unknown reservation {name!r}{nearest(name, known)}")
    omitted.append(f"--reservation ({name})")
    return "", None


def _time_limit(text: str) -> int:
    """Return a time limit in seconds, in whole minutes; 0 is no limit, as UNLIMITED."""
    if text.strip().upper() in ("UNLIMITED", "INFINITE"):
        return NO_RUN_LIMIT
    return -(-values.clock_seconds(text) // 60) * 60 or NO_RUN_LIMIT


def _tasks(instance: Instance, text: str) -> ArraySpec:
    spec = parse_spec(text, first=0, largest=10**9)
    if spec.last >= instance.params.max_job_array_size:
        most = instance.params.max_job_array_size - 1
        raise ValueError(f"index {spec.last} must be at most {most} (MaxArraySize)")
    return spec


def _condition(instance: Instance, seen: SlurmJob, omitted: list[str], found: SbatchLine) -> str:
    """Return the dependency in the form of bsub -w, by the running and waiting jobs."""
    listed: dict[str, list[SlurmJob]] = {}
    for job in instance.present_jobs:
        number = job.array_id or job.id
        if number.isdigit():
            listed.setdefault(number, []).append(SlurmJob(number, (), name=job.name, user=job.user))
    for part in re.split(r"[,?]", seen.dependency):
        if part.strip().lower() in TESTS:
            found.complain("dependency", f"{part!r} names no job: give {part.strip()}:JOB")
    try:
        last = max((int(number) for number in listed), default=0) + 1
        return condition_of(replace(seen, id=str(last)), listed, omitted)
    except NeverSatisfied as error:
        found.complain("dependency", f"{error} can never hold")
        return ""


def _instant(instance: Instance, text: str) -> int:
    """Return the seconds from the origin of ``now+1hour``, ``16:00``, a date or
    ``2026-11-27T12:00``.
    """
    word = text.strip()
    if found := _IN_TIME.fullmatch(word):
        unit = (found[2] or "seconds")[:1].lower()
        if unit not in _SECONDS:
            raise ValueError(f"{text!r} is not a time such as now+1hour")
        return instance.now + int(found[1] or 0) * _SECONDS[unit]
    if instance.origin is None:
        raise ValueError("the instance has no date: give a time such as now+1hour")
    origin = datetime.fromisoformat(instance.origin)
    now = origin + timedelta(seconds=instance.now)
    if found := _CLOCK.fullmatch(word):
        hour = int(found[1]) % 12 + 12 * (found[4].upper() == "PM") if found[4] else int(found[1])
        found_at = now.replace(hour=hour, minute=int(found[2]), second=int(found[3] or 0))
        found_at += timedelta(days=found_at < now)
    else:
        try:
            found_at = datetime.fromisoformat(word)
        except ValueError:
            raise ValueError(
                f"{text!r} is not a time such as now+1hour, 16:00 or 2026-11-27T12:00"
            ) from None
        found_at = found_at.replace(tzinfo=found_at.tzinfo or origin.tzinfo)
    return int((found_at - origin).total_seconds())
