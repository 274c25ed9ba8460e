"""What a call of a study was given, looked at before anything is read or run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from numbers import Integral

from ...model.errors import InputError, Problem


def require_arguments(
    *,
    texts: Mapping[str, object] | None = None,
    paths: Mapping[str, object] | None = None,
    numbers: Mapping[str, tuple[object, int]] | None = None,
) -> None:
    """InputError with everything that is wrong with arguments, by name.

    texts: lists of texts. paths: of files. numbers: a whole number, and the least that it may be.
    """
    wrong = [
        *_of_texts(texts or {}),
        *(
            Problem(f"must be the path of a file, not {_kind(value)}", name)
            for name, value in (paths or {}).items()
            if not isinstance(value, (str, os.PathLike))
        ),
        *(
            Problem(f"must be a whole number, {least} or more, not {value!r}", name)
            for name, (value, least) in (numbers or {}).items()
            if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least
        ),
    ]
    if wrong:
        raise InputError(wrong)


def _of_texts(texts: Mapping[str, object]) -> Iterator[Problem]:
    for name, given in texts.items():
        if isinstance(given, str):
            yield Problem(f"must be a list of texts: [{given!r}], not {given!r}", name)
        elif not isinstance(given, Collection) or isinstance(given, (bytes, Mapping)):
            yield Problem(f"must be a list of texts KEY=VALUE, not {_kind(given)}", name)
        else:
            for number, item in enumerate(given):
                if not isinstance(item, str):
                    yield Problem(
                        f"must be a text KEY=VALUE, not {_kind(item)}", f"{name}[{number}]"
                    )


def _kind(value: object) -> str:
    return repr(value) if value is None else f"of type {type(value).__name__}"
