"""The resource requirement language: parse, print, merge, and evaluate against hosts.

    requirement = parse("select[mem>100] order[-slots] rusage[mem=50] span[ptile=2]")
    table = HostTable(cluster)
    hosts = order_hosts(requirement.order, table, select_mask(requirement.select, table))

The grammar library is loaded when the first string is parsed.
"""

from __future__ import annotations

from .errors import ResreqError
from .evaluate import order_hosts, same_classes, select_mask
from .levels import (
    Merged,
    RequirementMerging,
    combine,
    effective_requirement,
    merge_levels,
    requested,
    requirement_options,
    resolve_counts,
    slots_without_n,
)
from .parser import Parsed, parse, parse_with_notes
from .partly import heeded_part, readable
from .printer import print_expression, print_requirement
from .syntax import Compound, Options, Requirement, Simple, Term
from .vocabulary import HostTable, Vocabulary

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
