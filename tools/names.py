"""Lists definitions whose name is only grammar: a participle or a preposition.

A value is named by what it is (`result`, `schedule`), a function by what it does (`explain`), and a file by its
subject. The name of a Boolean is a statement (`is_sorted`, `has_ended`). `EXEMPTIONS` has the words that name something
all the same. `house.py` counts the list.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from check_layers import ROOT, product
from circles import tree_of

VERBS = "cut hit let put read round run set shut split spread"

EXEMPTIONS = {
    "a word of the field, of MPI or of Linux": "bound cut_through predefined provided required unified",
    "a verb in the imperative, or a noun": VERBS,
    "an end of a message or of a copy, or a conversion": "from into",
    "an argument of a constructor that reads as one noun with its type": "of",
    "a position in an order, or a direction, with its opposite": "above after ahead at back before behind below down "
    "inside left off on out outside right up",
    "one of two values of one kind, beside its opposite": "accepted arrived completed declared expected got measured "
    "posted predicted received refused sent simulated unexpected unknown unused without within between through",
    "a copy, by what has been done to the original": "combined fixed interned merged mixed moved ordered packed quoted "
    "repeated reversed rotated scaled shifted shuffled signed sorted trimmed unordered",
    "a set in a walk through a graph": "reached seen",
    "what a file, an algorithm or a command is about": "about",
    "a state among other states of the same thing": "ended paced undefined unreceived",
    "a callback, by its event": "on_done on_measured on_trials",
    "a keyword of the public interface, or a word of a switch": "among measured_as together until_decided",
}
"""Words that name something, and why."""

GRAMMAR = (
    # Irregular participles.
    "been begun bent born bought bound broken brought built caught chosen come cut dealt done drawn driven eaten "
    "fallen fed felt flown forbidden forgotten fought found frozen given gone got gotten grown heard held hidden "
    "hit hung kept known laid lain led left lent let lit lost made meant met mistaken overridden overrun paid put "
    "quit read ridden risen run said seen sent set shaken shown shut slept sold spent split spoken spread stolen "
    "stood struck sung sunk sworn taken taught thought thrown told torn undone understood unknown unseen "
    "unwritten withdrawn won worn woven written "
    # Prepositions, and adverbs of place and time.
    "abroad about above across after again against ahead alone along already among apart around as aside at away "
    "back before behind below beneath beside besides between beyond both by despite down during except for forth "
    "from hence here in inside into like near of off on once onto out outside over past per right since than then "
    "thence there through together toward towards under until unto up upon via with within without yet"
)
"""Words that only say grammar, besides the participles in -ed."""
GRAMMAR_WORDS = frozenset(GRAMMAR.split())

NOT_PARTICIPLES = (
    "embed",
    "exceed",
    "feed",
    "hundred",
    "indeed",
    "need",
    "proceed",
    "seed",
    "shed",
    "speed",
    "succeed",
)

STATEMENT = re.compile(r"_*(is|has|have|are|was|were|can|may|must)_", re.IGNORECASE)

RUST = re.compile(
    r"\b(?:fn|struct|enum|trait|type|mod|const|static)\s+(?:mut\s+)?(?P<item>[A-Za-z_]\w*)"
    r"|\blet\s+(?P<pattern>[^=;{]*)"
    r"|(?<![:\w])(?P<typed>[a-z_]\w*)\s*:(?!:)"
    r"|\|(?P<arguments>[^|=]*)\|"
    r"|\bfor\s+(?P<loop>[^{]*?)\s+in\b"
)
RUST_WORDS = {"as", "async", "for", "move", "mut", "ref"}
RUST_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|r#*".*?"#*|"(?:\\.|[^"\\])*"', re.DOTALL)
C = re.compile(
    r"\b(?:[a-z]\w*_t|int|char|void|double|float|long|unsigned|bool|struct \w+|MPI_\w+)"
    r"\s+\**(?P<name>[a-z_]\w*)\s*[=;,()\[{]"
)
C_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def main() -> int:
    names = list(grammatical(product()))
    for file, line, name in names:
        print(f"{file.relative_to(ROOT)}:{line}: {name}")
    return 1 if names else 0


def grammatical(files: Iterable[Path]) -> Iterator[tuple[Path, int, str]]:
    """Yield each file, line and name of a definition that only says grammar; a name once in each file."""
    exempt = {word for words in EXEMPTIONS.values() for word in words.split()}
    for file in files:
        names: dict[str, int] = {}
        for line, name in definitions(file):
            names.setdefault(name, line)
        yield from ((file, line, name) for name, line in names.items() if is_grammar(name, exempt))


def is_grammar(name: str, exempt: set[str]) -> bool:
    """Return whether all words of a name are participles or prepositions, and not all of them name something."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().strip("_0123456789")
    if STATEMENT.match(name) or words in exempt:
        return False
    parts = [part for part in words.split("_") if part]
    starts_with_verb = parts[:1] and parts[0] in VERBS.split() and parts[1:]
    return bool(
        parts and not starts_with_verb and all(map(is_participle_or_preposition, parts))
    ) and not exempt.issuperset(parts)


def is_participle_or_preposition(word: str) -> bool:
    is_regular = word.endswith("ed") and len(word) > 3 and word not in NOT_PARTICIPLES
    return is_regular or word in GRAMMAR_WORDS


def definitions(file: Path) -> Iterator[tuple[int, str]]:
    yield 1, file.stem
    text = file.read_text()
    if file.suffix == ".py":
        yield from of_python(tree_of(file))
    elif file.suffix == ".rs":
        yield from of_rust(without(RUST_TEXT, text.partition("\n#[cfg(test)]\nmod tests {")[0]))
    elif file.suffix in (".c", ".h"):
        text = without(C_TEXT, text)
        yield from ((text.count("\n", 0, match.start()) + 1, match["name"]) for match in C.finditer(text))


def without(pattern: re.Pattern[str], text: str) -> str:
    """Return the text with empty lines for comments and literals."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def of_python(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def of_rust(text: str) -> Iterator[tuple[int, str]]:
    for match in RUST.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield from ((line, name) for name in (match["item"], match["typed"]) if name and name not in RUST_WORDS)
        for pattern in filter(None, (match["pattern"], match["arguments"], match["loop"])):
            without_types = re.sub(r":[^,|)]*", "", pattern)
            yield from (
                (line, name)
                for name in re.findall(r"\b[a-z_]\w*\b(?!\s*[({])", without_types)
                if name not in RUST_WORDS
            )


if __name__ == "__main__":
    sys.exit(main())
