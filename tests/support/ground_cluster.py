"""The hosts on which the verdicts of tests/data/ground were recorded (see the README there)."""

from __future__ import annotations

from slotwise import Cluster, Host, ResourceDefinition, SharedResource

COLUMNS = [
    "r15s",
    "r1m",
    "r15m",
    "ut",
    "pg",
    "io",
    "ls",
    "it",
    "tmp",
    "swp",
    "mem",
    "scratch",
    "qload",
]
LOADS = {
    "hostM": "0.7 0.7 0.7 0.30 4 20 2 30 700 600 90 50 5",
    "hostA": "0.2 0.5 0.8 0.10 2 10 3 0 500 400 120 100 1",
    "hostB": "1.5 1.2 1.0 0.45 8 30 1 60 900 800 60 200 3",
    "hostC": "0.0 0.1 0.2 0.02 0 0 0 400 100 200 300 20 2",
    "hostD": "2.5 2.0 3.0 0.95 20 80 7 5 2000 1600 30 300 9",
}
KINDS = {
    "hostM": ("linux", "IntelI5", ""),
    "hostA": ("linux", "IntelI5", "cs"),
    "hostB": ("linux", "DEC3000", "fs"),
    "hostC": ("AIX", "IntelI5", "cs fs bigmem"),
    "hostD": ("linux", "ORIGIN2K", "hpux"),
}
FACTORS = {"IntelI5": 100.0, "DEC3000": 10.0, "ORIGIN2K": 4.0}
VERSIONS = {"hostA": "4.1", "hostB": "4.2", "hostC": "5.0", "hostD": "unknown"}
SCORES = {"hostA": 3.0, "hostB": 1.0, "hostC": 4.0, "hostD": 2.0}
AMOUNTS = ("mem", "swp", "tmp")
#: All five were virtual hosts of one machine.
MACHINE = {"maxmem": 16000.0, "maxswp": 0.0, "maxtmp": 100000.0, "ndisks": 1.0}


def host(name: str, *, alike: bool = False) -> Host:
    """One host; `alike`: type and model as in the placement runs, all linux IntelI5."""
    load = dict(zip(COLUMNS, map(float, LOADS[name].split()), strict=True))
    kind, model, booleans = KINDS[name]
    if alike:
        kind, model = "linux", "IntelI5"
    return Host(
        name,
        slots=0 if name == "hostM" else 4,
        ncpus=4,
        type=kind,
        model=model,
        cpu_factor=FACTORS[model],
        amounts={key: load[key] for key in AMOUNTS} | MACHINE,
        load=load,
        strings={"os_version": VERSIONS[name]} if name in VERSIONS else {},
        booleans=frozenset(booleans.split()),
    )


def cluster(names: str = "hostM hostA hostB hostC hostD", *, alike: bool = False) -> Cluster:
    """The hosts of the requirement runs, or those named."""
    return Cluster(
        hosts=tuple(host(name, alike=alike) for name in names.split()),
        resources=(
            ResourceDefinition("scratch", dynamic=True),
            ResourceDefinition("qload", increasing=True, dynamic=True),
            ResourceDefinition("lic"),
            ResourceDefinition("score"),
            ResourceDefinition("os_version", kind="string"),
            *(ResourceDefinition(name, kind="boolean") for name in ("cs", "fs", "bigmem", "hpux")),
        ),
        shared=(
            SharedResource("lic", 8.0),
            *(SharedResource("score", v, frozenset({n})) for n, v in SCORES.items()),
        ),
    )
