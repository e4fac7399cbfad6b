"""Everything public, from the modules where it lives; as `hocket` has it."""

from hocket._native import Error
from hocket.base.call import Call
from hocket.base.results import Later
from hocket.definitions.authoring import algorithm, load
from hocket.definitions.libraries import LIBRARY_RULES
from hocket.definitions.library import Algorithm, Parameter, algorithms, catalogue, find
from hocket.definitions.machine import Machine, presets
from hocket.definitions.memory import run
from hocket.definitions.topology import LinkUse, Topology
from hocket.definitions.verification import Verdict, verify
from hocket.fitting.fit import fit
from hocket.fitting.result import Fit
from hocket.judging.assessment import Assessment
from hocket.judging.changes import Changes, changes
from hocket.judging.finding import Finding
from hocket.judging.judge import judge
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import Measurement, Spread
from hocket.rules.choosing import choose
from hocket.schedules.checking import verify_schedule
from hocket.schedules.dependencies import dependency_graph
from hocket.schedules.schedule import Schedule, record
from hocket.simulating.bounds import Bound, bound
from hocket.simulating.comparison import Comparison, compare
from hocket.simulating.critical_paths import Step, critical_path
from hocket.simulating.estimates import Estimate, estimate
from hocket.simulating.explanation import Explanation, Remedy, explain
from hocket.simulating.multicast import Delivery, simulate_multicast
from hocket.simulating.replays import AlgorithmUse, FunctionUse, RankUse, Replay, replay, replay_events
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import (
    Circuits,
    Links,
    Passage,
    Repeated,
    Simulation,
    Statistics,
    Trials,
    simulate,
    simulate_until,
)
from hocket.simulating.sweeps import sweep
from hocket.simulating.sweeps.grid import Grid
from hocket.simulating.sweeps.row import Row
from hocket.simulating.sweeps.table import Table
from hocket.simulating.together import JobTimes, Meeting, Together, simulate_together
from hocket.tuning.from_measurements import tune_measured
from hocket.tuning.report import Tuning
from hocket.tuning.tune import tune

__all__ = [
    "LIBRARY_RULES",
    "Algorithm",
    "AlgorithmUse",
    "Assessment",
    "Bound",
    "Call",
    "Changes",
    "Circuits",
    "Comparison",
    "Delivery",
    "Error",
    "Estimate",
    "Explanation",
    "Finding",
    "Fit",
    "FunctionUse",
    "Grid",
    "JobTimes",
    "Later",
    "LinkUse",
    "Links",
    "Machine",
    "Measurement",
    "Meeting",
    "Parameter",
    "Passage",
    "RankUse",
    "Remedy",
    "Repeated",
    "Replay",
    "Row",
    "Scene",
    "Schedule",
    "Simulation",
    "Spread",
    "Statistics",
    "Step",
    "Table",
    "Together",
    "Topology",
    "Trials",
    "Tuning",
    "Verdict",
    "algorithm",
    "algorithms",
    "bound",
    "catalogue",
    "changes",
    "choose",
    "compare",
    "critical_path",
    "dependency_graph",
    "estimate",
    "explain",
    "find",
    "fit",
    "judge",
    "load",
    "presets",
    "read_measurements",
    "record",
    "replay",
    "replay_events",
    "run",
    "simulate",
    "simulate_multicast",
    "simulate_together",
    "simulate_until",
    "sweep",
    "tune",
    "tune_measured",
    "verify",
    "verify_schedule",
]
