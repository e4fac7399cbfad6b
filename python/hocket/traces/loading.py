"""Reading a trace in any format."""

from __future__ import annotations

from itertools import islice
from os import PathLike

from hocket._native import Error
from hocket.base import checks
from hocket.base.kinds import expecting
from hocket.traces.allprof_reading import is_log, read_allprof
from hocket.traces.chakra import FIRST_BYTES, begins
from hocket.traces.chakra_reading import read_chakra
from hocket.traces.file import read
from hocket.traces.lines import lines_of
from hocket.traces.simgrid_reading import begins_trace, excerpt, is_meant, read_simgrid
from hocket.traces.trace import Trace

_MOST_EMPTY_LINES = 1 << 20  # the number of lines without an action that are searched for the first action


def load(path: str | PathLike[str], *, compares_ranks: bool = True) -> Trace:
    """Read a trace in any known format, detected from the beginning of the file.

    Hocket's own traces begin with a JSON object. The first log of liballprof begins with `# htor's PMPI Tracer` or a
    call of `MPI_Init`. Rank 0's Chakra execution trace begins with a length and metadata. All other files count as
    SimGrid's time-independent traces: actions, or names of files of actions.

    Args:
        path: The file.
        compares_ranks: As for `read`; traces of other tools are always checked.

    Raises:
        Error: The file cannot be read or is malformed, or its ranks do not agree: file, rank, line, what was expected.
    """
    file = checks.path("trace", path)
    with expecting(file, "trace", "a trace"):
        with lines_of(file) as lines:
            if begins(lines.read(FIRST_BYTES)):
                return read_chakra(file)
        with lines_of(file) as lines:
            first = lines.next()
            begin = next(filter(is_meant, islice(lines, _MOST_EMPTY_LINES)), b"") if not is_meant(first) else first
        if is_log(first) or is_log(begin):
            return read_allprof(file)
        if not begin or begin.lstrip().startswith(b"{"):
            return read(file, compares_ranks=compares_ranks)
        if begins_trace(file, begin):
            return read_simgrid(file)
        readable = "SimGrid (actions, or names of existing files), liballprof or Chakra"
        raise Error(f"{file}: begins with {excerpt(begin)}, expected a trace of `hocket mpi trace`, {readable}")
