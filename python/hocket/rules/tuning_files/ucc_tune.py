"""UCC's scores, the value of `UCC_TL_UCP_TUNE`: tokens joined by `#`.

A token is `FUNCTIONS:SIZES:MEMORY:[TEAMS]:SCORE:@ALGORITHM`, of which parts may be missing. Both ends of a range belong
to it; up to UCC 1.2 the last size did not. Sizes are those of the whole message: all blocks together.

Source: `docs/user_guide.md` and `src/coll_score/ucc_coll_score.c` of UCC 1.
"""

from __future__ import annotations

import re

from hocket._native import Error
from hocket.rules.tuning_files.counterparts import LIBRARIES
from hocket.rules.tuning_files.form import ANY, Choice, Format, Rule, Rules, Span, at, shown

LIBRARY = "ucc-1"
_MEMORIES = ("cpu", "host", "cuda", "cuda_managed", "cuda-managed", "rocm", "rocm_managed")
_OF_HOSTS = ("cpu", "host")
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
        rules += _token(token.strip(), file, line)
        line += token.lstrip("\n").count("\n")
    return Rules(LIBRARY, tuple(rules))


def _token(token: str, file: str, line: int) -> list[Rule]:
    functions: list[str] = list(LIBRARIES[LIBRARY].algorithms)
    sizes, teams, algorithm, has_score, memories = [ANY], [ANY], None, False, [""]
    for part in token.lower().split(":"):
        words = part.strip("[]").split(",")
        if part.startswith("@") and len(part) > 1:
            algorithm = part[1:]
        elif _SCORE.fullmatch(part):
            has_score = True
        elif all(word in LIBRARIES[LIBRARY].algorithms for word in words):
            functions = words
        elif all(word in _MEMORIES for word in words):
            memories = [""] if set(words) & set(_OF_HOSTS) else words
        elif all(_RANGE.fullmatch(word) for word in words):
            found = [_span(word, file, line) for word in words]
            sizes, teams = (sizes, found) if part.startswith("[") else (found, teams)
        else:
            expected = "functions, sizes as 0-4K, a memory, teams as [2-16], a score, or @ and an algorithm"
            raise at(file, line, f"got {shown(part)}, expected {expected}")
    if algorithm is None and not has_score:
        raise at(file, line, f"got {shown(token)}, expected a score or an algorithm in it")
    choice = Choice(algorithm) if algorithm else None
    return [
        Rule(
            function, choice, ranks, sizes=size, conditions=(("memory", memory),) if memory else (), line=line,
            measure=LIBRARIES[LIBRARY].measures[function],
        )
        for function in functions for memory in memories for ranks in teams for size in sizes
    ]  # fmt: skip


def _span(text: str, file: str, line: int) -> Span:
    first, last = (_number(word) for word in text.split("-"))
    if max(first or 0, last or 0) > _MOST:
        raise at(file, line, f"got {shown(text)}, expected numbers up to {_MOST}")
    return Span(first or 0, last)


def _number(text: str) -> int | None:
    if text == "inf":
        return None
    digits = text.rstrip("bkmgt")
    return int(digits) * _FACTORS.get(text[len(digits) : len(digits) + 1], 1)


def _write(rules: Rules) -> str:
    return "#".join(_written(rule) for rule in rules.rules if rule.choice is not None) + "\n"


def _written(rule: Rule) -> str:
    if rule.power_of_two is not None or rule.placement != "any":
        raise Error(f"{rule.function}: got a rule with other conditions, expected ranks and sizes only")
    assert rule.choice is not None  # the caller leaves out the others
    parts: list[str] = [rule.function]
    if rule.sizes != ANY:
        parts.append(_range(rule.sizes))
    parts += [value for name, value in rule.conditions if name == "memory"]
    if rule.ranks != ANY:
        parts.append(f"[{_range(rule.ranks)}]")
    return ":".join([*parts, "inf", f"@{rule.choice.algorithm}"])


def _range(span: Span) -> str:
    return f"{span.first}-{'inf' if span.last is None else span.last}"


FORMATS = (Format(LIBRARY, LIBRARY, _read, _write, names=("*.tune",)),)
