"""One row of a sweep's table."""

from __future__ import annotations

from dataclasses import dataclass

CONDITIONS = ("noise", "arrivals", "cadence", "faults")  # the columns that say under which conditions a machine runs


@dataclass(frozen=True, kw_only=True)
class Row:
    """One cell of a grid, with its result or its refusal.

    Attributes:
        algorithm: The algorithm.
        collective: Its collective.
        parameters: Values of all its parameters.
        by_formula: The names of those parameters whose values the algorithm's formula chose for this call, with spaces
            between them.
        ranks: Number of ranks.
        size_bytes: The message of the MPI call.
        machine: The machine's name.
        noise: The noise's name; "" for the noise of the machine file.
        arrivals: When the ranks began the call, see `hocket.simulate`; "" if all began together.
        cadence: When the ranks began each of several calls, see `hocket.simulate`; "" for one call.
        faults: The faults of links, with semicolons between them; "" without faults.
        seed: Seed of all random numbers.
        trials: Number of trials; 0 if the call was refused.
        time_mean_s: Time when the last rank ended, mean over the trials; with a cadence, the mean time of a call. It
            and the following values are None if the call was refused.
        time_stderr_s: Standard error of the mean.
        time_interval_low_s: Lower end of the confidence interval of the mean, 95 %.
        time_interval_high_s: Upper end.
        time_min_s: The smallest time.
        time_max_s: The largest time.
        time_q05_s: The quantile 0.05 of the times; the others likewise.
        interval_s: With a cadence, the mean interval between the ends of two calls in the second half of the calls.
        messages: Number of messages of all ranks together.
        message_bytes: Bytes of these messages.
        engine: The engine that ran.
        refusal: The reason why there is no result, in a sentence; None if there is a result.
        version: Version of Hocket.
    """

    algorithm: str
    collective: str
    parameters: dict[str, int | str]
    by_formula: str = ""
    ranks: int
    size_bytes: int
    machine: str
    noise: str
    arrivals: str = ""
    cadence: str = ""
    faults: str = ""
    seed: int
    trials: int
    time_mean_s: float | None = None
    time_stderr_s: float | None = None
    time_interval_low_s: float | None = None
    time_interval_high_s: float | None = None
    time_min_s: float | None = None
    time_max_s: float | None = None
    time_q05_s: float | None = None
    time_q25_s: float | None = None
    time_q50_s: float | None = None
    time_q75_s: float | None = None
    time_q95_s: float | None = None
    time_q99_s: float | None = None
    interval_s: float | None = None
    messages: int | None = None
    message_bytes: int | None = None
    engine: str | None = None
    refusal: str | None = None
    version: str

    def values(self, *, by_formula: bool) -> dict[str, int | str]:
        """Return the values of parameters that the formula chose, or the others."""
        names = self.by_formula.split()
        return {name: value for name, value in self.parameters.items() if (name in names) is by_formula}
