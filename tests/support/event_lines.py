"""Records of an lsb.events, as lines."""

from __future__ import annotations


def job_new(number: int, time: int, **fields: object) -> str:
    """A JOB_NEW in the form of the real ones."""
    given: dict[str, object] = {
        "options": 33554434, "slots": 1, "user": "ann", "queue": "q", "res_req": "", "limit": -1,
        "name": "", "most": 1, "group": "", "priority": -1, "hosts": "0", "app": "", "idx": 0,
        "begin": 0, "port": "", "deadline": 0, "from_host": "host",
    }  # fmt: skip
    g = given | fields
    return (
        f'"JOB_NEW" "10.108" {time} {number} 1501 {g["options"]} {g["slots"]} {time} '
        f"{g['begin']} {g['deadline']} "
        f'-65535 0 0 "{g["user"]}" -1 -1 -1 -1 -1 -1 -1 -1 -1 {g["limit"]} -1 "" 1.00 2 '
        f'"{g["queue"]}" "{g["res_req"]}" "{g["from_host"]}" '
        f'"/" "" "" "" "" "/home" "file" {g["hosts"]} "" "" '
        f'"{g["name"]}" "cmd" 0 "" "default" {g["port"]}{g["most"]} "ANY" "" "" "{g["group"]}" "" '
        f'7184 {g["idx"]} "" "" "" {g["priority"]} -1 -1 4194304 "{g["app"]}" "" -1 "" 0 -1 "" "" '
        "0 0 0 0"
    )


def job_start(number: int, time: int, *hosts: str, idx: int = 0) -> str:
    """A JOB_START on these hosts, one name a slot."""
    names = " ".join(f'"{host}"' for host in hosts)
    return (
        f'"JOB_START" "10.108" {time} {number} 4 0 0 100.0 {len(hosts)} {names} "" "" 0 "" {idx} '
        '"" 2147483647 4194304 "select[type == any] " "" -1 "" -1 0 "" -1 0'
    )


def job_status(number: int, time: int, status: int, idx: int = 0) -> str:
    """A JOB_STATUS: 64 done, 32 exited."""
    return f'"JOB_STATUS" "10.108" {time} {number} {status} 0 0 7.5 {time} 0 0 {idx} 0 0'
