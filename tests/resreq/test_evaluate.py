"""Which hosts a requirement chooses, in which order, and which it keeps together."""

from __future__ import annotations

import numpy as np
import pytest
from ground_cluster import cluster
from hypothesis import given
from hypothesis import strategies as st
from slotwise import Cluster, Host, ResourceDefinition
from slotwise.model.resreq import (
    HostTable,
    ResreqError,
    Simple,
    order_hosts,
    parse,
    same_classes,
    select_mask,
)
from slotwise.model.resreq.evaluate import Local, reasons
from slotwise.solver.validation.selection import HostView, Names, satisfies

TABLE = HostTable(cluster())


def simple(text: str) -> Simple:
    requirement = parse(text)
    assert isinstance(requirement, Simple)
    return requirement


def chosen(text: str, table: HostTable = TABLE, home: str | None = None) -> str:
    """Letters of the chosen hosts, best first. home: submission host."""
    hosts = table.cluster.hosts
    local = next((host for host in hosts if host.name == home), None)
    requirement = simple(text)
    mask = select_mask(
        requirement.select,
        table,
        local_type=local.type if local else None,
        local_model=local.model if local else None,
    )
    order = order_hosts(requirement.order, table, mask)
    return " ".join(hosts[index].name.removeprefix("host") for index in order)


@pytest.mark.behaviour("REQ-02", "REQ-03", "REQ-05", "REQ-06", "REQ-07", "REQ-10")
@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("swp > 15 && hpux order[ut]", "D"),
        ("(hname==hostA && mem > 50)||(hname==hostB && mem > 10)", "A B"),
        ("((2*r15s + 3*r1m + r15m) / 6 < 1.0) && !fs && (cpuf > 4.0)", "A M"),
        ("(r15s * 2 + r15m) < 3.0 && !(type == AIX) || fs", "C A M B"),
        ("r15s < 1.0 || model == any && swp <= 10", "C A M"),
        ("!swp", ""),
        ("os_version=='4.2' || os_version==\"unknown\"", "B D"),
        ("os_version != '4.2'", "C A D"),
        ("os_version > 4", "C A B D"),
        ("os_version == 5.0", "C"),
        ("hname!=hostB", "C A M D"),
        ("score > 2", "C A"),
        ("!(score > 2)", "M B D"),
        ("defined(score) && score < 4", "A B D"),
        ("defined(os_version)", "C A B D"),
        ("defined(bigmem)", "C"),
        ("defined(LSF_Base)", ""),
        ("ut < 0.5", "C A M B"),
        ("idle > 5", "C M B"),
        ("cs + fs == 2", "C"),
        ("lic >= 8 && lic < 9", "C A M B D"),
        ("mem / 0 > 1", "C A M B D"),
        ("mem > 7 / 2 * 100", ""),
        ("mem > 7. / 2 * 80", "C"),
        ("7/2 == 3 && -7/2 == -3 && 7/2. == 3.5", "C A M B D"),
        ("1/0 || 0/0", ""),
        ("2", "C A M B D"),
        ("order[mem]", "C A M B D"),
        ("order[-mem]", "D B M A C"),
        ("order[-cs:mem]", None),
        ("order[cpuf:mem]", "C A M B D"),
        ("order[-cpuf:-mem]", "D B M A C"),
        ("order[ncpus:-tmp]", "C A M B D"),
        ("order[score]", "C A D B M"),
        ("order[-score]", "B D A C M"),
        ("order[qload]", "A C B M D"),
        ("order[scratch]", "D B A M C"),
        ("select[mem>20] order[swp:r1m:tmp:r15s]", "D B M A C"),
    ],
)
def test_chosen_hosts_in_order(text: str, hosts: str | None) -> None:
    if hosts is None:
        with pytest.raises(ResreqError, match="must name numeric resources"):
            chosen(text)
    else:
        assert chosen(text) == hosts


@pytest.mark.behaviour("REQ-10")
def test_run_queues_are_compared_by_cpu_factor() -> None:
    slow = Host("slow", 1, cpu_factor=1.0, load={"r1m": 0.5})
    fast = Host("fast", 1, cpu_factor=10.0, load={"r1m": 2.0})
    table = HostTable(Cluster((slow, fast)))
    assert chosen("order[r1m]", table) == "fast slow"
    assert chosen("r1m < 1 order[r1m]", table) == "slow"


@pytest.mark.behaviour("REQ-19")
def test_ncpus_means_slots_under_parallel_sched_by_slot() -> None:
    hosts = Cluster((Host("a", 8, ncpus=2), Host("b", 2, ncpus=16)))
    assert chosen("ncpus > 4", HostTable(hosts)) == "b"
    assert chosen("ncpus > 4", HostTable(hosts, by_slot=True)) == "a"


