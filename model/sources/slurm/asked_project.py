"""Project of a new job: its account, with its QOS where a QOS has limits, as limits.py has it."""

from __future__ import annotations

from collections.abc import Mapping

from ...formats.submit import UNNAMED
from ...instance import Instance


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
    if options and (qos or (limited and not by_qos)) and project not in limited:
        omitted.append(f"limits of {' '.join(options)}")
    return project


def _guessed(option: str, value: str) -> str:
    taken = f", taken as {value}" if value else ""
    return f"limits of its {option} (--{option} is not given{taken})"


def _association(instance: Instance, user: str) -> str:
    """Return the account of a user who has one association, "" if that is not known."""
    accounts = {item.account for item in instance.associations if user and item.user == user}
    return accounts.pop() if len(accounts) == 1 else ""


def _of_other_jobs(instance: Instance, user: str, account: str) -> tuple[str, str]:
    """Return account and QOS of the jobs of a user, or of all jobs; "" if they differ."""
    jobs = instance.present_jobs
    own = [job for job in jobs if job.user == user and user != UNNAMED]
    projects = {(job.project or "").partition("/")[::2] for job in own or jobs}
    accounts = {name for name, _ in projects}
    kinds = {kind for name, kind in projects if account in ("", name)}
    return accounts.pop() if len(accounts) == 1 else "", kinds.pop() if len(kinds) == 1 else ""
