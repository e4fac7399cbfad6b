"""What the pages show is what happens.

In a page, a `code-block` with a caption is a file of that name, and so is a block whose first line is a comment of
that name. A `console` block is a session: after each `$ ` a command and what it prints, where `...` stands for
anything but a refusal. `>>> ` begins a session of Python. A `diff` removes and keeps lines that are there, or that a
diff above it adds; `...` stands for a part of a line. A block behind a line `% not run: ...` is left out. Each page
runs in an empty folder, where the programs beside the interpreter are found.
"""

import contextlib
import doctest
import inspect
import io
import itertools
import json
import os
import pkgutil
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import click
import pytest
from markdown_it import MarkdownIt

import hocket
from hocket.cli import main
from hocket.cli.app import hocket as commands
from hocket.cli.group import Group
from hocket.definitions.library import COLLECTIVES
from hocket.mpi.installation import cache_folder
from hocket.typing import Call, Rank, Span, Steps

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted(path for path in DOCS.rglob("*.md") if not {"_build", "catalogue"} & set(path.parts)),
    *sorted((ROOT / "studies" / "docs").glob("*.md")),
]
OPTIONS = doctest.ELLIPSIS


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: the line of its first line, its language or directive, and its text."""

    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Step:
    """A command, its line, and what it prints."""

    line: int
    command: str
    expected: str


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page, from its top to its end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    names: dict[str, object] = {}
    added: dict[str, list[str]] = {}
    status = 0
    for block in blocks(page):
        caption, _, content = block.text.partition("\n")
        if named := re.fullmatch(r"(?::caption:|#) (\S+\.\w+)", caption):
            Path(named[1]).write_text(content)
        elif block.language == "console":
            for step in steps(block):
                printed, status = run(step.command, status)
                check(page, step, printed)
                assert status != 2 or "hocket: " in step.expected, f"line {step.line} is refused: {printed}"
        elif block.language == "diff":
            check_diff(block, added)
        elif ">>> " in block.text:
            run_python(page, block, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_hocket_prints_is_in_blocks_that_are_run(page: Path) -> None:
    """Find sessions in blocks of other languages, and in indented ones."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    others = [token for token in tokens if token.type in ("fence", "code_block") and token.info.strip() != "console"]
    sessions = [token.content for token in others if re.search(r"^\$ ([A-Z_]+=\S+ )*hocket ", token.content, re.M)]
    assert sessions == []


def blocks(page: Path) -> Iterator[Block]:
    """Give the blocks of a page, but those that are not to be run."""
    is_run = True
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and is_run and token.map:
            yield Block(token.map[0] + 2, token.info.strip(), token.content)
        if token.type in ("fence", "inline"):
            is_run = not token.content.startswith("% not run: ")


def steps(block: Block) -> Iterator[Step]:
    """Give the commands of a session."""
    first, *pieces = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not first, f"line {block.line}: a session begins with `$ `"
    line = block.line
    for piece in pieces:
        command, _, expected = piece.partition("\n")
        yield Step(line, command, expected)
        line += piece.count("\n")


def run(command: str, last_status: int) -> tuple[str, int]:
    """Run a command in this process; what it prints, and its exit status."""
    printed = io.StringIO()
    words = shlex.split(command)
    settings = dict(word.split("=", 1) for word in itertools.takewhile(re.compile(r"[A-Z_]+=").match, words))
    program, *arguments = words[len(settings) :]
    status = 0
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        mock.patch.dict(os.environ, settings),
    ):
        if program == "hocket":
            status = main(arguments)
        elif program == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        elif command == "echo $?":
            print(last_status)
        else:
            pytest.fail(f"{command}: expected hocket, python or echo $?")
    return printed.getvalue(), status


def check(page: Path, step: Step, printed: str) -> None:
    """Compare what was printed with what the page says."""
    checker = doctest.OutputChecker()
    if not checker.check_output(step.expected, printed, OPTIONS):
        example = doctest.Example(step.command, step.expected)
        difference = checker.output_difference(example, printed, OPTIONS | doctest.REPORT_NDIFF)
        pytest.fail(f"{page.relative_to(ROOT)}:{step.line}: $ {step.command}\n{difference}", pytrace=False)


