"""Which tests run which lines, and runs of chosen tests: what `docs/make_mutants.py` stands on.

A mutant of a function's body meets a process that has collected all tests already: it forks, the
child gives the functions their new code and runs the tests chosen. What runs on import needs a new
process, a child of a server that has loaded the libraries but nothing of slotwise.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import importlib.util
import json
import multiprocessing
import os
import resource
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

#: A test that takes so many times longer than without the mutant, and seconds more, is endless;
#: other programs may want the processor, too.
PATIENCE = 50
MORE_SECONDS = 30.0
#: Exit codes of a child: a test was endless, all passed, one failed, this change needs an
#: import, these programs are at fault.
ENDLESS, PASSED, FAILED, IMPORT, BROKEN = 1, 10, 11, 12, 13
MEMORY = 8 << 30
LIBRARIES = ("pytest", "numpy", "hypothesis", "pydantic", "ortools.sat.python.cp_model", "pulp",
             "highspy", "lark", "yaml", "typer", "rich", "jsonschema", "coverage")  # fmt: skip
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:faulthandler",
           "--hypothesis-seed=0")  # fmt: skip
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload([name for name in LIBRARIES if importlib.util.find_spec(name)])


class _Recorder:
    """A pytest plugin: seconds (of the processor) and lines of each test that passes."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        begun = time.process_time()
        result = yield
        self.seconds[item.nodeid] = round(time.process_time() - begun, 3)
        self.coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.append(report.nodeid)


class _Chosen:
    """A pytest plugin: the given tests in the given order, each within its time."""

    def __init__(self, seconds: Mapping[str, float], kept: Path) -> None:
        self.seconds = seconds
        self.kept = kept

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = {item.nodeid: item for item in items}
        items[:] = [known[name] for name in self.seconds if name in known]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.kept.write_text(item.nodeid, encoding="utf-8")
        limit = MORE_SECONDS + PATIENCE * self.seconds[item.nodeid]
        with open(os.devnull, "w", encoding="utf-8") as sink:
            faulthandler.dump_traceback_later(limit, exit=True, file=sink)
            try:
                return (yield)
            finally:
                faulthandler.cancel_dump_traceback_later()


class _Waiting:
    """A pytest plugin: when tests are collected, runs those that are asked for in forks."""

    def __init__(self, asks: Connection, kept: Path, modules: Sequence[str]) -> None:
        self.asks = asks
        self.kept = kept
        self.modules = modules

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for module in self.modules:
            importlib.import_module(_name(module))
        gc.unfreeze()  # what tests/conftest.py hides: functions get new code by gc.get_objects
        known = {item.nodeid: item for item in session.items}
        self.asks.send(len(known))
        while (asked := self.asks.recv()) is not None:
            child = os.fork()
            if not child:
                code = BROKEN
                try:
                    code = self._run(session, known, *asked)
                except BaseException:
                    self.kept.write_text(traceback.format_exc(), encoding="utf-8")
                finally:
                    os._exit(code)
            self.asks.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        return True

    def _run(
        self,
        session: pytest.Session,
        known: Mapping[str, pytest.Item],
        module: str,
        changed: str,
        seconds: Mapping[str, float],
    ) -> int:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            _renew(module, changed)
        except ValueError:  # another set of free variables
            return IMPORT
        session.config.pluginmanager.register(_Chosen(seconds, self.kept))
        chosen = [known[name] for name in seconds]
        for item, after in zip(chosen, [*chosen[1:], None], strict=True):
            try:
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            except BaseException:  # a mutant may break anything, also what pytest does not catch
                return FAILED
            if session.testsfailed:
                return FAILED
        return PASSED


def _name(module: str) -> str:
    return "slotwise." + module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _renew(module: str, changed: str) -> None:
    """Give every function of a module that is loaded the code of the changed text."""
    codes: dict[tuple[str, int], CodeType] = {}
    waiting = [compile(changed, module, "exec")]
    while waiting:
        code = waiting.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        waiting += [item for item in code.co_consts if isinstance(item, CodeType)]
    for item in gc.get_objects():
        if isinstance(item, FunctionType) and item.__module__ == _name(module):
            place = item.__code__.co_qualname, item.__code__.co_firstlineno
            item.__code__ = codes.get(place, item.__code__)


