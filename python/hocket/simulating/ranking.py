"""What a comparison says of its algorithms: ranges of sizes, losses by faults, choices of libraries, measured times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Best:
    """A range of sizes with the same fastest algorithms."""

    first_bytes: int
    last_bytes: int
    algorithms: tuple[str, ...]


@dataclass(frozen=True)
class Loss:
    """What an algorithm loses by faults at a size."""

    algorithm: str
    without_faults_s: float
    time_s: float | None  # None if the call cannot end with the faults

    @property
    def ratio(self) -> float | None:
        """The time with faults as a multiple of the time without; None if the call cannot end, or takes no time."""
        if self.time_s is None or self.without_faults_s == 0:
            return None
        return self.time_s / self.without_faults_s


@dataclass(frozen=True)
class Default:
    """The choice of a library at a size without tuning."""

    library: str  # with its version, such as "mpich-5.0"
    size_bytes: int
    choice: str | None  # in the library's words; None if unknown
    algorithm: str | None  # the equivalent one of Hocket; None if there is none
    time_s: float | None  # None if it could not be simulated
    sentence: str = ""  # why it could not
    costs: str = ""  # in words, whether it has the costs of a protocol of the machine, if the library names one


@dataclass(frozen=True)
class MeasuredTime:
    """A measured time beside the simulated one."""

    algorithm: str  # with the values of its parameters, as measured
    size_bytes: int
    measured_s: float  # the median of several
    simulated_s: float | None  # of the same values; None if it was not simulated
