"""Options once: a dataclass holds the options of a subject, and any command takes it as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import typer

_DECLARED: Final = "declared"


@dataclass(frozen=True, slots=True)
class Declared:
    """Declaration of a field or parameter for typer."""

    #: typer.Option or typer.Argument.
    kind: Callable[..., Any]
    #: How an option is spelled where its name does not say it.
    names: tuple[str, ...]
    settings: Mapping[str, Any]


def option(default: Any, help: str, *names: str, **settings: Any) -> Any:
    """Return the default of a field or a parameter that is an option.

    default: ... where it must be given. names: its spelling where it is not its name's. settings:
    as of ``typer.Option``. A switch whose default is off has no ``--no-…``; an option whose type is
    a tuple may be repeated.
    """
    return _declared(typer.Option, default, names, settings | {"help": help})


def argument(default: Any, help: str, **settings: Any) -> Any:
    """Return the default of a field or a parameter that is an argument; see :func:`option`."""
    return _declared(typer.Argument, default, (), settings | {"help": help})


def _declared(
    kind: Callable[..., Any], default: Any, names: tuple[str, ...], settings: Mapping[str, Any]
) -> Any:
    # Typer would look whether a path may be read, of an output too, and answer with a panel of
    # many lines; the readers say it in one, as for all that is wrong with a file.
    metadata = {_DECLARED: Declared(kind, names, {"readable": False, **settings})}
    if default is ...:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Taking:
    """Fields of a record that a command takes, their order, and their changed texts."""

    #: Names of the fields that the command takes, None if it takes all of them.
    names: tuple[str, ...] | None
    changed: Mapping[str, Any]


def taking(names: str | None = None, /, **changed: Any) -> Taking:
    """Return a mark for ``Annotated``: the command takes only these fields of the record.

    changed: of a field another help, or another :func:`option` or :func:`argument` (with ... for
    its default), by which a record of any floor may be options.
    """
    return Taking(None if names is None else tuple(names.split()), changed)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function as typer takes it: each record parameter becomes its options.

    A parameter whose type is not a record, and whose default is none of :func:`option`, stays.
    """
    records: dict[str, _Taken] = {}
    parameters: list[Parameter] = []
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        taken = _taken(hints[name])
        if taken is not None:
            records[name] = taken
            parameters += taken.parameters()
        elif isinstance(parameter.default, Field):
            parameters.append(_parameter(name, hints[name], parameter.default))
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(function)
    def run(**given: Any) -> None:
        for name, taken in records.items():
            given[name] = taken.made_of(given)
        function(**given)

    ordered = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in ordered}
    return run


def values_of(record: Any, *names: str) -> dict[str, Any]:
    """Return the values of a record by field name, or of these fields only."""
    return {name: getattr(record, name) for name in names or (f.name for f in fields(record))}


def spelled(record: Any) -> dict[str, Any]:
    """Return the values of a record's options by the spelling of the option."""
    declared = {each.name: each.metadata.get(_DECLARED) for each in fields(record)}
    return {
        said.names[0] if said.names else f"--{name.replace('_', '-')}": getattr(record, name)
        for name, said in declared.items()
        if said is not None
    }


@dataclass(frozen=True, slots=True)
class _Taken:
    """A record among the parameters of a command."""

    kind: type
    #: Type and declaration of each field that is an option, in the order of the command.
    options: Mapping[str, tuple[Any, Field[Any]]]

    def parameters(self) -> Iterator[Parameter]:
        """Yield the options of the record as typer takes them."""
        for name, (hint, declared) in self.options.items():
            yield _parameter(name, hint, declared)

    def made_of(self, given: dict[str, Any]) -> Any:
        """Take the values of this record's options out of `given` and return the record.

        given: values of the command line by name of the parameter; the rest stays in it.
        """
        values = {name: given.pop(name) for name in self.options}
        for name, (hint, _) in self.options.items():
            if get_origin(hint) is tuple:
                values[name] = tuple(values[name] or ())
        return self.kind(**values)


def _taken(hint: Any) -> _Taken | None:
    """Return the record that a parameter is, None if the parameter is an option by itself."""
    taking_of = taking()
    if get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        taking_of = next((each for each in more if isinstance(each, Taking)), taking_of)
    if not (is_dataclass(hint) and isinstance(hint, type)):
        return None
    hints = get_type_hints(hint)
    known = {each.name: each for each in fields(hint)}
    declared = [name for name, each in known.items() if _is_declared(each, taking_of)]
    names = declared if taking_of.names is None else taking_of.names
    chosen = {name: _changed(known[name], taking_of.changed.get(name)) for name in names}
    return _Taken(hint, {name: (hints[name], each) for name, each in chosen.items()})


def _is_declared(own: Field[Any], taken: Taking) -> bool:
    return _DECLARED in own.metadata or own.name in taken.changed


def _changed(own: Field[Any], how: Any) -> Field[Any]:
    """Return a field with another help text or declaration, and with its own default."""
    if how is None:
        return own
    if isinstance(how, str):
        said: Declared = own.metadata[_DECLARED]
        how = _declared(said.kind, ..., said.names, {**said.settings, "help": how})
    if how.default is MISSING:
        how.default = own.default
    found: Field[Any] = how
    return found


def _parameter(name: str, hint: Any, declared: Field[Any]) -> Parameter:
    said: Declared = declared.metadata[_DECLARED]
    names, default, settings = said.names, declared.default, said.settings
    if hint is bool and default is False and not names:
        names = (f"--{name.replace('_', '-')}",)
    if get_origin(hint) is tuple:
        of = get_args(hint)[0]
        hint, default = list[of] | None, default or None  # type: ignore[valid-type]
        settings = {"metavar": "FILE", **settings} if of is Path else settings
    return Parameter(
        name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if default is MISSING else default,
        annotation=Annotated[hint, said.kind(*names, **settings)],
    )
