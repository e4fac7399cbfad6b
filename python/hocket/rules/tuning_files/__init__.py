"""Tuning files of MPI libraries and others: read, written, explained, checked, compared and converted."""

from hocket.rules.tuning_files.checking import Finding, findings
from hocket.rules.tuning_files.compositions import remark
from hocket.rules.tuning_files.conversion import Converted, converted
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.deciding import Verdict, decided, situation, verdicts
from hocket.rules.tuning_files.decisions import (
    DEFAULTS,
    MPI_DEFAULTS,
    Defaults,
    default_rules,
    defaults_named,
    defaults_of,
)
from hocket.rules.tuning_files.form import Choice, Format, Rule, Rules, Situation, Span, measured
from hocket.rules.tuning_files.formats import FORMATS, format_of, read, written
from hocket.rules.tuning_files.untuned import Untuned, switches, untuned

__all__ = [
    "DEFAULTS",
    "FORMATS",
    "LIBRARIES",
    "MPI_DEFAULTS",
    "Choice",
    "Converted",
    "Defaults",
    "Finding",
    "Format",
    "Rule",
    "Rules",
    "Situation",
    "Span",
    "Untuned",
    "Verdict",
    "converted",
    "decided",
    "default_rules",
    "defaults_named",
    "defaults_of",
    "findings",
    "format_of",
    "measured",
    "read",
    "remark",
    "situation",
    "switches",
    "untuned",
    "verdicts",
    "written",
]
