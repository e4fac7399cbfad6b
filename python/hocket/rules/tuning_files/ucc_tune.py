"""UCC's scores, the value of `UCC_TL_UCP_TUNE`: tokens joined by `#`.

A token is `FUNCTIONS:SIZES:MEMORY:[TEAMS]:SCORE:@ALGORITHM`, of which parts may be missing. Both ends of a range belong
to it; up to UCC 1.2 the last size did not. Sizes are those of the whole message: all blocks together.

UCC refuses the whole value if the sizes of two tokens overlap for a team and a memory, if a range is of a single size,
or if a token names an algorithm of a function whose algorithms have no names. Ranges may touch: the first one has the
size that both name.

Source: `docs/user_guide.md`, `src/coll_score/ucc_coll_score.c`, `ucc_coll_score_map.c`, and
`ucc_tl_ucp_alg_id_to_init` in `src/components/tl/ucp/tl_ucp_coll.c` of UCC 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from hocket._native import Error
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, Choice, Format, Place, Rule, Rules, Span, quote_text
from hocket.rules.tuning_files.grid import Row, rows

LIBRARY = "ucc-1"
_MEMORIES = ("cpu", "host", "cuda", "cuda_managed", "cuda-managed", "rocm", "rocm_managed")
_OF_HOSTS = ("cpu", "host")
_WRITTEN_MEMORIES = ("host", "cuda", "cuda_managed", "rocm", "rocm_managed")
_ONLY = {"barrier": "knomial", "gather": "knomial"}  # functions with one algorithm, which a score names by itself
_SCORE = re.compile(r"\d{1,9}|inf")
_MOST = (1 << 63) - 1
_NUMBER = r"(?:\d{1,19}(?:[kmgt]b?|b)?|inf)"
_RANGE = re.compile(rf"({_NUMBER})-({_NUMBER})")
_FACTORS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _read(text: str, file: str) -> Rules:
    rules: list[Rule] = []
    line = 1
    for token in text.rstrip("\n").split("#") if text.strip() else []:
        line += len(token) - len(token.lstrip("\n"))
        rules += _token(token.strip(), Place(file, line))
        line += token.lstrip("\n").count("\n")
    return Rules(LIBRARY, tuple(rules))


def _token(token: str, place: Place) -> list[Rule]:
    functions: list[str] = list(LIBRARIES[LIBRARY].algorithms)
    sizes, teams, algorithm, has_score, is_on, memories = [ANY], [ANY], None, False, False, [""]
    for part in token.lower().split(":"):
        words = part.strip("[]").split(",")
        if part.startswith("@") and len(part) > 1:
            algorithm = part[1:]
        elif _SCORE.fullmatch(part):
            has_score, is_on = True, part.strip("0") != ""
        elif all(word in LIBRARIES[LIBRARY].algorithms for word in words):
            functions = words
        elif all(word in _MEMORIES for word in words):
            memories = [""] if set(words) & set(_OF_HOSTS) else words
        elif all(_RANGE.fullmatch(word) for word in words):
            spans = [_span(word, place) for word in words]
            sizes, teams = (sizes, spans) if part.startswith("[") else (spans, teams)
        else:
            expected = "functions, sizes as 0-4K, a memory, teams as [2-16], a score, or @ and an algorithm"
            raise place.error(f"got {quote_text(part)}, expected {expected}")
    if algorithm is None and not has_score:
        raise place.error(f"got {quote_text(token)}, expected a score or an algorithm in it")
    names = {function: algorithm or (_ONLY.get(function) if is_on else None) for function in functions}
    choices = {function: Choice(name) if name else None for function, name in names.items()}
    conditions = [(("memory", memory),) if memory else () for memory in memories]
    measures = LIBRARIES[LIBRARY].measures
    return [
        Rule(function, choices[function], ranks, None, size, measures[function], conditions=each, line=place.line)
        for function, each, ranks, size in product(functions, conditions, teams, sizes)
    ]


def _span(text: str, place: Place) -> Span:
    first, last = (_number(word) for word in text.split("-"))
    if max(first or 0, last or 0) > _MOST:
        raise place.error(f"got {quote_text(text)}, expected numbers up to {_MOST}")
    return Span(first or 0, last)


def _number(text: str) -> int | None:
    if text == "inf":
        return None
    digits = text.rstrip("bkmgt")
    return int(digits) * _FACTORS.get(text[len(digits) : len(digits) + 1], 1)


def _write(rules: Rules) -> str:
    return "#".join(token for function in rules.functions for token in _tokens(rules.of(function), function)) + "\n"


def _tokens(rules: Sequence[Rule], function: str) -> Iterator[str]:
    """Give the tokens of a function, whose sizes do not overlap for any team and memory."""
    measure = LIBRARIES[LIBRARY].measures.get(function)
    if any(rule.sizes != ANY and rule.measure != measure for rule in rules):
        raise Error(f"{function}: got sizes as {rules[0].measure}, expected {measure}")
    memories = sorted({_memory(rule) for rule in rules} - {""}, key=_WRITTEN_MEMORIES.index)
    others = ",".join(memory for memory in _WRITTEN_MEMORIES if memory not in memories) if memories else ""
    for memory in (*memories, ""):
        fitting = [rule.drop_condition("memory") for rule in rules if _memory(rule) in ("", memory)]
        for ranks, row in rows(fitting):
            teams = "" if ranks == ANY else f"[{_range(ranks)}]"
            for sizes, choice in _ranges(row, function):
                parts = (function, sizes, memory or others, teams, "inf", choice)
                yield ":".join(part for part in parts if part)


def _memory(rule: Rule) -> str:
    return dict(rule.conditions).get("memory", "").replace("-", "_")


def _ranges(row: Row, function: str) -> Iterator[tuple[str, str]]:
    """Give the ranges of sizes that get an algorithm, each with it; a range begins with the end of the one before."""
    end: int | None = None
    for sizes, choice in row:
        if choice is not None:
            touching = sizes if end is None else Span(end, sizes.last)
            if touching.is_single:
                refused = f"got a rule for {sizes} bytes alone, which UCC refuses"
                raise Error(f"{function}: {refused}; expected several sizes")
            name = "" if function in _ONLY else f"@{choice.algorithm}"
            yield "" if sizes == ANY else _range(touching), name
        end = None if choice is None else sizes.last


def _range(span: Span) -> str:
    return f"{span.first}-{'inf' if span.last is None else span.last}"


FORMATS = (Format(LIBRARY, LIBRARY, _read, _write, names=("*.tune",)),)
