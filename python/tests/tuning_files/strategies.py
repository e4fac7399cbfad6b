"""Random rules, as readers of each format return them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from hocket.rules.tuning_files.counterparts import ALGORITHMS, LIBRARIES, PROTOCOLS
from hocket.rules.tuning_files.form import Choice, Rule, Rules, Span
from hocket.rules.tuning_files.grid import merged, spans
from hocket.rules.tuning_files.nccl_csv import FUNCTIONS
from hocket.rules.tuning_files.openmpi_han import LEVEL, LEVELS

LARGEST = 1 << 20


def starts(largest: int, most: int = 4) -> st.SearchStrategy[list[int]]:
    """The starts of ranges; the first is 0."""
    return st.lists(st.integers(1, largest), max_size=most, unique=True).map(lambda found: [0, *sorted(found)])


def openmpi_choices(library: str, function: str, *, has_requests: bool) -> st.SearchStrategy[Choice | None]:
    names = ["faninout", "seg_size"] + ["reqs"] * has_requests
    values = st.tuples(*(st.sampled_from([0, 0, 1, 65536]) for _ in names))
    known = st.sampled_from([known.name for known in LIBRARIES[library].algorithms[function]])
    made = st.builds(
        lambda name, given: Choice(name, tuple((n, v) for n, v in zip(names, given, strict=True) if v)), known, values
    )
    return st.none() | made


@st.composite
def tables(draw: st.DrawFn, library: str, *, has_requests: bool, placements: Sequence[str] = ()) -> Rules:
    """Rules of Open MPI: ranges of ranks without gaps, each with ranges of sizes without gaps.

    With placements, the rules of a communicator end with a rule for all sizes, as in the reader of JSON.
    """
    functions = sorted(draw(st.sets(st.sampled_from(sorted(LIBRARIES[library].algorithms)), max_size=3)))
    rules = []
    for function in functions:
        measure = LIBRARIES[library].measures[function]
        choice = openmpi_choices(library, function, has_requests=has_requests)
        rows = [(ranks, _row(draw, choice)) for ranks in spans(draw(starts(5000)))]
        for ranks, row in merged(rows):
            placement = draw(st.sampled_from(placements)) if placements else "any"
            end = [(Span(), None)] if placements and len(row) > 1 else []
            for sizes, each in [*row, *end]:
                rules.append(Rule(function, each, ranks, sizes=sizes, measure=measure, placement=placement))
    return Rules(library, tuple(rules))


@st.composite
def levels_of_han(draw: st.DrawFn) -> Rules:
    """Rules of HAN: of some functions at some levels, ranges of ranks from 1 on, each with ranges of sizes or none."""
    library = LIBRARIES["openmpi-5.0-han"]
    rules = []
    for function in sorted(draw(st.sets(st.sampled_from(sorted(library.algorithms)), min_size=1, max_size=3))):
        choice = st.sampled_from([Choice(each.name) for each in library.algorithms[function]])
        for level in draw(st.lists(st.sampled_from(LEVELS), unique=True, min_size=1)):
            for ranks in spans([1, *(first + 1 for first in draw(starts(5000))[1:])]):
                for sizes, each in _row(draw, choice) if draw(st.integers(0, 3)) else ():
                    measure = library.measures[function]
                    rules.append(
                        Rule(function, each, ranks, sizes=sizes, measure=measure, conditions=((LEVEL, level),))
                    )
    return Rules(library.name, tuple(rules))


def _row(draw: st.DrawFn, choice: st.SearchStrategy[Choice | None]) -> tuple[tuple[Span, Choice | None], ...]:
    return tuple(merged((sizes, draw(choice)) for sizes in spans(draw(starts(LARGEST)))))


SOME_HOCKET = (
    ("allreduce", ["ring", "recursive_doubling", "rabenseifner", "swing"], ("size",)),
    ("bcast", ["binomial", "scatter_ring_allgather", "scatter_doubling_allgather"], ("size",)),
    ("allgather", ["ring", "recursive_doubling", "bruck", "neighbor_exchange"], ("size", "total")),
    ("alltoall", ["bruck", "linear", "pairwise_exchange"], ("size", "total")),
    ("barrier", ["dissemination", "recursive_doubling"], ("size",)),
    ("reduce_scatter", ["ring", "recursive_halving", "pairwise"], ("size",)),
    ("iallreduce", ["ring"], ("size",)),
)


@st.composite
def ranges(draw: st.DrawFn, largest: int) -> Span:
    first = draw(st.sampled_from([0, 0, 1, 2, 8, 64]) | st.integers(0, largest))
    return Span(first, draw(st.none() | st.integers(first, first + largest)))


@st.composite
def hocket_rules(draw: st.DrawFn, *, is_simple: bool = False) -> Rules:
    """Rules of Hocket."""
    rules = []
    for _ in range(draw(st.integers(0, 6))):
        function, names, measures = draw(st.sampled_from(SOME_HOCKET[: -1 if is_simple else None]))
        sizes = Span() if function == "barrier" else draw(ranges(LARGEST))
        parameters = ()
        name = draw(st.none() | st.sampled_from(names))
        if name == "linear":
            parameters = draw(st.sampled_from([(), (("window", 3),)]))
        measure = "size" if sizes == Span() else draw(st.sampled_from(measures))
        power = draw(st.sampled_from([None, True]))
        choice = Choice(name, parameters) if name else None
        few = draw(st.sampled_from([(), (), (("count<ranks", "yes"),), (("count<pow2", "no"),)]))
        conditions = () if is_simple or function == "barrier" else few
        rules.append(Rule(function, choice, draw(ranges(5000)), power, sizes, measure, conditions=conditions))
    return Rules("hocket", tuple(rules))


INSIDE, BETWEEN = (("comm_type", "intra"),), (("comm_type", "inter"),)
MPICH_FUNCTIONS = {"allreduce": "size", "bcast": "size", "allgather": "total", "reduce_scatter": "size", "barrier": ""}


@st.composite
def trees(draw: st.DrawFn) -> Rules:
    """Rules of MPICH: ranges of ranks, some split by powers of two, each with ranges of sizes."""
    rules = []
    for function in sorted(draw(st.sets(st.sampled_from(sorted(MPICH_FUNCTIONS)), min_size=1, max_size=3))):
        names = [known.name for known in LIBRARIES["mpich-5.0"].algorithms[function]]
        choice = st.builds(Choice, st.sampled_from(names), st.sampled_from([(), (("k", 4),), (("tree_type", "kary"),)]))
        rows = [(ranks, _parts(draw, choice, function)) for ranks in spans(draw(starts(5000)))]
        for ranks, parts in merged(rows):
            for power, row in parts:
                for sizes, each in row:
                    measure = "size" if sizes == Span() else MPICH_FUNCTIONS[function]
                    rules.append(Rule(function, each, ranks, power, sizes, measure, conditions=INSIDE))
        rules.append(Rule(function, draw(choice), conditions=BETWEEN))
    return Rules("mpich-5.0", tuple(rules))


Part = tuple[bool | None, tuple[tuple[Span, Choice | None], ...]]


def _parts(draw: st.DrawFn, choice: st.SearchStrategy[Choice | None], function: str) -> tuple[Part, ...]:
    powers = draw(st.sampled_from([(None,), (True, False)]))
    if function == "barrier":
        return tuple((power, ((Span(), draw(choice)),)) for power in powers)
    return tuple((power, _row(draw, choice)) for power in powers)


NUMBERS = st.none() | st.integers(1, 100)
CONDITIONS = {
    "nccl-2": [{}, {"numPipeOps": "4"}, {"regBuff": "0"}, {"numPipeOps": "1", "regBuff": "1"}],
    "rccl-2": [{}, {"regBuff": "1"}, {"partitionMode": "cpx"}, {"numPipeOps": "1", "localGroup": "4"}],
}


def one_or_any(number: int | None) -> Span:
    return Span() if number is None else Span(number, number)


def nccl_choices(*, has_chunks: bool = False) -> st.SearchStrategy[Choice]:
    """Algorithms with a protocol, also such that NCCL cannot run."""
    protocols = st.tuples(st.just("protocol"), st.sampled_from(PROTOCOLS))
    channels = st.none() | st.tuples(st.just("channels"), st.integers(1, 64))
    chunks = st.none() | st.tuples(st.just("chunkSize"), st.integers(1, LARGEST)) if has_chunks else st.none()
    given = st.tuples(protocols, channels, chunks).map(lambda pairs: tuple(pair for pair in pairs if pair))
    return st.builds(Choice, st.sampled_from(ALGORITHMS), given)


@st.composite
def nccl_lines(draw: st.DrawFn, library: str) -> Rules:
    """Rules of NCCL or RCCL, as their lines are."""
    rules = []
    for _ in range(draw(st.integers(0, 6))):
        function = draw(st.sampled_from(list(FUNCTIONS.values())))
        conditions = draw(st.sampled_from(CONDITIONS[library]))
        rules.append(
            Rule(
                function,
                draw(nccl_choices()),
                one_or_any(draw(NUMBERS)),
                sizes=draw(ranges(LARGEST)),
                measure=LIBRARIES[library].measures[function],
                nodes=one_or_any(draw(NUMBERS)),
                conditions=tuple(conditions.items()),
            )
        )
    return Rules(library, tuple(rules))


@st.composite
def ncclx_lines(draw: st.DrawFn) -> Rules:
    """Rules of NCCLX."""
    rules = []
    for _ in range(draw(st.integers(0, 6))):
        function = draw(st.sampled_from(list(FUNCTIONS.values())))
        nodes, per_node = draw(ranges(100)), draw(ranges(16))
        last = None if nodes.last is None or per_node.last is None else nodes.last * per_node.last
        rules.append(
            Rule(
                function,
                draw(nccl_choices(has_chunks=True)),
                Span(nodes.first * per_node.first, last),
                sizes=draw(ranges(LARGEST)),
                measure=LIBRARIES["ncclx-2"].measures[function],
                nodes=nodes,
                ranks_per_node=per_node,
            )
        )
    return Rules("ncclx-2", tuple(rules))


@st.composite
def scores(draw: st.DrawFn) -> Rules:
    """Rules of UCC."""
    rules = []
    for _ in range(draw(st.integers(0, 5))):
        function = draw(st.sampled_from(sorted(LIBRARIES["ucc-1"].algorithms)))
        choice = Choice(draw(st.sampled_from([known.name for known in LIBRARIES["ucc-1"].algorithms[function]])))
        memory = draw(st.sampled_from([(), (("memory", "cuda"),)]))
        measure = LIBRARIES["ucc-1"].measures[function]
        halves = draw(ranges(LARGEST))  # UCC refuses single sizes, which ranges from even to odd sizes never leave
        sizes = Span(2 * halves.first, None if halves.last is None else 2 * halves.last + 1)
        rules.append(Rule(function, choice, draw(ranges(5000)), sizes=sizes, measure=measure, conditions=memory))
    return Rules("ucc-1", tuple(rules))


@st.composite
def adjustments(draw: st.DrawFn) -> Rules:
    """Rules of Intel MPI: of each function by sizes, or by ranks."""
    library = LIBRARIES["intelmpi-2021"]
    rules: list[Rule] = []
    for function in sorted(draw(st.sets(st.sampled_from(sorted(library.algorithms)), max_size=3))):
        measure = library.measures[function]
        names = [known.name for known in library.algorithms[function]]
        choice = st.none() | st.sampled_from([*names, *["14"] * (function == "allreduce")]).map(Choice)
        by_sizes = measure != "nothing" and draw(st.booleans())
        parts = merged([(span, draw(choice)) for span in spans(draw(starts(5000)))])
        for span, each in parts if any(each for _, each in parts) else ():
            ranks, sizes = (Span(), span) if by_sizes else (span, Span())
            rules.append(Rule(function, each, ranks, sizes=sizes, measure=measure))
    return Rules(library.name, tuple(rules))
