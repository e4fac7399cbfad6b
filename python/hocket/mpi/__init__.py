"""Algorithms of the catalogue inside real MPI programs.

Hocket compiles a library against the user's MPI and preloads it. The program's collectives then run the algorithms that
rules choose, over the MPI's own sends and receives. Programs need no changes.
"""

from __future__ import annotations

from hocket.mpi.installation import Installation, build
from hocket.mpi.installing import InstalledLibrary, install
from hocket.mpi.job_logs import JobLog, LogEntry, Report, ReportRow, Use, read_job_log
from hocket.mpi.launch import command, environment, saved_rules

__all__ = [
    "Installation",
    "InstalledLibrary",
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
