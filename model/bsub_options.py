"""The options of bsub (LSF 10.1 and its family): their values, and which of them affect a start.

Source: the synopsis of bsub in the command reference of LSF 10.1, for CORAL systems too.
"""

from __future__ import annotations

from .table_files import rows

_ROWS = list(rows(__package__, "bsub_options.tsv", 3))


def _words(kind: str) -> dict[str, str]:
    """Return the options of one kind, each with what the table says of it."""
    return {option: words for option, of, words in _ROWS if of == kind}


#: Options with a value that do not affect where and when a job starts.
QUIET_VALUES = frozenset(_words("quiet value"))
#: Options without a value that do not affect where and when a job starts.
QUIET_FLAGS = frozenset(_words("quiet flag"))
#: Options that are ignored, each with a reason of its own for the message.
NOTED = _words("noted")
#: Options that may change a start and that no method obeys, in words.
UNHEEDED = _words("unheeded")
#: Options with a time of day, in words; they are ignored if the date is unknown.
WITHOUT_DATE = _words("without date")
REFUSED = _words("refused")
#: Names of other schedulers, by the first word of their directives in a script.
OTHER_SCRIPTS = {"#SBATCH": "Slurm", "#PBS": "PBS", "#$": "Grid Engine", "#COBALT": "Cobalt"}
#: Long spellings of other programs, and the option of bsub for each. bsub itself reads an unknown
#: word as an option of one letter and its value: ``-queue`` is ``-q ueue``.
WRITTEN_OUT = _words("written out")
