"""Texts of the page in the words of the instance's scheduler; those of LSF stay as they are."""

from __future__ import annotations

import re
from typing import Any

from ...model.instance import Instance
from ...model.slurm_words import family_text, unit_words

#: Text between two tags, and text in an attribute that is read aloud or shown.
_SHOWN = re.compile(r"(?<=>)[^<>]+|\b(?:title|aria-label|placeholder)=\"[^\"]*\"")
#: Words for units in the page's own scripts.
_IN_SCRIPT = re.compile(r"\"(slot|host|Slots|Hosts)\"|· (queue) (?=\$)")


def html_in_words(instance: Instance, html: str) -> str:
    """Return HTML with its texts in the words of the instance's scheduler; tags stay."""
    if not instance.params.of_slurm:
        return html
    return _SHOWN.sub(lambda found: family_text(instance, found[0]), f">{html}")[1:]


def script_in_words(instance: Instance, script: str) -> str:
    """Return a script of the page with the units' words of the instance's scheduler."""
    if not instance.params.of_slurm:
        return script
    words = unit_words(instance)
    words |= {"Slots": f"{words['slot']}s", "Hosts": f"{words['host'].capitalize()}s"}

    def replaced(found: re.Match[str]) -> str:
        return f"· {words['queue']} " if found[2] else f'"{words[found[1]]}"'

    return _IN_SCRIPT.sub(replaced, script)


def data_in_words(instance: Instance, data: Any) -> Any:
    """Return data with its texts in the words of the instance's scheduler; keys stay."""
    if not instance.params.of_slurm:
        return data
    if isinstance(data, str):
        return family_text(instance, data)
    if isinstance(data, dict):
        return {key: data_in_words(instance, value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [data_in_words(instance, item) for item in data]
    return data