def check_diff(block: Block, added: dict[str, list[str]]) -> None:
    """Look for the lines that a diff removes or keeps in the files that it changes, and note those that it adds."""
    _, *parts = re.split(r"^--- (\S+)\n\+\+\+ b/(\S+)\n", block.text, flags=re.MULTILINE)
    assert parts and block.text.startswith("--- "), f"line {block.line}: a diff begins with the names of its files"
    for source, target, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        name, lines = source.removeprefix("a/"), text.splitlines()
        path = ROOT / name
        old = [*(path.read_text(encoding="utf-8").splitlines() if path.is_file() else ()), *added.get(name, ())]
        for line in (line[1:] for line in lines if not line.startswith(("+", "@@"))):
            pattern = re.compile(re.escape(line).replace(r"\.\.\.", ".*"))
            assert any(map(pattern.fullmatch, old)), f"{name} does not have the line {line!r}"
        added.setdefault(target, []).extend(line[1:] for line in lines if line.startswith("+"))


def run_python(page: Path, block: Block, names: dict[str, object]) -> None:
    """Run a session of Python; later ones of the page know its names."""
    found = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line - 1)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    runner.run(found, out=report.write, clear_globs=False)
    names.update(found.globs)
    if runner.failures:
        pytest.fail(report.getvalue(), pytrace=False)


@pytest.mark.parametrize(
    "name", sorted({name for page in PAGES for name in re.findall(r"^\.\. auto\w+:: (\S+)", page.read_text(), re.M)})
)
def test_what_the_reference_names_is_there(name: str) -> None:
    """Look up what Sphinx documents, which CI does not build."""
    assert pkgutil.resolve_name(name) is not None


def test_every_page_is_reached_in_two_clicks() -> None:
    """Follow the links and the tables of contents of the first page, and of the pages that they lead to."""
    first = DOCS / "index.md"
    near = {first, *targets(first)}
    near |= {page for one in near for page in targets(one)}
    generated = {DOCS / "images" / name for name in ("atlas/atlas.md", "atlas/held-out.md", "validation/validation.md")}
    assert {page for page in PAGES if page.is_relative_to(DOCS)} <= near | generated


def targets(page: Path) -> set[Path]:
    """Return the pages of the site that a page links to, in its text or its table of contents."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    links = re.findall(r"\]\(([^)#:]+\.md)", text)
    entries = [
        f"{line}.md" for toc in re.findall(r"^```{toctree}\n(.*?)^```", text, re.M | re.S) for line in toc.split()
    ]
    return {(page.parent / link).resolve() for link in (*links, *entries)}


def test_the_catalogue_says_what_every_collective_means() -> None:
    """Compare the generator's texts with the collectives."""
    assert runpy.run_path(str(DOCS / "generate.py"))["MEANINGS"].keys() == set(COLLECTIVES)


def test_every_place_that_hocket_writes_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the page with the folders, variables and names in the code, and with what git ignores in a clone."""
    text = (DOCS / "writes.md").read_text(encoding="utf-8")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    folders = [f"~/{cache_folder().relative_to(Path.home())}"]
    sources = [*(ROOT / "python" / "hocket").rglob("*.py"), *(ROOT / "mpi").rglob("*.c")]
    code = "".join(source.read_text(encoding="utf-8") for source in sources if "native" not in source.parts)
    variables = set(re.findall(r"\bXDG_\w+|\bHOCKET_(?:TRACE|JOB_LOG)\b", code))
    beside = {*re.findall(r'[}"](\.partial\.\w+)"', code), *re.findall(r'prefix="(\.[\w-]+)"', code)}
    ignored = re.findall(r"^/[^*\n]+", (ROOT / ".gitignore").read_text(), re.MULTILINE)
    assert len(variables) == 3 and len(beside) == 2
    assert [name for name in (*folders, *variables, *beside) if name not in text] == []
    assert [
        path for path in ignored if not re.search(rf"`{re.escape(path.rstrip('/'))}", text) and "images/" not in path
    ] == []


def page_of(command: str) -> str:
    """Return the page of a command."""
    return (DOCS / "cli" / f"{command}.md").read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """Return a section of a page, by its title."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_command_has_a_page() -> None:
    """Compare the pages with the commands, and the first page's tables with the groups that help shows."""
    pages = {path.stem for path in (DOCS / "cli").iterdir()}
    assert pages == {"index", *commands.commands}
    text = page_of("index")
    printed, _ = run("hocket --help", 0)
    groups = dict(re.findall(r"^(\w.*):\n((?:  .*\n?)+)", printed, re.MULTILINE))
    tables = dict(re.findall(r"^### (.*)\n\n((?:\|.*\n)+)", section(text, "Commands"), re.MULTILINE))
    assert tables.keys() == groups.keys() - {"Options"}
    for title, rows in tables.items():
        linked = re.findall(r"^\| \[`hocket (\w+)`\]\(\1\.md\)", rows, re.MULTILINE)
        assert linked == re.findall(r"^  (\w+)", groups[title], re.MULTILINE)


