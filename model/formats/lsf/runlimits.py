"""Run limits: ``[default] maximum``, each perhaps on a host or model (``60/hostA``)."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import nearest
from ..units import MINUTE, format_duration, parse_duration
from .cluster import Machine
from .notes import Notes
from .sections import LsfEntry
from .source import Value


class RunLimits:
    """Brings limits to wall-clock time where the CPU factors of the hosts allow it.

    A limit of n minutes on hostA is n * factor(hostA) / factor(host) minutes on the host that runs
    the job. Where all hosts have one factor this is one number; where they differ, or a host's
    model is not known (``!``), it is not, and the limit is taken as it stands, with a note.
    ABS_RUNLIMIT = Y: limits are wall-clock time.
    """

    def __init__(
        self,
        machines: Mapping[str, Machine],
        factors: Mapping[str, float],
        params: LsfEntry | None,
        notes: Notes,
    ) -> None:
        self._factors = {**factors, **{name: m.factor for name, m in machines.items()}}
        self._running = {
            None if machine.model == "any" else machine.factor for machine in machines.values()
        }
        absolute = params.text("ABS_RUNLIMIT") if params else ""
        self._absolute = absolute.upper() in ("Y", "YES")
        self._default = params.text("DEFAULT_HOST_SPEC") if params else ""
        self._notes = notes

    def text(self, value: Value, entry: LsfEntry, where: str) -> str:
        """The limit as the document takes it. ValueError for a host that is not there."""
        spec = entry.text("DEFAULT_HOST_SPEC") or self._default
        return " ".join(self._one(word, spec, where) for word in value.text.split())

    def _one(self, word: str, default: str, where: str) -> str:
        limit, slash, spec = word.partition("/")
        if slash and spec not in self._factors:
            hint = nearest(spec, self._factors)
            raise ValueError(f"unknown host or model {spec!r}{hint} behind the limit {limit}")
        spec = spec or default
        if self._absolute or limit == "-":
            return limit
        if not spec and self._running <= {None}:
            return limit  # nobody says anything of factors
        if len(self._running) > 1 or None in self._running:
            self._notes.may_differ(
                "CPU factors",
                "run limits count on one host and are longer or shorter on others; here they are "
                "wall-clock time",
                where,
            )
            return limit
        common = next(iter(self._running), None) or 1.0
        ratio = self._factors.get(spec, common) / common if spec else 1.0
        if ratio == 1.0:
            return limit
        return format_duration(max(1, round(parse_duration(limit, MINUTE) * ratio)))
