"""The variants of a what-if: today's cluster, each wish alone, all of them, and grids over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ...model.errors import InputError, Problem
from ...model.formats.settings import Setting, changed, read_setting, split_values
from ...model.instance import Instance
from .run import RUN_KEYS, RunOptions, options_of

#: What the configuration is called that is not changed.
TODAY = "today"


@dataclass(frozen=True, slots=True)
class Variant:
    """One configuration: what it changes (nothing of today's), and the cluster that comes of it."""

    settings: tuple[Setting, ...]
    instance: Instance
    options: RunOptions

    @property
    def name(self) -> str:
        """Its settings, as they were given."""
        return " ".join(map(str, self.settings)) or TODAY

    @property
    def plain_settings(self) -> tuple[tuple[str, str], ...]:
        """Key and value of each setting."""
        return tuple((setting.key, setting.value) for setting in self.settings)


def read_wishes(
    sets: Iterable[str], vary: Iterable[str]
) -> tuple[list[tuple[Setting, ...]], list[list[Setting]], list[Problem]]:
    """Each of `sets`, ``KEY=VALUE`` or several joined by ``;``, as the settings of one variant,
    each of `vary`, ``KEY=A,B,C``, as one axis of a grid; and everything that is neither.
    """
    wrong: list[Problem] = []
    found = [_set(text, wrong) for text in sets]
    grid = [axis for text in vary if (axis := _axis(text, wrong))]
    keys = [axis[0].key for axis in grid]
    wrong += [
        Problem(f"{key} is varied twice: give its values in one list", "--vary")
        for key in dict.fromkeys(key for key in keys if keys.count(key) > 1)
    ]
    return found, grid, wrong


def _set(text: str, wrong: list[Problem]) -> tuple[Setting, ...]:
    settings: list[Setting] = []
    for part in filter(None, split_values(text, ";")) if text.strip(" ;") else [text]:
        try:
            settings.append(read_setting(part))
        except InputError as error:
            wrong += error.problems
    keys = [setting.key for setting in settings]
    if len(set(keys)) < len(keys):
        wrong.append(Problem("sets a key twice", f"--set {text}"))
    return tuple(settings)


def _axis(text: str, wrong: list[Problem]) -> list[Setting]:
    try:
        whole = read_setting(text, "--vary")
    except InputError as error:
        wrong += error.problems
        return []
    values = split_values(whole.value)
    if len(set(values)) < len(values):
        wrong.append(Problem("gives a value twice", f"--vary {text}"))
    return [Setting(whole.key, value, f"--vary {whole.key}={value}") for value in values]


def combinations(
    sets: Sequence[tuple[Setting, ...]], grid: Sequence[Sequence[Setting]]
) -> Iterator[tuple[Setting, ...]]:
    """What each variant changes: today nothing, each set alone, all together where no two of them
    say of a key what it is to be; and each point of the grid over each of these.
    """
    together = tuple(setting for settings in sets for setting in settings)
    keys = [setting.key for setting in together]
    bases: list[tuple[Setting, ...]] = [(), *sets]
    if len(sets) > 1 and len(set(keys)) == len(keys):
        bases.append(together)
    yield from bases
    if grid:
        varied = {axis[0].key for axis in grid}
        for base in bases:
            kept = tuple(setting for setting in base if setting.key not in varied)
            if len(kept) == len(base):
                yield from ((*base, *point) for point in product(*grid))


def variants(
    site: Instance,
    wishes: Iterable[tuple[Setting, ...]],
    options: RunOptions,
    problems: Sequence[Problem] = (),
) -> list[Variant]:
    """The variants of a site. problems: what is known to be wrong with the wishes.

    Raises InputError with that and everything that is wrong with any variant.
    """
    found: dict[tuple[tuple[str, str], ...], Variant] = {}
    wrong = list(problems)
    for settings in wishes:
        of_cluster = [setting for setting in settings if setting.key not in RUN_KEYS]
        instance, bad_keys = changed(site, of_cluster, RUN_KEYS)
        run, bad_options = options_of(settings, instance or site, options)
        wrong += [*bad_keys, *bad_options]
        if instance is not None and not bad_options:
            key = tuple((setting.key, setting.value) for setting in settings)
            found.setdefault(key, Variant(settings, instance, run))
    if wrong:
        raise InputError(dict.fromkeys(wrong))
    return list(found.values())
