"""A name that nothing defines is found wherever the model holds names."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from slotwise.cli.main import app
from slotwise.model.facts import known_fields
from slotwise.model.formats.document import FORMS
from slotwise.model.formats.fields import FACTORS, KINDS
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("CFG-02")

#: Kinds of values without names of other parts; any other kind, a new one too, may hold some.
NAMELESS = {
    *("amount", "aps_formula", "aps_stated", "boolean", "cells", "change", "count"),
    *("count_from_1", "cycles", "dialect", "direction", "dispatch_order", "elapsed", "family"),
    *("flag", "goals", "gpu_req", "gpu_syntax", "host_change", "host_status", "instant", "line"),
    *("job_fields", "minutes", "new_name", "number", "omission_mark", "options", "own_run_limit"),
    *("percent", "positive", "priority_growth", "processor_limit", "queue_position"),
    *("resource_kind", "run_limit", "seconds", "stamp", "text", "unit", "whole", "windows"),
    FACTORS,
}
#: Fields with names that do not refer to a definition by their Fact, and why not.
NOT_REFERRING = {
    "a requirement, which names resources and unit types in a language of its own": [
        *("Application.res_req", "GuaranteedPool.res_select", "Job.res_req", "Queue.res_req"),
    ],
    "the job, user or account that it defines": [
        *("Association.account", "Association.user", "Job.user", "JobGroup.name", "User.name"),
        "UserGroup.members",
    ],
    "any name is one": [
        *("Host.model", "Host.type", "Host.node_of", "Job.job_group", "Job.license_project"),
        *("Job.project", "Params.modules", "Queue.slot_pool", "SlurmLimit.account"),
        *("SlurmLimit.parent", "SlurmLimit.user"),
    ],
    "rules of shares look at it": [
        *("Association.parent", "Job.group", "PoolUsage.queue", "ShareUsage.account"),
        *("ShareUsage.policy", "UserGroup.user_shares"),
    ],
    "Slurm keeps associations of partitions that are gone": ["Association.partition"],
    "statements of LSF about jobs that are gone change nothing": ["SaidByLsf.job"],
    "jobs that the instance does not have": ["Omission.unplanned"],
    "a name that is unknown concerns any job, such as hosts that are not listed": [
        "Omission.hosts"
    ],
    "the reader of its text, or a check of its own, knows the names": [
        *("BorrowedSlots.slots", "GuaranteedPool.type", "Host.thresholds", "Queue.exclusive"),
        *("Queue.resrsv_limit", "Queue.thresholds", "RunningJob.allocation"),
    ],
}


def test_a_field_with_names_states_their_kind() -> None:
    """`omissions`, ACCESS_CONTROL and users of reservations named what does not exist."""
    assert KINDS.keys() | {FACTORS} >= NAMELESS
    silent = {
        f"{kind.__name__}.{field.name}"
        for kind in FORMS
        for field in known_fields(kind).values()
        if field.fact.kind not in NAMELESS and not field.fact.refers
    }
    assert silent == {name for names in NOT_REFERRING.values() for name in names}


BASE = """
format: slotwise/1
params: {COMPUTE_UNIT_TYPES: enclosure rack}
resources: [{name: lic}]
hosts: [{name: "a[1-2]", slots: 2}]
compute_units: [{name: e1, type: enclosure, members: a1}, {name: e2, type: enclosure, members: a2}]
users: [{name: ann}, {name: eve@}]
user_groups: [{name: eve, members: bob}]
queues: [{name: q}, {name: r}]
applications: [{name: app}]
service_classes: [{name: sc, GOALS: "[GUARANTEE]"}]
pending: [{id: j1, user: ann, queue: q, run_limit: 1h}]
"""
#: Section, entry with names, the path of an unknown one `zz`, and what messages call it.
NAMED = [
    *(
        ("omissions", {"what": "x", f"{kind}s": ["zz"]}, f"omissions[0].{kind}s", kind)
        for kind in ("queue", "application", "resource", "user", "job")
    ),
    *(
        (
            "service_classes",
            {"name": "s", "GOALS": "[GUARANTEE]", "ACCESS_CONTROL": f"{key}[zz]"},
            "service_classes[0].ACCESS_CONTROL",
            kind,
        )
        for key, kind in (
            *(("QUEUES", "queue"), ("APPS", "application profile"), ("USERS", "user")),
            ("FAIRSHARE_GROUPS", "user"),
        )
    ),
    (
        "advance_reservations",
        {"name": "ann#0", "start": 0, "end": 9, "allocation": "a1", "users": "zz"},
        "advance_reservations[0].users",
        "user",
    ),
    ("limits", {"name": "l", "USERS": "ann zz", "SLOTS": 1}, "limits[0].USERS", "user"),
    ("queues", {"name": "q", "USERS": "all ~zz/"}, "queues[0].USERS", "user"),
    ("queues", {"name": "q", "FAIRSHARE": "USER_SHARES[[zz, 1] [default, 1]]"},
     "queues[0].FAIRSHARE", "user"),
    ("queues", {"name": "q", "RES_REQ": "cu[type=zz]"}, "queues[0].RES_REQ", "compute unit type"),
    ("applications", {"name": "b", "RES_REQ": "{cu[type=zz]} || {cu[]@1}"},
     "applications[0].RES_REQ", "compute unit type"),
    ("compute_units", {"name": "r1", "type": "rack", "members": "zz"},
     "compute_units[0].members", "host or host group"),
    ("compute_units", {"name": "r1", "type": "rack", "members": "e1 zz"},
     "compute_units[2].members", "host or host group"),
]  # fmt: skip


@pytest.mark.parametrize(("section", "entry", "path", "kind"), NAMED)
def test_check_says_an_unknown_name_once(
    section: str, entry: dict[str, object], path: str, kind: str, tmp_path: Path
) -> None:
    """Each of them passed `slotwise check`, but for units: these had a second, wrong error."""
    document = yaml.safe_load(BASE)
    if section == "compute_units" and "e1" in str(entry):
        document[section].append(entry)
    elif section in ("queues", "applications"):
        document[section][0] = entry
    else:
        document[section] = [entry, *document.get(section, [])]
    file = tmp_path / "named.yaml"
    file.write_text(yaml.safe_dump(document))
    done = CliRunner().invoke(app, ["check", str(file)])
    said = [line for line in done.output.splitlines() if path.split("[")[0] in line]
    assert len(said) == 1, done.output
    assert f"{path}: unknown {kind} 'zz'" in said[0]
    assert (done.exit_code == 0) == (kind in ("user", "job", "resource")), done.output


def test_words_for_several_users_are_no_names(tmp_path: Path) -> None:
    document = yaml.safe_load(BASE)
    document["queues"][0]["USERS"] = "all default ~eve/"
    document["limits"] = [{"name": "l", "PER_USER": "all ~bob default", "SLOTS": 1}]
    file = tmp_path / "words.yaml"
    file.write_text(yaml.safe_dump(document))
    assert "unknown" not in CliRunner().invoke(app, ["check", str(file)]).output


@pytest.mark.parametrize("user", ["bob", "ann"])
def test_a_user_whom_a_group_excepts_is_in_no_list_with_the_group(
    user: str, tmp_path: Path
) -> None:
    """`~bob` in a group counted as nobody: bob was admitted to its queues and reservations."""
    document = yaml.safe_load(BASE)
    document["user_groups"] = [
        {"name": "inner", "members": "bob cat"},
        {"name": "most", "members": "inner ann ~bob"},
        {"name": "rest", "members": "all ~bob"},
    ]
    document["users"] = []
    document["queues"] += [{"name": name, "USERS": name} for name in ("most", "rest")] + [
        {"name": "both", "USERS": "most rest"},
        {"name": "not", "USERS": "all ~rest"},
    ]
    document["advance_reservations"] = [
        {"name": "a#0", "start": 0, "end": "1d", "allocation": "a1", "users": "most"}
    ]
    file = tmp_path / "excepted.yaml"
    file.write_text(yaml.safe_dump(document))
    for options, is_of_bob in (
        *((f"-q {name}", False) for name in ("most", "rest", "both")),
        ("-q not", True),
        ("-q q -U a#0", False),
    ):
        words = ["ask", str(file), "--user", user, "--", "bsub", *options.split(), "-W", "5", "a"]
        done = CliRunner().invoke(app, words)
        assert (done.exit_code == 0) == (is_of_bob == (user == "bob")), (options, done.exception)
