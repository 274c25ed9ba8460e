"""x"""
from typing import Any
from ..instance import Instance
def dump(instance: Instance) -> str: return ""
def dump_json(instance: Instance) -> str: return ""
def to_document(instance: Instance) -> dict[str, Any]: return {}
