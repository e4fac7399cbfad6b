"""`hocket tune --measured`: rules from files of measured times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hocket._native import Error
from hocket.cli.measurements import read_measured
from hocket.tuning.from_measurements import tune_measured
from hocket.tuning.report import Tuning


def tune_files(
    files: Sequence[str],
    algorithms: Sequence[str],
    collectives: Sequence[str],
    ranks: Sequence[int] | None,
    sizes_bytes: Sequence[int] | None,
    *,
    tolerance: float,
    order: Literal["any", "fixed"],
) -> Tuning:
    """Decide from the times of files: of some collectives, and of some ranks and sizes if they are given.

    Raises:
        UsageError: There are algorithms without files, or not one for each file.
        Error: A file cannot be read or does not tell what it must; or its times cannot be compared.
    """
    # Files that do not tell their collective or their number of ranks are of the only one that is asked for.
    known_ranks = ranks[0] if ranks is not None and len(ranks) == 1 else None
    known_collective = collectives[0] if len(collectives) == 1 else None
    tunings = [
        one
        for one in read_measured(files, algorithms, collective=known_collective, ranks=known_ranks)
        if one.collective in collectives
        and (ranks is None or one.ranks in ranks)
        and (sizes_bytes is None or one.size_bytes in sizes_bytes)
    ]
    if not tunings:
        raise Error("--measured: got no time of the calls to tune, expected times of at least two algorithms")
    return tune_measured(tunings, tolerance=tolerance, order=order)
