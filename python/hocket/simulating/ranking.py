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
    """What an algorithm loses by faults at a size.

    Attributes:
        algorithm: The algorithm.
        without_faults_s: The mean time without faults.
        time_s: The mean time with faults; None if the call cannot end.
    """

    algorithm: str
    without_faults_s: float
    time_s: float | None

    @property
    def ratio(self) -> float | None:
        """The time with faults as a multiple of the time without; None if the call cannot end, or takes no time."""
        if self.time_s is None or self.without_faults_s == 0:
            return None
        return self.time_s / self.without_faults_s


@dataclass(frozen=True)
class Default:
    """The choice of a library at a size without tuning.

    Attributes:
        library: The library with its version, such as "mpich-5.0".
        size_bytes: The size.
        choice: Its algorithm, in the library's words; None if unknown.
        algorithm: The equivalent algorithm of Hocket; None if there is none.
        time_s: The mean time of this algorithm; None if it could not be simulated.
        sentence: Why it could not be simulated.
        costs: In words, whether it has the costs of a protocol of the machine, if the library names one.
    """

    library: str
    size_bytes: int
    choice: str | None
    algorithm: str | None
    time_s: float | None
    sentence: str = ""
    costs: str = ""


@dataclass(frozen=True)
class MeasuredTime:
    """A measured time beside the simulated one.

    Attributes:
        algorithm: The algorithm and the values of its parameters, as measured.
        size_bytes: The size.
        measured_s: The measured time, the median of several.
        simulated_s: The mean simulated time of this algorithm with these values; None if it was not simulated.
    """

    algorithm: str
    size_bytes: int
    measured_s: float
    simulated_s: float | None
