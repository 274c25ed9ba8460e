"""GPU request of a job, merged from -gpu, GPU_REQ of its application and queue and LSB_GPU_REQ.

A job needs GPUs if -gpu, its application, its queue or its rusage requests them. LSB_GPU_REQ only
gives defaults for options that these do not set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .cluster import Gpus
from .errors import InputError, Problem, nearest

#: The numeric resource that counts GPUs.
PHYSICAL = "ngpus_physical"
#: Resources of former versions that count GPUs in a mode.
OLD_EXCLUSIVE = frozenset({"ngpus_excl_p", "ngpus_excl_t"})
GPU_NAMES = frozenset({PHYSICAL, "ngpus", "ngpus_shared"}) | OLD_EXCLUSIVE
#: Names in a requirement that refer to GPUs.
GPUS_NAMED = re.compile(r"\b(?:ngpus(?:_\w+)?|gpu_\w+)\b")
#: The request "-gpu -": the options of application, queue and cluster, else one shared GPU.
NOTHING_OF_ITS_OWN = "-"
#: Options of LSB_GPU_NEW_SYNTAX=Y; all further options need LSB_GPU_NEW_SYNTAX=extend.
_PLAIN = frozenset({"num", "mode", "mps", "j_exclusive"})
#: Tolerance in GB: reported memory is a little less than in the name (31.7G of 32G, 11.2G of 12G).
_NEAR = 0.1
_MB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3, "E": 1024.0**4}
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([KMGTPE]?)B?", re.I)
#: Constraints of 10.1 after ngpus_physical in rusage[], and gtile of span[].
_CONSTRAINT = re.compile(
    r":\s*(?P<name>gmodel|gmem|gvendor|glink|nvlink|mig)\s*=\s*(?P<value>[^:,\[\]|\s]+)"
)
_TILE = re.compile(r"span\[\s*(?P<name>gtile)\s*=\s*(?P<value>[^:,\[\]\s]+)\s*\]")


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """The GPU request of one job."""

    #: Number of GPUs on each host, or for each task if `per` is ``task``.
    num: int = 1
    #: ``host``, ``task`` or ``job`` (--gpus of a job of Slurm on one host); "": the unit in
    #: which the cluster counts amounts.
    per: str = ""
    #: Whether other jobs may use its GPUs.
    shares: bool = True
    #: Model name or a part of it, "" if any.
    model: str = ""
    #: Memory in MB of a GPU of the requested model, None if any.
    model_mem: float | None = None
    #: Memory in MB that the job needs on each GPU.
    mem: float | None = None
    #: Vendor: ``nvidia``, ``amd``, or "" if any.
    vendor: str = ""
    #: Options that affect a start and that no method obeys.
    unheeded: tuple[str, ...] = ()
    #: Whether the mode is exclusive_process.
    process: bool = False
    #: The mps option as written.
    mps: str = "no"

    @property
    def chooses(self) -> bool:
        """Return whether the request restricts the kind of GPU."""
        return bool(self.model or self.vendor or self.mem is not None)

    def kind_options(self) -> tuple[str, ...]:
        """Return the options that restrict the kind of GPU, as in -gpu."""
        size = "" if self.model_mem is None else f"-{_text(self.model_mem)}"
        found = {
            "gmodel": self.model and f"{self.model}{size}",
            "gmem": "" if self.mem is None else _text(self.mem),
            "gvendor": self.vendor,
        }
        return (*(f"{name}={text}" for name, text in found.items() if text), *self.unheeded)

    def wanted(self) -> str:
        """Return the kind of GPU in words: ``A100 GPUs with 16G``."""
        size = f" of {_text(self.model_mem)}" if self.model_mem is not None else ""
        mem = f" with {_text(self.mem)} of memory" if self.mem is not None else ""
        return " ".join(filter(None, (self.vendor, self.model, "GPUs"))) + size + mem

    def suited(self, gpus: Gpus) -> bool | None:
        """Return whether GPUs match the request; None if too little is known of them."""
        answers = (
            _model_suits(self.model, gpus.model),
            _is_about(self.model_mem, gpus.mem),
            None if self.mem and gpus.mem is None else (gpus.mem or 0.0) >= (self.mem or 0.0),
            _vendor_suits(self.vendor, gpus.model),
        )
        return False if False in answers else None if None in answers else True


def gpu_request(
    levels: Sequence[str], *, cluster: str = "", unit: str = "MB", separately: bool = True
) -> GpuRequest:
    """Return the merged request of the levels: job, application, queue; "" requests nothing.

    cluster: LSB_GPU_REQ, the last level. unit: LSF_UNIT_FOR_LIMITS. separately: each option comes
    from the first level that has it; otherwise the first level counts as a whole. Raises InputError
    for a text that is not a GPU requirement.
    """
    told = [text for text in (*levels, cluster) if text.strip() not in ("", NOTHING_OF_ITS_OWN)]
    return _request(tuple(told if separately else told[:1]), unit)


@lru_cache(maxsize=4096)
def _request(levels: tuple[str, ...], unit: str) -> GpuRequest:
    found: dict[str, str] = {}
    for text in reversed(levels):
        found |= gpu_options(text)
    number, _, per = found.get("num", "1").partition("/")
    name, _, card = re.sub("[#-]", "#", found.get("gmodel", "")).partition("#")
    mps = found.get("mps", "no")
    process = found.get("mode") == "exclusive_process"
    exclusive = process or found.get("j_exclusive") == "yes"
    return GpuRequest(
        num=int(number),
        per=per,
        shares=not exclusive or ",share" in mps,
        model=name,
        model_mem=_size(card, "MB") if card else None,
        mem=_size(found["gmem"], unit) if "gmem" in found else None,
        vendor=found.get("gvendor", ""),
        unheeded=tuple(
            f"{key}={found[key]}"
            for key in ("gtile", "glink", "nvlink", "mig")
            if found.get(key, "no") != "no"
        ),
        process=process,
        mps=mps,
    )


def gpu_options(text: str, syntax: str = "") -> dict[str, str]:
    """Return the options of a text such as ``num=2:mode=shared`` by name, as written.

    syntax: LSB_GPU_NEW_SYNTAX, "" if Slurm's num=2/job is known too. Raises InputError with one
    problem for each invalid option.
    """
    found: dict[str, str] = {}
    wrong: list[str] = []
    for part in filter(None, (piece.strip() for piece in text.strip("\"' ").split(":"))):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        value = value.strip("'\"")
        if not sign or key not in _OPTIONS:
            wrong.append(f"unknown option {part!r} of -gpu{nearest(key, _OPTIONS)}")
        elif not _OPTIONS[key][0](value) and (syntax or not _PER_JOB(part)):
            wrong.append(f"-gpu {part}: {key} must be {_OPTIONS[key][1]}")
        elif key in found and found[key] != value:
            wrong.append(f"-gpu gives {key} twice")
        elif syntax == "Y" and key not in _PLAIN:
            wrong.append(f"-gpu {part}: {key} needs LSB_GPU_NEW_SYNTAX=extend")
        found[key] = value
    if syntax == "N":
        wrong = ["-gpu needs LSB_GPU_NEW_SYNTAX=extend"]
    if wrong:
        raise InputError([Problem(message, path="gpu") for message in wrong])
    return found


def with_gpu_constraints(texts: Sequence[str], gpu: str) -> tuple[tuple[str, ...], str]:
    """Move constraints on ngpus_physical (``:gmodel=K80#12G``) from -R to -gpu; return both.

    A text with alternatives or terms stays unchanged, because each may have other constraints.
    """
    found: dict[str, str] = {}

    def taken(match: re.Match[str]) -> str:
        found[match["name"]] = match["value"]
        return ""

    plain = tuple(
        text
        if "{" in text or "||" in text or "ngpus" not in text
        else _TILE.sub(taken, _CONSTRAINT.sub(taken, text))
        for text in texts
    )
    if not found:
        return tuple(texts), gpu
    own = [gpu] if gpu.strip() not in ("", NOTHING_OF_ITS_OWN) else []
    said = [f"{name}={value}" for name, value in found.items() if f"{name}=" not in gpu]
    return tuple(filter(None, map(str.strip, plain))), ":".join([*own, *said]) or gpu


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda value: re.fullmatch(pattern, value, re.I) is not None


_PER_JOB = _matches(r"num=0*[1-9]\d{0,5}/job")
_YES_NO = (_matches("yes|no"), "yes or no")
_SHARING = "(,(shared?|nocvd))*"
#: Check and expected value of each option.
_OPTIONS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "num": (_matches(r"0*[1-9]\d{0,5}(/(task|host))?"), "a number such as 2, 2/task or 2/host"),
    "mode": (_matches("shared|exclusive_process"), "shared or exclusive_process"),
    "mps": (
        _matches(f"no|(yes|per_socket|per_gpu){_SHARING}"),
        "no, yes, per_socket or per_gpu, with ,shared and ,nocvd behind it",
    ),
    "j_exclusive": _YES_NO,
    "aff": _YES_NO,
    "block": _YES_NO,
    "gpack": _YES_NO,
    "glink": _YES_NO,
    "nvlink": _YES_NO,
    "gvendor": (_matches("amd|nvidia"), "amd or nvidia"),
    "gmodel": (_matches(rf"[\w.+]+([#-]{_SIZE.pattern})?"), "a model such as K80 or K80-12G"),
    "gmem": (lambda value: _SIZE.fullmatch(value) is not None, "a size such as 16G or 16000"),
    "gtile": (_matches(r"!|0*[1-9]\d{0,5}"), "a number or '!'"),
    "mig": (_matches(r"\d+(/\d+)?"), "a size such as 3 or 3/2"),
}


def _size(text: str, unit: str) -> float:
    match = _SIZE.fullmatch(text)
    assert match is not None  # The table of options has checked the text before.
    return float(match[1]) * _MB[(match[2] or unit[0]).upper()]


def _text(megabytes: float | None) -> str:
    size = megabytes or 0.0
    return f"{size / 1024:g}G" if size >= 1024 and size % 256 == 0 else f"{size:g}M"


def plain_model(name: str) -> str:
    """Return a model name in LSF's form: without blanks, ``_`` for slash and hyphen."""
    return re.sub("[/-]", "_", re.sub(r"\s", "", name))


def _model_suits(asked: str, model: str) -> bool | None:
    """Return whether brand, model or whole name match: ``K80`` and ``Tesla`` match TeslaK80.

    Numbers must match in full: A10 is no A100, though H100 is an H10080GBHBM3 (of 80 GB).
    """
    if not asked:
        return True
    if not model:
        return None
    end = r"(?!\d)|(?=[1-9]\d*GB)" if asked[-1].isdigit() else ""
    pattern = f"{re.escape(plain_model(asked))}(?:{end})"
    return re.search(pattern, plain_model(model), re.I) is not None


def _is_about(asked: float | None, mem: float | None) -> bool | None:
    if asked is None:
        return True
    return None if mem is None else abs(mem - asked) <= _NEAR * asked


def _vendor_suits(asked: str, model: str) -> bool | None:
    if not asked:
        return True
    if not model:
        return None
    amd = re.search(r"radeon|vega|instinct|amd|\bMI\d", model, re.I) is not None
    return amd == (asked.lower() == "amd")
