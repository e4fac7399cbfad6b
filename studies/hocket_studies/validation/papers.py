"""The papers: the numbers that their studies put beside the papers' own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor

from hocket.base.parallel import ignore
from hocket.base.version import VERSION
from hocket_studies import STUDIES, Claim, Study
from hocket_studies.study import Rows, Work
from hocket_studies.validation.comparison import Case, Comparison

_NUMBER = re.compile(r"(?<![\w.^])\d+(?:\.\d+)?(?![\w.^-])")


def paper(name: str, executor: Executor, *, is_full: bool = False) -> Comparison:
    """Compare with the paper of a study: its quick scope, or its default scope."""
    study = STUDIES[name]
    scope = study.scopes["default" if is_full else "quick"]
    work = Work(executor, ignore)
    data: Mapping[str, Rows] = {
        key: study.compute(key, scope, work) for key in dict.fromkeys(figure.data for figure in study.figures)
    }
    return judged(name, study, study.claims(data), scope.name)


def judged(name: str, study: Study, claims: list[Claim], scope: str) -> Comparison:
    """Return what the claims of a paper say."""
    verdicts = [claim.holds for claim in claims]
    decided = len(verdicts) - verdicts.count("not measured")
    partly = f", {verdicts.count('on a cut')} on a cut" if "on a cut" in verdicts else ""
    cases = tuple(case for claim in claims for case in numbers(claim))
    compared = {case.name for case in cases}
    without = sum(claim.claim not in compared for claim in claims)
    return Comparison(
        f"paper: {name}",
        cases,
        f"{without} claims without one number for both: bounds, ranges, orders of curves, or beyond this scope; see "
        f"`hocket study {name}`",
        {"Hocket": VERSION},
        f"{study.title}, scope {scope}: {verdicts.count('yes')} of {decided} claims hold{partly}",
    )


def numbers(claim: Claim) -> Iterator[Case]:
    """Give the numbers that a claim has of both, if it is measured: equally many, of the same words and units."""
    texts = [re.sub(r"(?<=\d)\s*%", " %", text) for text in (claim.paper, claim.hocket)]
    theirs, ours = ([float(number) for number in _NUMBER.findall(text)] for text in texts)
    words = {" ".join(_NUMBER.sub("#", text).split()) for text in texts}
    if claim.holds == "not measured" or len(words) > 1 or "#" not in next(iter(words)):
        return
    for other, hocket in zip(theirs, ours, strict=True):
        if hocket:
            yield Case(claim.claim, hocket, other)
