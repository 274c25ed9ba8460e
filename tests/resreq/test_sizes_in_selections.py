"""Sizes in select[]: ``mem>=8GB`` as 10.1 takes it, whatever LSF_UNIT_FOR_LIMITS is."""

from __future__ import annotations

import pytest
from slotwise.model.resreq import Simple, parse, print_requirement
from slotwise.model.resreq.syntax import Binary, Name, Number

pytestmark = pytest.mark.behaviour("REQ-13")


def compared(text: str, **options: object) -> tuple[str, str, float]:
    """The resource, the sign and the MB of a selection that is one comparison."""
    found = parse(text, **options)  # type: ignore[arg-type]
    assert isinstance(found, Simple)
    match found.select:
        case Binary(sign, Name(name), Number(value)) | Binary(sign, Number(value), Name(name)):
            return name, sign, value
    raise AssertionError(found)


@pytest.mark.parametrize("unit", ["KB", "MB", "GB"])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("select[mem>=8192MB]", ("mem", ">=", 8192.0)),
        ("select[mem>8GB]", ("mem", ">", 8192.0)),
        ("select[mem > 1.5g]", ("mem", ">", 1536.0)),
        ("select[swp>=1T]", ("swp", ">=", 1048576.0)),
        ("select[tmp>=2048KB]", ("tmp", ">=", 2.0)),
        ("select[maxmem>=64GB]", ("maxmem", ">=", 65536.0)),
        ("select[8GB<=mem]", ("mem", "<=", 8192.0)),
    ],
)
def test_a_size_is_so_many_mb(
    text: str, right: tuple[str, str, float], strict: bool, unit: str
) -> None:
    assert compared(text, unit=unit, strict=strict) == right
    printed = print_requirement(parse(text, unit=unit, strict=strict))
    assert parse(printed) == parse(text, unit=unit, strict=strict)


def test_the_short_form_takes_sizes() -> None:
    assert compared("mem=8GB") == ("mem", ">=", 8192.0)
