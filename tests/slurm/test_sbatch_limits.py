"""Limits of QOS and accounts for the job of an sbatch line."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from slotwise.model.configuration import Limit, Scope
from submitted import submission

from tests.slurm.test_import import instance_of, texts_of

pytestmark = pytest.mark.behaviour("SLU-03")
#: One job of each user at a time, and 2 CPUs of each user.
LIMITS = {"normal": {"jobs": 1.0}, "high": {"slots": 2.0}}


def _limited(projects: dict[str, str], *, by_qos: bool = True) -> sw.Instance:
    """The recorded cluster; projects: of its pending jobs by user, the other jobs have none."""
    found = instance_of(texts_of("probes"))
    each = Scope(("all",), each=True)
    limits = tuple(
        Limit(f"qos_{name}_user", amounts, users=each,
              projects=Scope((f"a/{name}" if by_qos else name,)))
        for name, amounts in LIMITS.items()
    )  # fmt: skip
    pending = tuple(
        replace(job, id=user, user=user, project=project)
        for job, (user, project) in zip(found.pending, projects.items(), strict=False)
    )
    return replace(found, limits=limits, pending=pending, running=(), omissions=())


def _asked(instance: sw.Instance, options: str, user: str) -> tuple[str, tuple[str, ...]]:
    job = submission(instance, f"sbatch -n1 --mem=5 -t 5 {options}", user=user).job
    return job.project, job.unheeded


JOBS = {"ann": "a/normal", "bob": "b/high"}


@pytest.mark.parametrize(
    ("options", "user", "project", "told"),
    [
        ("-A a -q normal", "ann", "a/normal", []),
        ("-A a -q high", "ann", "a/high", []),
        ("-A b -q high", "bob", "b/high", ["limits of --account b --qos high"]),
        ("-A a", "ann", "a/normal", ["limits of its qos (--qos is not given, treated as normal)"]),
        ("", "ann", "a/normal", [
            "limits of its account (--account is not given, treated as a)",
            "limits of its qos (--qos is not given, treated as normal)"]),
        ("", "eve", "default/none", [
            "limits of its account (--account is not given)",
            "limits of its qos (--qos is not given)"]),
        ("-q high", "ann", "a/high",
         ["limits of its account (--account is not given, treated as a)"]),
    ],
)  # fmt: skip
def test_a_job_has_the_limits_of_its_account_and_qos(
    options: str, user: str, project: str, told: list[str]
) -> None:
    """What is not given is as in the other jobs of its user, and then nothing is proved."""
    assert _asked(_limited(JOBS), options, user) == (project, tuple(told))


def test_limits_of_accounts_alone() -> None:
    found = _limited({"ann": "normal", "bob": "other"}, by_qos=False)
    assert _asked(found, "-A normal", "ann") == ("normal", ())
    assert _asked(found, "", "ann")[0] == "normal"
    assert _asked(found, "-A zz", "ann") == ("zz", ("limits of --account zz",))


def test_the_limit_of_a_default_qos_holds_a_new_job() -> None:
    """One job of a user at a time: it waits for the first, as with the QOS given."""
    found = _limited(JOBS)
    line = "sbatch -n1 --mem=5 -t 5"
    given, usual = (
        sw.ask(found, f"{line} {options}", user="ann", method="optimal").line.answer
        for options in ("-A a -q normal", "")
    )
    assert found.now != given.start == usual.start
    assert given.proved
    assert not usual.proved
