"""Common code of commands that run trials: the number of trials, and their results."""

from __future__ import annotations

from dataclasses import replace

import click

from hocket.definitions.machine import Machine
from hocket.simulating.simulation import UNTIL_DECIDED, Trials

_MOST_TRIALS = 1_000_000  # the default of --trials if --until-ci is given


def asked_trials(trials: int, seed: int, until_ci: float | None, machine: Machine, *, is_drawn: bool = False) -> Trials:
    """Return the trials that --trials, --seed and --until-ci ask for; refuse several on a machine without noise."""
    if not (machine.is_random or is_drawn) and (trials > 1 or until_ci is not None):
        option = f"--trials: got {trials}" if trials > 1 else f"--until-ci: got {until_ci:g}"
        raise click.UsageError(f"{option}, but machine {machine.name} has no noise, so that all trials are alike")
    return Trials(trials if trials > 1 or until_ci is None else _MOST_TRIALS, seed, until_ci)


def compared_trials(
    trials: int | None, seed: int, until_ci: float | None, machine: Machine, *, is_drawn: bool = False
) -> Trials:
    """Return the trials that these options ask for in comparisons, as `asked_trials`: by default, until decided."""
    if trials is None and until_ci is None:
        return replace(UNTIL_DECIDED, seed=seed)
    return asked_trials(1 if trials is None else trials, seed, until_ci, machine, is_drawn=is_drawn)


def bound_of(first: Trials, *more: Trials) -> str:
    """Return what an estimate of the first of these rounds of trials is for all of them, as `announce` takes it."""
    return "at least " if more or first.until_interval is not None else ""
