"""Tuning files of MPI libraries and others: read, written, explained, checked, compared and converted."""

from hocket.tuning_files.checking import Finding, findings
from hocket.tuning_files.comparing import Difference, Side, differences
from hocket.tuning_files.conversion import Converted, converted
from hocket.tuning_files.counterparts import LIBRARIES
from hocket.tuning_files.deciding import Verdict, decided, situation, verdicts
from hocket.tuning_files.decisions import DEFAULTS, Defaults, default_rules, defaults_of
from hocket.tuning_files.form import Choice, Rule, Rules, Situation, Span, measured
from hocket.tuning_files.format import Format
from hocket.tuning_files.formats import FORMATS, format_of, read, written
from hocket.tuning_files.untuned import Untuned, untuned

__all__ = [
    "DEFAULTS",
    "FORMATS",
    "LIBRARIES",
    "Choice",
    "Converted",
    "Defaults",
    "Difference",
    "Finding",
    "Format",
    "Rule",
    "Rules",
    "Side",
    "Situation",
    "Span",
    "Untuned",
    "Verdict",
    "converted",
    "decided",
    "default_rules",
    "defaults_of",
    "differences",
    "findings",
    "format_of",
    "measured",
    "read",
    "situation",
    "untuned",
    "verdicts",
    "written",
]
