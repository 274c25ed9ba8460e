"""How many examples a property test tries: few in `make test`, many in `make test-all`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

#: Examples of a test that says no number, in each profile. Others keep this proportion.
QUICK, THOROUGH = 25, 400
_PROPORTION_OF = 100


def register_profiles() -> None:
    """`quick` (the default, the same examples in every run) and `thorough`: no deadline in either.

    ``--hypothesis-profile=thorough`` chooses the other. A test has no time of its own: the machine
    may be busy.
    """
    common = {"deadline": None, "suppress_health_check": list(HealthCheck)}
    settings.register_profile("quick", max_examples=QUICK, derandomize=True, **common)
    settings.register_profile("thorough", max_examples=THOROUGH, print_blob=True, **common)
    settings.load_profile("quick")


def examples(count: int) -> settings:
    """Settings of a test that is worth `count` examples where most are worth 100."""
    return settings(max_examples=max(1, count * settings().max_examples // _PROPORTION_OF))
