"""Algorithms of the catalogue inside real MPI programs.

Hocket compiles a library against the user's MPI and preloads it. The program's collectives then run the algorithms that
rules choose, over the MPI's own sends and receives. Programs need no changes.
"""

from __future__ import annotations

from hocket.mpi.installation import Installation as Installation
from hocket.mpi.installation import build as build
from hocket.mpi.installing import InstalledLibrary as InstalledLibrary
from hocket.mpi.installing import install as install
from hocket.mpi.job_logs import JobLog as JobLog
from hocket.mpi.job_logs import LogEntry as LogEntry
from hocket.mpi.job_logs import Report as Report
from hocket.mpi.job_logs import ReportRow as ReportRow
from hocket.mpi.job_logs import Use as Use
from hocket.mpi.job_logs import read_job_log as read_job_log
from hocket.mpi.launch import command as command
from hocket.mpi.launch import environment as environment
from hocket.mpi.launch import saved_rules as saved_rules
