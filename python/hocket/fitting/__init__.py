"""Machine files from measured times of collectives."""

from hocket.fitting.certainty import Pair, Value
from hocket.fitting.conditions import Condition
from hocket.fitting.fit import DEFAULT_CELLS, DEFAULT_STARTS, fit
from hocket.fitting.judging import BANDS, Deviation, Judged, Regret, deviation
from hocket.fitting.result import Fit

__all__ = [
    "BANDS",
    "DEFAULT_CELLS",
    "DEFAULT_STARTS",
    "Condition",
    "Deviation",
    "Fit",
    "Judged",
    "Pair",
    "Regret",
    "Value",
    "deviation",
    "fit",
]
