"""Algorithms of the catalogue inside real MPI programs.

A library is compiled against the user's MPI, and preloaded: the program's collectives then run the algorithms that
rules choose, over the MPI's own sends and receives. Programs are not changed.
"""

from __future__ import annotations

from hocket.mpi.installation import Installation
from hocket.mpi.installing import Installed, install
from hocket.mpi.job_logs import JobLog, LogEntry, Report, ReportRow, Use, read_job_log
from hocket.mpi.launch import command, environment, saved_rules
from hocket.mpi.preload import build

__all__ = [
    "Installation",
    "Installed",
    "JobLog",
    "LogEntry",
    "Report",
    "ReportRow",
    "Use",
    "build",
    "command",
    "environment",
    "install",
    "read_job_log",
    "saved_rules",
]
