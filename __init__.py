"""Slotwise: when will each pending job start, where, is it provably the earliest, why not sooner?

>>> import slotwise as sw
>>> problem = sw.load(sw.example("headline"))
>>> sw.plan(problem)["job5"].start
10800
"""

from __future__ import annotations

#: As typing has it, whose loading would cost the command a tenth of its start.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from .instances import example, examples
    from .library import (
        ask,
        compare,
        diagnose,
        explain,
        forecast,
        plan,
        simulate,
        sweep,
        validate,
        whatif,
    )
    from .model.changes import (
        Change,
        EarlyEnd,
        HostStatus,
        Kill,
        LoadReport,
        Modification,
        Moved,
        NewJob,
        QueueSwitch,
        Release,
        Resize,
    )
    from .model.cluster import (
        Cluster,
        ComputeUnit,
        Gpus,
        Host,
        HostGroup,
        ResourceDefinition,
        SharedResource,
        Thresholds,
    )
    from .model.errors import InputError, Problem, SlotwiseError, UnknownNameError
    from .model.formats import dump, dump_json, from_document, load, loads, to_document
    from .model.formats.changes import dump_changes, load_changes
    from .model.formats.in_memory import check, instance
    from .model.instance import (
        AdvanceReservation,
        BorrowedSlots,
        HeldHosts,
        Instance,
        PoolUsage,
        SaidByLsf,
        ShareUsage,
    )
    from .model.job import Application, HostRequest, Job, RunningJob
    from .model.limits import Limit, ReservationUsage, Scope
    from .model.objective import ObjectiveName
    from .model.params import Params
    from .model.plan import (
        Method,
        Plan,
        PlanChange,
        PlannedArray,
        PlannedJob,
        Status,
        Unplaced,
    )
    from .model.progress import OnProgress, Progress
    from .model.queue import Queue
    from .model.user import HostPartition, User, UserGroup
    from .solver.advice.ask import Answer, Choice, Choices
    from .solver.advice.compare import Comparison
    from .solver.advice.compared_job import ComparedJob
    from .solver.advice.diagnosis.records import (
        Diagnosis,
        Remedy,
        RemedyCost,
        WaitChange,
        WaitingJob,
    )
    from .solver.advice.explain import Explanation
    from .solver.advice.likely import Drawing, Likely
    from .solver.advice.obstacles import Obstacle
    from .solver.advice.suggestions import Suggestion
    from .solver.advice.what_if import Outlook
    from .solver.forecast.forecast import Forecasts
    from .solver.forecast.history import History, read_history
    from .solver.loop.metrics import LoopMetrics, measure
    from .solver.loop.records import JobRecord, Simulation
    from .solver.methods.registry import Reservation
    from .solver.planner.planner import Planner
    from .solver.studies.resample import Difference
    from .solver.studies.sweep import Sweep
    from .solver.studies.whatif import ComparedVariant, GroupChange, WhatIf
    from .solver.validate import Violation

__version__ = "0.2.0"