@pytest.mark.behaviour("REQ-06")
def test_defined_takes_no_builtin_and_no_dynamic_number() -> None:
    vocabulary = TABLE.vocabulary
    assert parse("defined(lic) || defined(cs)", vocabulary=vocabulary)
    for name in ("mem", "type", "server", "hname", "rexpri", "scratch", "qload", "nosuch"):
        with pytest.raises(ResreqError) as caught:
            parse(f"defined({name})", vocabulary=vocabulary)
        assert caught.value.token == name


@pytest.mark.behaviour("REQ-02", "REQ-20")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bigmen", "unknown resource 'bigmen' (did you mean 'bigmem'?)"),
        ("mem > nosuch", "unknown resource 'nosuch'"),
        ("order[sorce]", "unknown resource 'sorce' (did you mean 'score'?)"),
        ("os_version + 1", "os_version is a string: compare it"),
        ("mem == 'x'", "mem is numeric"),
        ("os_version == mem + 1", "os_version must be compared"),
    ],
)
def test_unknown_names_and_wrong_kinds_are_errors_with_and_without_a_vocabulary(
    text: str, message: str
) -> None:
    with pytest.raises(ResreqError) as caught:
        chosen(text)
    assert message in str(caught.value)
    with pytest.raises(ResreqError):
        parse(text, vocabulary=TABLE.vocabulary)


@pytest.mark.behaviour("REQ-20")
def test_reasons_say_what_a_host_has() -> None:
    expression = simple("mem>50 && (cs || fs) && os_version=='5.0' && score>1").select
    home = Local("linux", "IntelI5")
    assert reasons(expression, TABLE, 4, home) == [
        "mem>50 is false: mem is 30",
        "cs || fs is false: it has no cs, it has no fs",
        "os_version=='5.0' is false: os_version is unknown",
    ]
    assert reasons(expression, TABLE, 0, home)[-1] == "score>1 is false: it has no score"
    assert reasons(expression, TABLE, 3, home) == []
    wrong = reasons(None, TABLE, 3, home)
    assert wrong == ["its type is AIX, that of the submission host linux"]


@pytest.mark.behaviour("PLC-04")
def test_same_classes() -> None:
    hosts = (
        Host("a", 1, type="x", strings={"os": "1"}),
        Host("b", 1, type="x", strings={"os": "2"}),
        Host("c", 1, type="y", strings={"os": "1"}),
        Host("d", 1, type="x"),
    )
    table = HostTable(Cluster(hosts, resources=(ResourceDefinition("rack", kind="numeric"),)))

    def groups(*names: str, among: str = "abcd") -> list[list[str]]:
        mask = np.array([host.name in among for host in hosts])
        return [
            [
                "".join(
                    h.name for h, k in zip(hosts, labels, strict=True) if k == c and h.name in among
                )
                for c in sorted(set(labels[mask].tolist()) - {-1})
            ]
            for labels in same_classes(names, table, mask)
        ]

    assert groups("type") == [["abd", "c"]]
    assert groups("type", "os", among="abc") == [["a", "b", "c"]]
    assert groups("os") == [["ac", "b"]]
    assert groups("type", "os") == [["a", "b", "c"], ["abd", "c"], ["ac", "b"]]
    assert groups("os", "rack") == [[], ["ac", "b"], []]


_NUMBERS = st.sampled_from(
    ["mem", "swp", "r15s", "ut", "score", "lic", "cs", "fs", "cpuf", "0", "2", "60"]
)
_TESTS = st.one_of(
    st.tuples(
        st.sampled_from(["os_version", "hname"]),
        st.sampled_from(["==", "!=", "<", ">="]),
        st.sampled_from(["'4.2'", "hostB", "'unknown'"]),
    ).map(" ".join),
    st.sampled_from(["type == AIX", "model != DEC3000", "defined(score)", "bigmem"]),
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["&&", "||", "+", "-", "*", "<", "<=", "==", "!=", ">"])
    pair = st.tuples(inner, signs, inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})")
    return st.one_of(pair, inner.map(lambda t: f"!({t})"), inner.map(lambda t: f"-({t})"))


@given(st.recursive(_NUMBERS | _TESTS, _combined, max_leaves=8))
def test_agrees_with_an_evaluator_that_goes_value_by_value(text: str) -> None:
    hosts = TABLE.cluster
    expression = simple(text).select
    names = Names.of(hosts)
    expected = [satisfies(expression, HostView(host, hosts, names)) for host in hosts.hosts]
    assert select_mask(expression, TABLE).tolist() == expected
