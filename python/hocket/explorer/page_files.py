"""The files of the explorer's page, and the scripts that draw its charts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parent / "page"


def page_file(name: str) -> str:
    """Return the text of one of the page's files."""
    return (_PAGE / name).read_text(encoding="utf-8")


@cache
def vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert
    from altair.utils._importers import vl_version_for_vl_convert

    # As in Altair's own pages: the version of the language in which it writes charts.
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version_for_vl_convert()))
