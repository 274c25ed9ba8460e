"""Slotwise: when will each pending job start, where, is it provably the earliest, why not sooner?

>>> import slotwise as sw
>>> problem = sw.load(sw.example("headline"))
>>> sw.plan(problem)["job5"].start
10800
"""

#: As typing has it, whose loading would cost the command a tenth of its start.
TYPE_CHECKING = False

#: Every public name and where it lives, once: a type checker reads these imports, and at run time
#: a name is imported on first use, so that starting the command stays quick.
if TYPE_CHECKING:
    from typing import Any

    from .instances import example as example
    from .instances import examples as examples
    from .library import ask as ask
    from .library import backtest as backtest
    from .library import compare as compare
    from .library import diagnose as diagnose
    from .library import explain as explain
    from .library import forecast as forecast
    from .library import outlook as outlook
    from .library import plan as plan
    from .library import read_log as read_log
    from .library import replay as replay
    from .library import simulate as simulate
    from .library import slots as slots
    from .library import sweep as sweep
    from .library import validate as validate
    from .library import whatif as whatif
    from .model.changes import Change as Change
    from .model.changes import EarlyEnd as EarlyEnd
    from .model.changes import HostStatus as HostStatus
    from .model.changes import Kill as Kill
    from .model.changes import LoadReport as LoadReport
    from .model.changes import Modification as Modification
    from .model.changes import Moved as Moved
    from .model.changes import NewJob as NewJob
    from .model.changes import QueueSwitch as QueueSwitch
    from .model.changes import Release as Release
    from .model.changes import Resize as Resize
    from .model.cluster import Cluster as Cluster
    from .model.cluster import ComputeUnit as ComputeUnit
    from .model.cluster import Gpus as Gpus
    from .model.cluster import Host as Host
    from .model.cluster import HostGroup as HostGroup
    from .model.cluster import ResourceDefinition as ResourceDefinition
    from .model.cluster import SharedResource as SharedResource
    from .model.cluster import Thresholds as Thresholds
    from .model.configuration import HostPartition as HostPartition
    from .model.configuration import Limit as Limit
    from .model.configuration import Params as Params
    from .model.configuration import Queue as Queue
    from .model.configuration import ReservationUsage as ReservationUsage
    from .model.configuration import Scope as Scope
    from .model.configuration import User as User
    from .model.configuration import UserGroup as UserGroup
    from .model.errors import InputError as InputError
    from .model.errors import Problem as Problem
    from .model.errors import SlotwiseError as SlotwiseError
    from .model.errors import UnknownNameError as UnknownNameError
    from .model.formats import dump as dump
    from .model.formats import dump_json as dump_json
    from .model.formats import from_document as from_document
    from .model.formats import load as load
    from .model.formats import loads as loads
    from .model.formats import to_document as to_document
    from .model.formats.changes import dump_changes as dump_changes
    from .model.formats.changes import load_changes as load_changes
    from .model.formats.objects import check as check
    from .model.formats.objects import instance as instance
    from .model.instance import AdvanceReservation as AdvanceReservation
    from .model.instance import BorrowedSlots as BorrowedSlots
    from .model.instance import HeldHosts as HeldHosts
    from .model.instance import Instance as Instance
    from .model.instance import PoolUsage as PoolUsage
    from .model.instance import SaidByLsf as SaidByLsf
    from .model.instance import ShareUsage as ShareUsage
    from .model.job import Application as Application
    from .model.job import HostRequest as HostRequest
    from .model.job import Job as Job
    from .model.job import RunningJob as RunningJob
    from .model.objective import ObjectiveName as ObjectiveName
    from .model.plan import Method as Method
    from .model.plan import Plan as Plan
    from .model.plan import PlanChange as PlanChange
    from .model.plan import PlannedArray as PlannedArray
    from .model.plan import PlannedJob as PlannedJob
    from .model.plan import Status as Status
    from .model.plan import Unplaced as Unplaced
    from .model.progress import OnProgress as OnProgress
    from .model.progress import Progress as Progress
    from .solver.advice.ask import Answer as Answer
    from .solver.advice.ask import Choice as Choice
    from .solver.advice.ask import Choices as Choices
    from .solver.advice.comparison import ComparedJob as ComparedJob
    from .solver.advice.comparison import Comparison as Comparison
    from .solver.advice.diagnosis.records import Diagnosis as Diagnosis
    from .solver.advice.diagnosis.records import Remedy as Remedy
    from .solver.advice.diagnosis.records import RemedyCost as RemedyCost
    from .solver.advice.diagnosis.records import WaitChange as WaitChange
    from .solver.advice.diagnosis.records import WaitingJob as WaitingJob
    from .solver.advice.explain import Explanation as Explanation
    from .solver.advice.explain import Obstacle as Obstacle
    from .solver.advice.likely import Drawing as Drawing
    from .solver.advice.likely import Likely as Likely
    from .solver.advice.likely import StartQuantiles as StartQuantiles
    from .solver.advice.slots import FreeSlots as FreeSlots
    from .solver.advice.slots import Slots as Slots
    from .solver.advice.slots import SlotsRow as SlotsRow
    from .solver.advice.suggestions import Suggestion as Suggestion
    from .solver.advice.what_if import StartAnswer as StartAnswer
    from .solver.forecast.forecast import Calibration as Calibration
    from .solver.forecast.forecast import Forecasts as Forecasts
    from .solver.forecast.history import History as History
    from .solver.forecast.history import read_history as read_history
    from .solver.forecast.logs import Backtest as Backtest
    from .solver.forecast.logs import RecordedLog as RecordedLog
    from .solver.outlook.outlook import JobOutlook as JobOutlook
    from .solver.outlook.outlook import Outlook as Outlook
    from .solver.planner.planner import Planner as Planner
    from .solver.replay.policies import QueuePolicy as QueuePolicy
    from .solver.replay.policies import QueueView as QueueView
    from .solver.replay.session import ReplayComparison as ReplayComparison
    from .solver.replay.session import ReplayResult as ReplayResult
    from .solver.scheduler.methods import Reservation as Reservation
    from .solver.scheduler.metrics import LoopMetrics as LoopMetrics
    from .solver.scheduler.metrics import measure as measure
    from .solver.scheduler.records import JobRecord as JobRecord
    from .solver.scheduler.records import Simulation as Simulation
    from .solver.studies.sweep import Sweep as Sweep
    from .solver.studies.whatif import ComparedVariant as ComparedVariant
    from .solver.studies.whatif import Difference as Difference
    from .solver.studies.whatif import GroupChange as GroupChange
    from .solver.studies.whatif import WhatIf as WhatIf
    from .solver.validate import Violation as Violation

