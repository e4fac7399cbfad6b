"""Everything public, from the modules where it lives; as `hocket` has it."""

from hocket._native import Error
from hocket.authoring import algorithm, load
from hocket.bounds import Bound, bound
from hocket.call import Call
from hocket.comparison import Comparison, compare
from hocket.critical_paths import Step, critical_path
from hocket.dependencies import dependency_graph
from hocket.explanation import Explanation, Remedy, explain
from hocket.fitting import Fit, fit
from hocket.library import Algorithm, Parameter, algorithms, catalogue, find
from hocket.machine import Machine, presets
from hocket.measurements import Measurement, read_measurements
from hocket.memory import run
from hocket.multicast import Delivery, simulate_multicast
from hocket.replays import AlgorithmUse, FunctionUse, RankUse, Replay, replay, replay_events
from hocket.rules import LIBRARY_RULES, choose
from hocket.schedule import Schedule, record
from hocket.simulation import (
    Circuits,
    Links,
    LinkUse,
    Passage,
    Simulation,
    Statistics,
    Trace,
    Trials,
    link_passages,
    link_uses,
    simulate,
    simulate_schedule,
    trace,
    trace_schedule,
)
from hocket.sweeps import Grid, Row, Table, sweep
from hocket.topology import Topology
from hocket.verification import Verdict, verify, verify_all, verify_schedule

__all__ = [
    "LIBRARY_RULES",
    "Algorithm",
    "AlgorithmUse",
    "Bound",
    "Call",
    "Circuits",
    "Comparison",
    "Delivery",
    "Error",
    "Explanation",
    "Fit",
    "FunctionUse",
    "Grid",
    "LinkUse",
    "Links",
    "Machine",
    "Measurement",
    "Parameter",
    "Passage",
    "RankUse",
    "Remedy",
    "Replay",
    "Row",
    "Schedule",
    "Simulation",
    "Statistics",
    "Step",
    "Table",
    "Topology",
    "Trace",
    "Trials",
    "Verdict",
    "algorithm",
    "algorithms",
    "bound",
    "catalogue",
    "choose",
    "compare",
    "critical_path",
    "dependency_graph",
    "explain",
    "find",
    "fit",
    "link_passages",
    "link_uses",
    "load",
    "presets",
    "read_measurements",
    "record",
    "replay",
    "replay_events",
    "run",
    "simulate",
    "simulate_multicast",
    "simulate_schedule",
    "sweep",
    "trace",
    "trace_schedule",
    "verify",
    "verify_all",
    "verify_schedule",
]
