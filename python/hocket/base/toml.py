"""TOML files, written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml(values: Mapping[str, Any], path: str = "") -> str:
    """Return sections as TOML text; texts, numbers and lists are written as in JSON."""
    keys, tables = [], []
    for key, value in values.items():
        name = f"{path}{_key(key)}"
        if isinstance(value, dict):
            tables.append(f"\n[{name}]\n{toml(value, name + '.')}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            tables += [f"\n[[{name}]]\n{toml(each, name + '.')}" for each in value]
        else:
            keys.append(f"{_key(key)} = {_quoted(value)}\n")
    return "".join(keys + tables)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