#: Where each public name lives; imported on first use, so that starting the command stays quick.
_HOMES = {
    "AdvanceReservation": "model.instance",
    "Answer": "solver.advice.ask",
    "Application": "model.job",
    "Change": "model.changes",
    "Choice": "solver.advice.ask",
    "Choices": "solver.advice.ask",
    "Cluster": "model.cluster",
    "ComparedJob": "solver.advice.compared_job",
    "ComparedVariant": "solver.studies.whatif",
    "Comparison": "solver.advice.compare",
    "ComputeUnit": "model.cluster",
    "Diagnosis": "solver.advice.diagnosis.records",
    "Difference": "solver.studies.resample",
    "Drawing": "solver.advice.likely",
    "EarlyEnd": "model.changes",
    "Explanation": "solver.advice.explain",
    "Forecasts": "solver.forecast.forecast",
    "Gpus": "model.cluster",
    "GroupChange": "solver.studies.whatif",
    "History": "solver.forecast.history",
    "Host": "model.cluster",
    "HostGroup": "model.cluster",
    "HostPartition": "model.user",
    "HostRequest": "model.job",
    "HostStatus": "model.changes",
    "InputError": "model.errors",
    "Instance": "model.instance",
    "Job": "model.job",
    "JobRecord": "solver.loop.records",
    "Kill": "model.changes",
    "Likely": "solver.advice.likely",
    "Limit": "model.limits",
    "LoadReport": "model.changes",
    "LoopMetrics": "solver.loop.metrics",
    "Method": "model.plan",
    "Modification": "model.changes",
    "Moved": "model.changes",
    "NewJob": "model.changes",
    "ObjectiveName": "model.objective",
    "Obstacle": "solver.advice.obstacles",
    "OnProgress": "model.progress",
    "Outlook": "solver.advice.what_if",
    "Params": "model.params",
    "Plan": "model.plan",
    "PlanChange": "model.plan",
    "PlannedArray": "model.plan",
    "PlannedJob": "model.plan",
    "Planner": "solver.planner.planner",
    "PoolUsage": "model.instance",
    "HeldHosts": "model.instance",
    "SaidByLsf": "model.instance",
    "BorrowedSlots": "model.instance",
    "Problem": "model.errors",
    "Progress": "model.progress",
    "Queue": "model.queue",
    "QueueSwitch": "model.changes",
    "Release": "model.changes",
    "Remedy": "solver.advice.diagnosis.records",
    "RemedyCost": "solver.advice.diagnosis.records",
    "Reservation": "solver.methods.registry",
    "ReservationUsage": "model.limits",
    "Resize": "model.changes",
    "ResourceDefinition": "model.cluster",
    "RunningJob": "model.job",
    "Scope": "model.limits",
    "ShareUsage": "model.instance",
    "SharedResource": "model.cluster",
    "Simulation": "solver.loop.records",
    "SlotwiseError": "model.errors",
    "Status": "model.plan",
    "Suggestion": "solver.advice.suggestions",
    "Sweep": "solver.studies.sweep",
    "Thresholds": "model.cluster",
    "UnknownNameError": "model.errors",
    "Unplaced": "model.plan",
    "User": "model.user",
    "UserGroup": "model.user",
    "Violation": "solver.validate",
    "WaitChange": "solver.advice.diagnosis.records",
    "WaitingJob": "solver.advice.diagnosis.records",
    "WhatIf": "solver.studies.whatif",
    "ask": "library",
    "check": "model.formats.in_memory",
    "compare": "library",
    "diagnose": "library",
    "dump": "model.formats",
    "dump_changes": "model.formats.changes",
    "dump_json": "model.formats",
    "example": "instances",
    "examples": "instances",
    "explain": "library",
    "forecast": "library",
    "from_document": "model.formats",
    "instance": "model.formats.in_memory",
    "load": "model.formats",
    "load_changes": "model.formats.changes",
    "loads": "model.formats",
    "measure": "solver.loop.metrics",
    "plan": "library",
    "read_history": "solver.forecast.history",
    "simulate": "library",
    "sweep": "library",
    "to_document": "model.formats",
    "validate": "library",
    "whatif": "library",
}

__all__ = [
    "AdvanceReservation",
    "Answer",
    "Application",
    "BorrowedSlots",
    "Change",
    "Choice",
    "Choices",
    "Cluster",
    "ComparedJob",
    "ComparedVariant",
    "Comparison",
    "ComputeUnit",
    "Diagnosis",
    "Difference",
    "Drawing",
    "EarlyEnd",
    "Explanation",
    "Forecasts",
    "Gpus",
    "GroupChange",
    "HeldHosts",
    "History",
    "Host",
    "HostGroup",
    "HostPartition",
    "HostRequest",
    "HostStatus",
    "InputError",
    "Instance",
    "Job",
    "JobRecord",
    "Kill",
    "Likely",
    "Limit",
    "LoadReport",
    "LoopMetrics",
    "Method",
    "Modification",
    "Moved",
    "NewJob",
    "ObjectiveName",
    "Obstacle",
    "OnProgress",
    "Outlook",
    "Params",
    "Plan",
    "PlanChange",
    "PlannedArray",
    "PlannedJob",
    "Planner",
    "PoolUsage",
    "Problem",
    "Progress",
    "Queue",
    "QueueSwitch",
    "Release",
    "Remedy",
    "RemedyCost",
    "Reservation",
    "ReservationUsage",
    "Resize",
    "ResourceDefinition",
    "RunningJob",
    "SaidByLsf",
    "Scope",
    "ShareUsage",
    "SharedResource",
    "Simulation",
    "SlotwiseError",
    "Status",
    "Suggestion",
    "Sweep",
    "Thresholds",
    "UnknownNameError",
    "Unplaced",
    "User",
    "UserGroup",
    "Violation",
    "WaitChange",
    "WaitingJob",
    "WhatIf",
    "__version__",
    "ask",
    "check",
    "compare",
    "diagnose",
    "dump",
    "dump_changes",
    "dump_json",
    "example",
    "examples",
    "explain",
    "forecast",
    "from_document",
    "instance",
    "load",
    "load_changes",
    "loads",
    "measure",
    "plan",
    "read_history",
    "simulate",
    "sweep",
    "to_document",
    "validate",
    "whatif",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'slotwise' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
