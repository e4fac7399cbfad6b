"""The pictures of the validation: how far one number is from the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hocket.studies.study import Rows

if TYPE_CHECKING:
    import altair as alt

__all__ = ["held", "ratios"]

_WIDTH, _HEIGHT = 560, 340  # pixels


def ratios(rows: Rows, title: str) -> alt.Chart:
    """Draw the time of others over Hocket's, case by case, over the size."""
    import altair as alt

    values = [
        {**row, "size": max(row["size_bytes"], 1), "ratio": row["other_s"] / row["hocket_s"]}
        for row in rows
        if row["hocket_s"] > 0 and row["other_s"] > 0
    ]
    subtitle = f"{len(values)} cases" if values else str(rows[0]["note"])
    drawing: alt.Chart = (
        alt.Chart({"values": values})
        .mark_point(filled=True, opacity=0.6)
        .encode(
            x=alt.X("size:Q", title="size of the message, bytes").scale(type="log", base=2),
            y=alt.Y("ratio:Q", title="their time over Hocket's").scale(type="log", base=2),
            tooltip=["case:N", "size_bytes:Q", "ratio:Q"],
        )
        .properties(width=_WIDTH, height=_HEIGHT, title=alt.TitleParams(title, subtitle=[subtitle], anchor="start"))
    )
    return drawing


def held(rows: Rows, title: str) -> alt.Chart:
    """Draw how many claims of each study hold."""
    import altair as alt

    counts = Counter((str(row["case"]).partition(":")[0], str(row["note"])) for row in rows)
    values = [{"study": study, "holds": holds, "claims": count} for (study, holds), count in counts.items()]
    drawing: alt.Chart = (
        alt.Chart({"values": values})
        .mark_bar()
        .encode(x=alt.X("claims:Q", title="claims"), y=alt.Y("study:N", title=None), color=alt.Color("holds:N"))
        .properties(width=_WIDTH, title=alt.TitleParams(title, anchor="start"))
    )
    return drawing
