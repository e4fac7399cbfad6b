"""Measured times of collectives, in the formats of those who measure."""

from hocket.fitting.measurements.choosing import tune_measured
from hocket.fitting.measurements.formats import FORMATS, read_measurements
from hocket.fitting.measurements.measurement import DEFAULT, Measurement, Reading, Told

__all__ = ["DEFAULT", "FORMATS", "Measurement", "Reading", "Told", "read_measurements", "tune_measured"]
