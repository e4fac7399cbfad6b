"""Write the pages of the catalogue: docs/catalogue/<collective>/<algorithm>.md, from what each algorithm's file says.

A new algorithm gets its page, and its line in the tables, without a change here.
"""

import re
import shutil
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import hocket
from hocket.base.units import format_bytes, format_time, format_value
from hocket.definitions.library import COLLECTIVES, MEANINGS
from hocket.drawing.picture import picture
from hocket.words.simulations import order

CATALOGUE = Path(__file__).parent / "catalogue"

MACHINE = "cluster"
PICTURE_RANKS = 8
PRICED_RANKS = (8, 64)
PRICED_SIZES_BYTES = (8, 4096, 1 << 20)

INDEX_PAGE = """\
# The catalogue

{count} algorithms. Each page is written from the file that holds the algorithm: its header, its formulas, its program.
`hocket show COLLECTIVE ALGORITHM` prints the same.

{sections}

```{{toctree}}
:hidden:

{pages}
```
"""

COLLECTIVE_PAGE = """\
# {collective}

{meaning}

{table}

```shell
hocket verify {collective}
hocket compare {collective} --ranks 64{sizes} --machine {machine}
```

```{{toctree}}
:hidden:

{pages}
```
"""

ALGORITHM_PAGE = """\
# {label}

{header}

## Cost

```{{code-block}} text
:class: formula
time      {cost}
messages  {messages}
```
{order}
The formula is the time of the critical path in the [Hockney model](../../models-reference.md#hockney), in seconds:
`P` ranks, `n` bytes of the call's message (`--size`), `alpha` s, `beta` and `gamma` s/B. Messages are counted over all
ranks.
{parameters}
On the machine [{machine}](../../machine-files.md#the-machines-that-come-with-hocket), simulated and by the formula:

{prices}

## Who sends to whom

{ranks} ranks; one column per round, as if every message took one round. → to, ← from, ↔ exchange with, · pause.

```text
{picture}
```

## Program

In `crates/algorithms/src/{label}.rs`:

```rust
{listing}
```

```shell
hocket verify {label}
hocket simulate {label} --ranks 64{size} --machine {machine}
```
"""


def main() -> None:
    """Write all pages anew."""
    shutil.rmtree(CATALOGUE, ignore_errors=True)
    algorithms = sorted(hocket.catalogue(), key=lambda algorithm: algorithm.label)
    by_collective = {name: list(group) for name, group in groupby(algorithms, key=lambda a: a.collective)}
    for collective, members in by_collective.items():
        write(f"{collective}/index.md", collective_page(collective, members))
        for algorithm in members:
            write(f"{algorithm.label}.md", algorithm_page(algorithm))
    write("index.md", index_page(by_collective))


def write(path: str, text: str) -> None:
    """Write a page, with its folder."""
    file = CATALOGUE / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def index_page(by_collective: dict[str, list[hocket.Algorithm]]) -> str:
    """Return the page that lists everything."""
    sections = (
        f"## [{collective}]({collective}/index.md)\n\n{MEANINGS[collective]}\n\n"
        + algorithm_table(members, f"{collective}/")
        for collective, members in by_collective.items()
    )
    return INDEX_PAGE.format(
        count=sum(map(len, by_collective.values())),
        sections="\n\n".join(sections),
        pages="\n".join(f"{collective}/index" for collective in by_collective),
    )


def collective_page(collective: str, members: Sequence[hocket.Algorithm]) -> str:
    """Return the page of one collective."""
    return COLLECTIVE_PAGE.format(
        collective=collective,
        meaning=MEANINGS[collective],
        table=algorithm_table(members, ""),
        sizes=" --sizes 8B..64MiB" if COLLECTIVES[collective].has_size else "",
        machine=MACHINE,
        pages="\n".join(f"{algorithm.name} <{algorithm.name}>" for algorithm in members),
    )


def algorithm_page(algorithm: hocket.Algorithm) -> str:
    """Return the page of one algorithm."""
    return ALGORITHM_PAGE.format(
        label=algorithm.label,
        header=header(algorithm.header),
        cost=algorithm.cost,
        messages=algorithm.messages,
        order=order_line(algorithm),
        parameters=parameter_table(algorithm.parameters),
        prices=price_table(algorithm),
        picture=picture(algorithm, ranks=PICTURE_RANKS),
        listing=algorithm.listing.rstrip(),
        size=" --size 1MiB" if COLLECTIVES[algorithm.collective].has_size else "",
        ranks=PICTURE_RANKS,
        machine=MACHINE,
    )


def header(text: str) -> str:
    """Return the header of an algorithm's file; each field such as `Source:` is a paragraph."""
    summary, _, rest = text.partition("\n")
    prose, fence, drawing = rest.partition("```")
    return summary + "\n" + re.sub(r"^([A-Z][a-z]+):", r"\n**\1:**", prose, flags=re.MULTILINE) + fence + drawing


def order_line(algorithm: hocket.Algorithm) -> str:
    """Return in which order a reduction combines operands."""
    return "".join(
        f"\nThe [order](../../reproducible.md) in which operands are combined: {text}.\n"
        for _, text in order(algorithm)
    )


def algorithm_table(members: Iterable[hocket.Algorithm], folder: str) -> str:
    """Return a table of algorithms with links to their pages in a folder."""
    rows = ((f"[{member.name}]({folder}{member.name}.md)", member.summary) for member in members)
    return table(("algorithm", "what it is"), rows)


def parameter_table(parameters: Sequence[hocket.Parameter]) -> str:
    """Return a table of an algorithm's parameters; nothing when it has none."""
    least = {p.name: "" if p.choices else format_value(p.least, p.unit) for p in parameters}
    rows = ((f"`--param {p.name}=`", format_value(p.default, p.unit), least[p.name], p.meaning) for p in parameters)
    return "\n" + table(("parameter", "default", "least", "meaning"), rows) + "\n" if parameters else ""


def price_table(algorithm: hocket.Algorithm) -> str:
    """Return a table of simulated times and of what the formula says."""
    sizes = PRICED_SIZES_BYTES if COLLECTIVES[algorithm.collective].has_size else (0,)
    calls = (hocket.Call(ranks=ranks, size_bytes=size) for ranks in PRICED_RANKS for size in sizes)
    rows = (price_row(hocket.simulate(algorithm, call, machine=MACHINE)) for call in calls)
    return table(("ranks", "message", "simulated", "formula", ""), rows)


def price_row(found: hocket.Simulation) -> tuple[str, ...]:
    """Return a row of the table of times."""
    facts = (str(found.ranks), format_bytes(found.size_bytes), format_time(found.time_s.mean))
    if found.formula_s is None:
        return (*facts, "", "")
    of_bound = "upper bound" if found.formula_is_bound else "approximation"
    return (*facts, format_time(found.formula_s), "exact" if found.formula_is_exact else of_bound)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = (columns, ["---"] * len(columns), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    main()
