"""The resource requirement language: parse, print, merge, and evaluate against hosts.

    requirement = parse("select[mem>100] order[-slots] rusage[mem=50] span[ptile=2]")
    table = HostTable(cluster)
    hosts = order_hosts(requirement.order, table, select_mask(requirement.select, table))

The grammar library is loaded when the first string is parsed.
"""

from __future__ import annotations

from .combine import Merged, combine
from .effective import (
    RequirementMerging,
    effective_requirement,
    requested,
    requirement_options,
    slots_without_n,
)
from .errors import ResreqError
from .evaluate import select_mask
from .levels import merge_levels, resolve_counts
from .options import Options
from .ordering import order_hosts, same_classes
from .parser import Parsed, parse, parse_with_notes
from .partly import heeded_part, readable
from .printer import print_expression, print_requirement
from .syntax import Compound, Requirement, Simple, Term
from .table import HostTable
from .vocabulary import Vocabulary

__all__ = [
    "Compound",
    "HostTable",
    "Merged",
    "Options",
    "Parsed",
    "Requirement",
    "RequirementMerging",
    "ResreqError",
    "Simple",
    "Term",
    "Vocabulary",
    "combine",
    "effective_requirement",
    "heeded_part",
    "merge_levels",
    "order_hosts",
    "parse",
    "parse_with_notes",
    "print_expression",
    "print_requirement",
    "readable",
    "requested",
    "requirement_options",
    "resolve_counts",
    "same_classes",
    "select_mask",
    "slots_without_n",
]
