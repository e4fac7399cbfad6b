"""Traces of MPI programs: each rank's calls with their times and arguments; reading, writing, export and import.

`hocket mpi trace` records traces. docs/replay.md describes the formats.
"""

from __future__ import annotations

from hocket.traces.allprof import write_allprof as write_allprof
from hocket.traces.allprof_reading import read_allprof as read_allprof
from hocket.traces.chakra_lint import Gap as Gap
from hocket.traces.chakra_lint import Lint as Lint
from hocket.traces.chakra_lint import lint as lint
from hocket.traces.chakra_reading import read_chakra as read_chakra
from hocket.traces.file import read as read
from hocket.traces.file import write as write
from hocket.traces.functions import FUNCTIONS as FUNCTIONS
from hocket.traces.functions import Function as Function
from hocket.traces.functions import Kind as Kind
from hocket.traces.loading import load as load
from hocket.traces.simgrid import write_simgrid as write_simgrid
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
