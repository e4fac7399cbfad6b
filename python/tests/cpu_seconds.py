"""CPU seconds of tests: what takes long belongs to `make test-long`."""

import os
from collections.abc import Generator

import pytest

LISTED_S = float(os.environ.get("HOCKET_TEST_CPU", "5"))
"""The summary lists tests that take longer."""

MOST_S = 20.0
"""A test that takes longer fails. A slow host may take four times as long as a quick one."""

FREE = ("long", "real_mpi", "wheel", "mpi", "dask")
"""Marks of tests that may take longer: `make test` leaves them out, or waiting ranks and workers use a processor."""

FREE_FOLDERS = ("mpi", "lab")
"""Folders of tests that start ranks of MPI."""


class CpuSeconds:
    """Counts the CPU seconds of each test, with the processes that it waits for.

    What ends after the test does not count: the last test of a module ends what all of them shared, such as a browser.
    """

    def __init__(self) -> None:
        self.start_s = 0.0
        self.slow: list[tuple[float, str]] = []

    def pytest_runtest_logstart(self) -> None:
        """Begin a test."""
        self.start_s = sum(os.times()[:4])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """End a test."""
        report = yield
        if report.when == "call":
            used_s = sum(os.times()[:4]) - self.start_s
            report.user_properties.append(("cpu_s", used_s))
            is_free = item.path.parent.name in FREE_FOLDERS or any(map(item.get_closest_marker, FREE))
            if used_s > MOST_S and report.passed and not is_free:
                report.outcome = "failed"
                report.longrepr = f"took {used_s:.0f} CPU s, expected at most {MOST_S:.0f}, or the mark `long`"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the summary lists, also of tests in other processes."""
        used_s = float(dict(report.user_properties).get("cpu_s", 0))
        if report.when == "call" and used_s > LISTED_S:
            self.slow.append((used_s, report.nodeid))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List slow tests."""
        if self.slow:
            terminalreporter.section(f"tests that took more than {LISTED_S:g} CPU s")
        for used_s, test in sorted(self.slow, reverse=True):
            terminalreporter.line(f"{used_s:6.2f} {test}")