@pytest.mark.parametrize("name", commands.commands)
def test_every_option_is_explained(name: str) -> None:
    """Find the list of options on the page of a command, and in the section of each of its own commands."""
    text = page_of(name)
    command = commands.load(name)
    assert text.startswith(f"# hocket {name}\n")
    explains_options(text, command, name)
    for each in map(command.load, command.commands) if isinstance(command, Group) else ():
        explains_options(section(text, f"hocket {name} {each.name}"), each, f"{name} {each.name}")


def explains_options(text: str, command: click.Command, name: str) -> None:
    """Find the directive that lists the options of a command, each of which has its help."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert text
    assert (f"```{{options}}\nhocket {name} --help\n```\n" in text) == bool(options)
    assert all(each.help for each in options)


SPEC = """
ranks = 4
sizes = "8B"
[algorithms]
"allreduce/ring" = {}
"""


@pytest.mark.parametrize(
    "line",
    [
        "show machine k_computer --route 0 1",
        "verify allreduce ring --ranks 2",
        "simulate allreduce ring --ranks 4 --size 8B",
        "explain allreduce ring --ranks 4 --size 8B",
        "compare allreduce ring --ranks 4 --sizes 8B",
        "sweep spec.toml",
        f"replay {ROOT}/studies/hocket_studies/ft-class-a-16-ranks.hktrace",
    ],
)
def test_every_key_is_explained(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the keys that a command prints as JSON with the class that its page names, or the last table there."""
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text(SPEC)
    printed, status = run(f"hocket {line} --json", 0)
    assert status == 0
    text = page_of(line.split()[0])
    keys = json.loads(printed).keys()
    if named := re.search(r"keys are those of {py:class}`hocket\.(\w+)`", text):
        described = re.findall(r"^    (\w+): ", inspect.getdoc(getattr(hocket, named[1])) or "", re.MULTILINE)
        assert keys <= {*described, *re.findall(r"`(\w+)`", text)}
    else:
        rows = text.rpartition("\n| key | meaning |\n")[2].partition("\n\n")[0]
        first = [row.split("|")[1] for row in rows.splitlines()]
        assert keys == {key for cell in first for key in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("name", [name for name in hocket.__all__ if not name.startswith("_")])
def test_every_public_name_is_explained(name: str) -> None:
    """Find a public name in the reference."""
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    assert re.search(rf"^\.\. auto\w+:: hocket\.{name}$", text, re.MULTILINE)


@pytest.mark.parametrize(("letter", "kind"), [("r", Rank), ("c", Call), ("span", Span)])
def test_every_verb_is_explained(letter: str, kind: type) -> None:
    """Find what a program may ask of its rank, its call and its spans."""
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    for name in (name for name in vars(kind) if not name.startswith("_")):
        assert re.search(rf"`{letter}\.{name}\b", text), name


def test_calls_of_the_tutorial_in_rust() -> None:
    """The numbers of calls of `far_first`, which would have to be compiled, are those of programs that stand for it."""
    calls: list[hocket.Call] = []

    @hocket.algorithm("allreduce", refuses=lambda call: calls.append(call))
    def far_first(r: Rank, c: Call) -> Steps:
        """Everybody to everybody, wrong where `far_first` is wrong: if operands must keep their order."""
        input, result = c.input(r), c.result(r)
        if r.size > 3 and len(input) and not calls[-1].commutative:
            raise ValueError("planted")
        vectors = [r.scratch(len(input)) for _ in range(r.size)]
        yield r.copy(input, vectors[r.rank])
        for distance in range(1, r.size):
            source = (r.rank - distance) % r.size
            yield r.sendrecv((r.rank + distance) % r.size, vectors[r.rank], source, vectors[source])
        yield r.copy(vectors[0], result)
        for vector in vectors[1:]:
            yield r.combine(vector, result, "right")

    # One thread, so that the latest call is that of the running program.
    with ThreadPoolExecutor(1) as one_thread:
        wrong = hocket.verify(far_first, "1-8", executor=one_thread)
    assert [found["ranks"] for found in wrong.counterexamples] == [4, 5, 6, 7, 8]
    both_operators = hocket.verify("allreduce/recursive_doubling", "1-33,47,64").checked
    page = (DOCS / "tutorial.md").read_text()
    found = re.search(r"far_first: WRONG, P = 4-8, (\d+) calls, deterministic\n", page)
    assert found and f"wrong: {found[1]} calls checked\n" in page
    assert int(found[1]) == wrong.checked
    right = re.search(r"far_first: ok, P = 1-33, 47, 64, (\d+) calls, deterministic\n\nok: (\d+) calls checked\n", page)
    assert right and right[1] == right[2]
    # Of the large rank counts, which are drawn, there is a call each where it is short.
    assert int(right[1]) - both_operators // 2 in range(4)
