"""`hocket rules lint`: find likely mistakes in a tuning file."""

from __future__ import annotations

from hocket.base.units import format_count
from hocket.cli.output import print_json
from hocket.cli.printing import say
from hocket.cli.rules.options import command
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.formats import format_of, read


@command()
def lint(file: str, source_format: str | None, ranks: int | None, ranks_per_node: int | None, as_json: bool) -> int:
    """Report lines of FILE that its library may read in an unintended way.

    The exit status is 1 if there is a mistake. Hints do not change the exit status.
    """
    format = format_of(file, source_format, "--from")
    rules = read(file, format.name)
    all_findings = findings(rules, format.name, ranks=ranks, ranks_per_node=ranks_per_node)
    mistakes = [finding for finding in all_findings if not finding.is_hint]
    if as_json:
        print_json([{**vars(finding), "is_hint": finding.is_hint} for finding in all_findings])
    else:
        for finding in all_findings:
            kind = f"hint: {finding.kind}" if finding.is_hint else finding.kind
            say(f"{file}:{finding.line}: {kind}: {finding.sentence}")
        if not mistakes:
            say(f"ok: {format_count(len(rules.rules), 'rule')} of {format.name}")
    return 1 if mistakes else 0
