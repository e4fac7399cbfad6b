"""`hocket rules convert`: convert a tuning file to another format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from hocket._native import Error
from hocket.base import files
from hocket.base.units import format_count, format_ranks
from hocket.cli import options
from hocket.cli.rules.options import RANKS, SIZES, command, print_notes
from hocket.definitions.machine import Machine
from hocket.rules.tuning_files.activation import PARAMETERS_SUFFIX, environment_of, parameters_text, settings_of
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.form import Format, Rules
from hocket.rules.tuning_files.formats import format_of, read, write_rules
from hocket.tuning.comparing import kept_gain


@command(machine=options.machine)
def convert(
    source: str,
    target: str,
    source_format: str | None,
    target_format: str | None,
    ranks: tuple[int, ...] | None,
    ranks_per_node: int,
    machine: Machine,
) -> None:
    """Convert the rules in the file SOURCE to another format and write them to TARGET.

    SOURCE may also name a library's defaults, such as mpich-5.0. Rules that the other format cannot express are left to
    the library. The command reports them on stderr, with the share of the gain on --machine that TARGET keeps. If a
    file cannot be exact for all numbers of ranks, it is exact for the numbers in --ranks.
    """
    format = format_of(target, target_format, "--to")
    rules = read(source, source_format)
    conversion = convert_rules(rules, format.library, ranks=ranks, ranks_per_node=ranks_per_node)
    if rules.chooses and not conversion.rules.chooses:
        why = f"{format.library} has none of the algorithms of {source}" if conversion.left else conversion.notes[-1]
        raise Error(f"{target}: not written: {why}")
    content, notes = write_rules(conversion.rules, format), [*conversion.notes]
    if conversion.left:
        rule_count = format_count(sum(rule.choice is not None for rule in rules.rules), "rule")
        notes.append(f"{conversion.left} of {rule_count} with an algorithm are left to {format.library}")
        share = kept_gain(
            rules, conversion.rules, machine, ranks=ranks or RANKS, sizes=SIZES, ranks_per_node=ranks_per_node
        )
        if share is not None:
            own = f"{format.library}'s own choices on {format_ranks(set(ranks or RANKS))} ranks of {machine.name}"
            gain = f"{share:.0%} of the gain over {own} is kept"
            notes.append(gain if share >= 0 else f"the converted rules are slower than {own}")
    files.write(target, content)
    print_notes([*notes, *_activation(target, format, conversion.rules)])


def _activation(target: str, format: Format, rules: Rules) -> Iterator[str]:
    """Write what makes a library take a file beside it, and say what else does."""
    second = format.companion.write(rules) if format.companion else ""
    if second and files.is_stdout(target):
        yield f"{format.library} needs a second file for these calls, which a TARGET that is a file gets beside it"
    if format.command and Path(target).is_file():
        yield f"to use it: {format.command.replace('FILE', quote(target))}"
    if not format.settings or not Path(target).is_file():
        return
    paths = format.paths(target) if second else {target: format}
    for path in [*paths][1:]:
        files.write(path, second)
    settings = settings_of(paths, rules.functions)
    yield f"to use it: {environment_of(settings)}"
    if parameters := parameters_text(settings):
        place = Path(target).with_suffix(PARAMETERS_SUFFIX)
        files.write(place, parameters)
        yield f"the same as parameters of Open MPI: {place}"
