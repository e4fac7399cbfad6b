"""Traces of MPI programs: each rank's calls with their times and arguments; reading, writing, export and import.

`hocket mpi trace` records traces. docs/replay.md describes the formats.
"""

from __future__ import annotations

from itertools import islice
from os import PathLike

from hocket._native import Error
from hocket.base import checks
from hocket.base.kinds import expecting
from hocket.traces.allprof import is_log
from hocket.traces.allprof import read_allprof as read_allprof
from hocket.traces.allprof import write_allprof as write_allprof
from hocket.traces.chakra import FIRST_BYTES, begins
from hocket.traces.chakra_lint import Gap as Gap
from hocket.traces.chakra_lint import Lint as Lint
from hocket.traces.chakra_lint import lint as lint
from hocket.traces.chakra_reading import read_chakra as read_chakra
from hocket.traces.file import read as read
from hocket.traces.file import write as write
from hocket.traces.functions import FUNCTIONS as FUNCTIONS
from hocket.traces.functions import Function as Function
from hocket.traces.functions import Kind as Kind
from hocket.traces.lines import lines_of
from hocket.traces.simgrid import write_simgrid as write_simgrid
from hocket.traces.simgrid_reading import begins_trace, excerpt, is_meant
from hocket.traces.simgrid_reading import read_simgrid as read_simgrid
from hocket.traces.trace import ANY as ANY
from hocket.traces.trace import NOBODY as NOBODY
from hocket.traces.trace import SELF as SELF
from hocket.traces.trace import THIS_ROOT as THIS_ROOT
from hocket.traces.trace import WORLD as WORLD
from hocket.traces.trace import Call as Call
from hocket.traces.trace import Communicator as Communicator
from hocket.traces.trace import RankTrace as RankTrace
from hocket.traces.trace import Trace as Trace

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
