"""`hocket judge`: whether measured times are good, what limits them, which algorithm ran, and what changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from hocket.base.executors import ExecutorKind, open_executor
from hocket.base.files import read_text
from hocket.cli import options
from hocket.cli.measurements import facts_options
from hocket.cli.output import hand_out, print_facts, print_files, print_table, print_words, progress, tell_people
from hocket.cli.printing import note
from hocket.definitions.machine import Machine
from hocket.judging.assessment import Assessment
from hocket.judging.judge import PASTED, judge_text
from hocket.measurements.measurement import Facts
from hocket.words.assessments import assessment_table, finding_lines

_STDIN, _STDIN_FILE = "-", "/dev/stdin"


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILES...", type=click.Path())
@click.option(
    "--machine",
    type=options.MACHINE,
    help="The machine on which the times were measured; without one, they are judged by themselves.",
)
@click.option("--library", metavar="NAME", help="The library that ran, such as openmpi-5.0, if it is known.")
@facts_options
@options.parameter
@click.option("--plot", type=options.PICTURE, help="Also draw measured and expected times over the size.")
@options.executor
@options.jobs
@options.as_json
def judge(
    files: tuple[str, ...],
    machine: Machine | None,
    library: str | None,
    facts_of: Callable[..., list[Facts]],
    param: tuple[tuple[str, str], ...],
    plot: str | None,
    executor: ExecutorKind,
    jobs: int,
    as_json: bool,
) -> None:
    """Judge measured times of collectives: whether they are good, what limits them, and which algorithm ran.

    FILES is the output of a benchmark, as of OSU, IMB, nccl-tests, rccl-tests, PICO or `hocket mpi bench`, or a table;
    also within logs and pasted text. `-` reads pasted text up to Ctrl-D.
    """
    options.check_files({"--plot": plot})
    [facts] = facts_of(1, param)
    text = _text(files[0])
    with open_executor(executor, jobs=jobs, say=note) as pool, progress("simulating", None):
        found = judge_text(
            text, PASTED if files[0] == _STDIN else files[0], facts, machine=machine, library=library, executor=pool
        )
    entry = found.as_dict()
    hand_out(entry, plot=plot, output=None, as_json=as_json, draw=found.plot, show=lambda files: _show(found, files))


def _text(file: str) -> str:
    if file == _STDIN and sys.stdin.isatty():
        tell_people("paste the output of a benchmark, then press Ctrl-D")
    return read_text(_STDIN_FILE if file == _STDIN else file)


def _show(found: Assessment, files: Any) -> None:
    for number, curve in enumerate(found.curves):
        if number:
            print_words("")
        print_words(f"{curve.verdict.sentence}.", bold=True, inner=0)
        if (table := assessment_table(curve)) is not None:
            print_table(table.columns, table.rows, right=table.right)
        print_facts(finding_lines(curve))
    print_facts([(one.subject, one.sentence) for one in found.findings])
    print_files(files)
