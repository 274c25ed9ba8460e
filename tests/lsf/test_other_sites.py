"""Configurations as other sites write them: what LSF takes is taken, what is not heeded is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsf.lab import HOSTS, complaints, instance, queue, read
from slotwise import plan

SHARED = """
Begin Resource
RESOURCENAME TYPE INTERVAL INCREASING DESCRIPTION
bigmem Boolean () () (much memory)
cs Boolean () () (compute server)
End Resource
"""


def _notes(root: Path, files: dict[str, str]) -> str:
    return "\n".join(read(root, files).notes)


@pytest.mark.behaviour("CFG-01")
def test_a_colon_is_a_hyphen_in_ranges(tmp_path: Path) -> None:
    group = "Begin HostGroup\nGROUP_NAME GROUP_MEMBER\ng (host[A,B:C])\nEnd HostGroup\n"
    assert complaints(tmp_path / "letters", {"lsb.hosts": HOSTS + group})  # of numbers only
    hosts = "Begin Host\nHOSTNAME model type server RESOURCES\nn[01:12] ! ! 1 ()\nEnd Host\n"
    group = "Begin HostGroup\nGROUP_NAME GROUP_MEMBER\ng (n[01,03:05])\nEnd HostGroup\n"
    files = {"lsf.cluster.c": hosts, "lsb.hosts": HOSTS + group, "lsb.queues": queue(HOSTS="g")}
    found = instance(tmp_path, files)
    assert len(found.cluster.hosts) == 12
    assert list(found.cluster.expand("g") or ()) == ["n01", "n03", "n04", "n05"]


@pytest.mark.behaviour("CFG-01")
@pytest.mark.parametrize("hosts", ["none", "allremote", "all@other x@other+1"])
def test_a_queue_without_hosts_here_has_none(tmp_path: Path, hosts: str) -> None:
    site = read(tmp_path, {"lsb.queues": queue(HOSTS=hosts)})
    found, _ = site.instance(
        {"pending": [{"id": "1", "slots": 1, "queue": "q", "run_limit": "1h"}]}
    )
    assert plan(found, method="time-based").unplaced
    assert f"HOSTS = {hosts}" in "\n".join(site.notes)


@pytest.mark.behaviour("CFG-01")
def test_alternatives_are_kept_and_gpus_are_left_out(tmp_path: Path) -> None:
    res_req = "{select[bigmem && ngpus>0] rusage[mem=9,ngpus_physical=2]} || {select[cs]}@60"
    files = {"lsf.shared": SHARED, "lsb.queues": queue(RES_REQ=res_req)}
    kept = "{select[bigmem] rusage[mem=9]} || {select[cs]}@60"
    assert instance(tmp_path, files).queues[0].res_req == kept
    notes = _notes(tmp_path, files)
    assert "because of ngpus, ngpus_physical in RES_REQ (queue q): no file gives the" in notes


@pytest.mark.behaviour("CFG-01")
def test_a_value_cut_loose_by_a_comment_is_told(tmp_path: Path) -> None:
    text = "Begin Queue\nQUEUE_NAME = q\nUSERS = ann \\\n# carl has left\n bert\nEnd Queue\n"
    assert complaints(tmp_path, {"lsb.queues": text}) == [
        "lsb.queues:5: Queue: 'bert' is not KEY = value"
    ]
    alone = "Begin Queue\nQUEUE_NAME = q\nRUN_WINDOW\nUSERS\nEnd Queue\n"
    assert complaints(tmp_path / "2", {"lsb.queues": alone}) == []  # keys that are not set


@pytest.mark.behaviour("CFG-01")
def test_shares_that_a_program_tells(tmp_path: Path) -> None:
    users = "Begin UserGroup\nGROUP_NAME GROUP_MEMBER USER_SHARES\nu (!) (!)\nEnd UserGroup\n"
    assert instance(tmp_path, {"lsb.users": users}).groups[0].user_shares == ()
    assert "because of external shares (group u)" in _notes(tmp_path, {"lsb.users": users})


@pytest.mark.behaviour("CFG-01")
def test_names_that_lshosts_cuts_off_are_no_new_hosts(tmp_path: Path) -> None:
    hosts = (
        "Begin Host\nHOSTNAME model type server RESOURCES\nnode1.example.com ! ! 1 ()\nEnd Host\n"
    )
    facts = (
        "HOST_NAME type model cpuf ncpus maxmem maxswp server RESOURCES\n"
        "node1.exam X86 any 1.0 8 7G 2G Yes ()\n"
    )
    assert complaints(tmp_path, {"lsf.cluster.c": hosts, "lshosts": facts}) == [
        "lshosts:2: the name node1.exam is truncated (node1.example.com has no line): "
        "lshosts -w prints it whole"
    ]
