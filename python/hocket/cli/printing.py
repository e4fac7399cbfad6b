"""Printing text for people. What comes from files, also their names, cannot give orders to the terminal."""

from __future__ import annotations

from contextlib import suppress

import click

from hocket.base.checks import printable_lines
from hocket.base.error import printable
from hocket.base.files import naming


class StyledText(str):
    """A text with a style: a colour by the names of click, or None for the terminal's own, and whether it is bold."""

    fg: str | None
    is_bold: bool

    def __new__(cls, text: str, *, fg: str | None = None, bold: bool = False) -> StyledText:
        """Return the text with a style."""
        text_made = super().__new__(cls, text)
        text_made.fg, text_made.is_bold = fg, bold
        return text_made


def say(*parts: str, bold: bool = False) -> None:
    """Print a text, given in parts, on stdout. Control characters are escaped, but for line breaks."""
    put("".join(_in_style(StyledText(part, bold=True) if bold else part) for part in parts) + "\n")


def put(text: str) -> None:
    """Print a text on stdout that has no control characters of others; a BrokenPipeError if nobody reads stdout."""
    with naming("stdout"):
        click.echo(text, nl=False)


def note(text: str) -> None:
    """Print a line about the work on stderr. Where stderr cannot be written, the work goes on."""
    with suppress(OSError):
        click.echo(f"hocket: {printable(text)}", err=True)


def _in_style(part: str) -> str:
    text = printable_lines(part)
    return click.style(text, fg=part.fg, bold=part.is_bold or None) if isinstance(part, StyledText) else text
