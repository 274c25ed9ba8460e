"""The judge's own reading of select sections, host by host, against the vectorised one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import host
from slotwise import Cluster, ResourceDefinition, SharedResource
from slotwise.model.resreq import HostTable, Simple, Vocabulary, parse, select_mask
from slotwise.model.resreq.syntax import Binary, Defined, Expression, Name, Number, Unary
from slotwise.solver.validation.selection import HostView, Names, satisfies

CLUSTER = Cluster(
    (
        host("A", 4, type="X", amounts={"mem": 100.0}, load={"r1m": 0.5}, strings={"os": "4.2"}),
        host("B", 2, ncpus=8, type="Y", cpu_factor=2.0, booleans=frozenset({"gpu"})),
        host("C", 1, amounts={"mem": 50.0, "disk": 7.0}, load={"ut": 0.9, "pg": 3.0}),
    ),
    resources=(ResourceDefinition("fast", "boolean"), ResourceDefinition("disk")),
    shared=(SharedResource("lic", 5.0, frozenset({"A", "C"})),),
)
NAMES = Names.of(CLUSTER)


def chosen(expression: Expression | None) -> list[bool]:
    return [satisfies(expression, HostView(item, CLUSTER, NAMES)) for item in CLUSTER.hosts]


@pytest.mark.behaviour("REQ-02", "REQ-03", "REQ-04", "REQ-05", "REQ-06", "REQ-07")
@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("mem>50", "A"),
        ("mem>=50 && !gpu", "AC"),
        ("!mem", "B"),
        ("cpu<0.5", "BC"),
        ("2*r1m+pg==1", "A"),
        ("type==X || ncpus==8", "AB"),
        ("type!=X", "BC"),
        ("type==any", "ABC"),
        ("type==local", "ABC"),
        ("os=='4.2'", "A"),
        ("os==4.2", "A"),
        ("os!='4.2'", ""),
        ("hname==B", "B"),
        ("status==ok", "ABC"),
        ("defined(disk)", "C"),
        ("defined(fast) || defined(gpu)", "B"),
        ("lic>4", "AC"),
        ("maxmem>60", "A"),
        ("7/2==3", "ABC"),
        ("7.0/2==3.5", "ABC"),
        ("mem/0>0", "AC"),
        ("1/0", ""),
        ("cpuf>1 && -cpuf<0", "B"),
    ],
)
def test_select(text: str, hosts: str) -> None:
    found = parse(f"select[{text}]", vocabulary=Vocabulary.of_cluster(CLUSTER))
    assert isinstance(found, Simple)
    assert (
        "".join(name for name, fits in zip("ABC", chosen(found.select), strict=True) if fits)
        == hosts
    )


leaves = st.one_of(
    st.integers(0, 9).map(lambda number: Number(float(number))),
    st.sampled_from(["mem", "r1m", "ut", "disk", "lic", "ncpus", "gpu", "slots"]).map(Name),
    st.sampled_from(["disk", "fast", "gpu", "os"]).map(Defined),
    st.builds(
        Binary,
        st.sampled_from(["==", "!=", "<"]),
        st.sampled_from(["type", "os"]).map(Name),
        st.sampled_from(["X", "any", "4.2"]).map(Name),
    ),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Unary, st.sampled_from("!-"), inner),
        st.builds(
            Binary,
            st.sampled_from(["&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/"]),
            inner,
            inner,
        ),
    ),
    max_leaves=8,
)


@given(trees)
def test_both_readings_agree(expression: Expression) -> None:
    assert chosen(expression) == select_mask(expression, HostTable(CLUSTER)).tolist()


def test_kinds_of_names_come_from_the_definitions_too() -> None:
    """A resource that no host carries is still a string or a Boolean, as its definition says."""
    cluster = Cluster(
        (host("A", 1, strings={"os": "x"}, booleans=frozenset({"gpu"})),),
        resources=(
            ResourceDefinition("label", "string"),
            ResourceDefinition("fpga", "boolean"),
            ResourceDefinition("amount"),
        ),
    )
    names = Names.of(cluster)
    assert names.strings == {"type", "model", "hname", "status", "os", "label"}
    assert names.booleans == {"server", "gpu", "fpga"}