def _enter(copy: Path) -> None:
    """From here on `slotwise` is the copy, in this process and in those it starts; no output."""
    os.chdir(copy)
    sys.path.insert(0, str(copy.parent))
    os.environ["PYTHONPATH"] = str(copy.parent)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    import slotwise

    assert slotwise.__file__ is not None
    assert Path(slotwise.__file__).parent.resolve() == copy.resolve(), "another slotwise was found"


def _options(copy: Path) -> list[str]:
    return [*OPTIONS, f"--basetemp={copy.parent / 'tmp'}"]


def _record(copy: Path, tests: str, modules: Sequence[str], output: Path) -> None:
    from coverage import Coverage

    rooms = [str(copy / name / "*") for name in ("model", "solver")]
    begun = Coverage(data_file=None, include=rooms)
    begun.start()
    _enter(copy)
    recorder = _Recorder(begun)
    with contextlib.suppress(SystemExit):
        pytest.main([*_options(copy), tests], plugins=[recorder])
    begun.stop()
    masks: dict[str, dict[str, int]] = {name: {} for name in recorder.seconds}
    for module in modules:
        lines = begun.get_data().contexts_by_lineno(str(copy / module))
        for line, contexts in lines.items():
            # What runs while tests are collected may serve each of them.
            for name in recorder.seconds if "" in contexts else contexts:
                masks[name][module] = masks[name].get(module, 0) | 1 << line
    found = {
        name: {"seconds": seconds, "lines": {m: hex(mask) for m, mask in masks[name].items()}}
        for name, seconds in recorder.seconds.items()
        if name not in recorder.failed
    }
    output.write_text(json.dumps(found), encoding="utf-8")


def recorded(copy: Path, tests: str, modules: Sequence[str], output: Path) -> Any:
    """Each test of a file, with its seconds and the lines of `modules` it runs, as bits."""
    child = SERVER.Process(target=_record, args=(copy, tests, modules, output))
    child.start()
    child.join()
    if not output.exists():
        raise SystemExit(f"the tests of {tests} cannot be recorded (exit {child.exitcode})")
    return json.loads(output.read_text(encoding="utf-8"))


def _try(copy: Path, seconds: Mapping[str, float], kept: Path) -> None:
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    files = list(dict.fromkeys(name.partition("::")[0] for name in seconds))
    try:
        _enter(copy)
        code = PASSED + pytest.main(
            ["-x", *_options(copy), *files], plugins=[_Chosen(seconds, kept)]
        )
    except BaseException:  # a mutant may break anything, also what pytest does not catch
        code = FAILED
    os._exit(code)


def _said(code: int) -> str:
    return {PASSED: "passed", ENDLESS: "timeout"}.get(code, "failed")


def outcome(copy: Path, seconds: Mapping[str, float]) -> tuple[str, str]:
    """Whether the tests, in this order, passed, failed or hung (timeout), and the last one run."""
    kept = copy.parent / "last-test"
    kept.write_text("collection", encoding="utf-8")
    child = SERVER.Process(target=_try, args=(copy, seconds, kept))
    child.start()
    child.join(120 + sum(MORE_SECONDS / 10 + PATIENCE * each for each in seconds.values()))
    code = ENDLESS if child.exitcode is None else child.exitcode
    if child.is_alive():
        child.kill()
        child.join()
    return _said(code), kept.read_text(encoding="utf-8")


def _wait(copy: Path, files: Sequence[str], modules: Sequence[str], asks: Connection) -> None:
    _enter(copy)
    waiting = _Waiting(asks, copy.parent / "last-test", modules)
    pytest.main([*_options(copy), *files], plugins=[waiting])


class Collected:
    """A process in which the tests of a copy, as it is now, are collected and wait."""

    def __init__(self, copy: Path, files: Sequence[str], modules: Sequence[str]) -> None:
        self.kept = copy.parent / "last-test"
        self.asks, theirs = SERVER.Pipe()
        SERVER.Process(target=_wait, args=(copy, files, modules, theirs), daemon=True).start()

    def wait(self) -> None:
        """Until they are collected."""
        self.asks.recv()

    def outcome(
        self, module: str, changed: str, seconds: Mapping[str, float]
    ) -> tuple[str, str] | None:
        """As outcome() has it, for a module whose changed text differs in functions only.

        None where functions that are there cannot be given their new code.
        """
        self.asks.send((module, changed, seconds))
        code = self.asks.recv()
        if code == BROKEN:
            raise SystemExit(self.kept.read_text(encoding="utf-8"))
        return None if code == IMPORT else _said(code), self.kept.read_text(encoding="utf-8")
