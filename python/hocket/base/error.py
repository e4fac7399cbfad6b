"""The only exception of Hocket, and how texts of others are printed.

The compiled module raises this exception, too: it imports this file, which therefore imports nothing of Hocket.
"""

from __future__ import annotations

import json


def printable(text: str) -> str:
    """Return a text of others with its control characters escaped as in JSON. They could give orders to a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


class Error(ValueError):
    """Inability to do what was asked, in one line: what, where, and what was expected."""

    __module__ = "hocket"

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))