__version__ = "0.2.0"

#: The core of the library: what a program needs to read a cluster or a log, to ask about it and to
#: catch errors. It is all that ``from slotwise import *`` gives. The classes of clusters, jobs and
#: answers are reached by name, as ``slotwise.Host``.
_CORE = (
    *("load", "loads", "dump", "instance", "example", "Instance", "Job"),
    *("plan", "compare", "outlook", "explain", "ask", "diagnose", "validate"),
    *("forecast", "Calibration", "simulate", "whatif", "sweep", "Planner"),
    *("read_log", "replay", "backtest", "QueuePolicy", "SlotwiseError", "InputError"),
)


#: Result of :func:`_homes`, computed at its first call; {} before.
_HOMES: dict[str, str] = {}


# The command loads this file while the current folder may still stand on Python's path, so nothing
# is imported here that Python has not loaded itself.
def _homes() -> dict[str, str]:
    """Return the module of each public name, by the imports above."""
    if _HOMES:
        return _HOMES
    import ast
    from pathlib import Path

    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    block = next(item for item in tree.body if isinstance(item, ast.If))
    _HOMES.update(
        (alias.name, item.module or "")
        for item in block.body
        if isinstance(item, ast.ImportFrom) and item.level
        for alias in item.names
    )
    return _HOMES


def __getattr__(name: str) -> "Any":
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'slotwise' has no attribute {name!r}")
    from importlib import import_module

    homes = _homes()
    if name == "__all__":
        return ["__version__", *sorted(_CORE)]
    if name not in homes:
        raise AttributeError(f"module 'slotwise' has no attribute {name!r}")
    value = getattr(import_module(f".{homes[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_homes()])
