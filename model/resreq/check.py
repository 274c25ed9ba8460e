"""The syntax check of BSUB_CHK_RESREQ: the select section alone, under strict syntax (REQ-09)."""

from __future__ import annotations

from dataclasses import replace

from .errors import ResreqError
from .options import Options
from .parser import parse_with_notes
from .scanner import SectionText, is_compound, sections, terms, unquoted

VALID = "Resource requirement string is valid."
STRICT = Options(strict=True)


def check_select(text: str, options: Options = STRICT) -> tuple[bool, str]:
    """Whether the select section of a -R string is right, and the sentence that bsub prints.

    Other sections are not read; an empty string is valid.
    """
    inner, _ = unquoted(text)
    try:
        bodies = [term.body for term in terms(inner)] if is_compound(inner) else [inner]
        for body in bodies:
            _check(body, replace(options, strict=True))
    except ResreqError as error:
        return False, f'Error near "{error.token}": {error.what}. Job not submitted.'
    return True, VALID


def _check(text: str, options: Options) -> None:
    found, stray = sections(text)
    selections = [section for section in found if section.keyword in ("", "select")]
    if len(selections) > 1:
        _refuse(selections[1], "duplicate section")
    for section in stray:
        _refuse(section, "the selection must come first or stand in select[]")
    for section in selections:
        if section.body.strip():
            _read(section.body, options)


def _read(body: str, options: Options) -> None:
    try:
        parse_with_notes(f"select[{body}]", options)
    except ResreqError as error:
        # At its end there is no token to name but the last one before it.
        at_end = error.position is not None and error.position >= len("select[" + body.rstrip())
        token = body.split()[-1] if at_end else error.token
        raise ResreqError(error.what, text=body, token=token) from None


def _refuse(section: SectionText, what: str) -> None:
    raise ResreqError(what, text=section.body, token=section.keyword or section.body)
