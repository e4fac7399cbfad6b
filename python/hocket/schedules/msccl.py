"""MSCCL XML: the steps of the thread blocks of every GPU, as msccl-tools, TACCL and TE-CCL write them.

Format: microsoft/msccl-tools, msccl/language/ir.py (writer). Meaning of steps: ROCm/rccl, msccl_kernel_impl.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from hocket._native import Error
from hocket.base import checks
from hocket.base.error import printable
from hocket.base.files import read_text
from hocket.schedules.schedule import Schedule

_PARENTS: Mapping[str, str | None] = {"algo": None, "gpu": "algo", "tb": "gpu", "step": "tb"}
BUFFERS = {"i": "input", "o": "result", "s": "scratch"}
COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "alltoall")
_NAMES = {**{name: name for name in COLLECTIVES}, "reducescatter": "reduce_scatter"}
_MOST_BYTES = (1 << 63) - 1  # microsoft/msccl takes 0 as no bytes, RCCL as any number
_MOST = 1 << 16  # limit on GPUs, on thread blocks of a GPU, and on chunks


@dataclass(frozen=True)
class Action:
    """The parts of a step of a type, in this order: receive, reduce, copy, send."""

    receives: bool = False
    reduces: bool = False
    writes: bool = False
    sends: bool = False


_ACTIONS: Mapping[str, Action | None] = {
    "nop": None,
    "s": Action(sends=True),
    "r": Action(receives=True, writes=True),
    "cpy": Action(writes=True),
    "re": Action(reduces=True, writes=True),
    "rcs": Action(receives=True, writes=True, sends=True),
    "rrs": Action(receives=True, reduces=True, sends=True),
    "rrc": Action(receives=True, reduces=True, writes=True),
    "rrcs": Action(receives=True, reduces=True, writes=True, sends=True),
}


@dataclass(frozen=True)
class Place:
    """A place in a buffer of a GPU (`i`: input, `o`: output, `s`: scratch), in chunks."""

    buffer: str
    offset: int


@dataclass(frozen=True)
class Step:
    """A step of a thread block: it handles `count` chunks from `source` to `target`, after a step of another block."""

    kind: str
    source: Place
    target: Place
    count: int
    after: tuple[int, int] | None
    has_waiters: bool
    line: int = field(default=0, compare=False)

    @property
    def action(self) -> Action | None:
        """The parts of the step; None for a nop, which only waits."""
        return _ACTIONS[self.kind]

    def as_xml(self, number: int) -> str:
        """Return the step as an element of the file, with this number."""
        depid, deps = self.after or (-1, -1)
        return (
            f'<step s="{number}" type="{self.kind}" srcbuf="{self.source.buffer}" srcoff="{self.source.offset}" '
            f'dstbuf="{self.target.buffer}" dstoff="{self.target.offset}" cnt="{self.count}" '
            f'depid="{depid}" deps="{deps}" hasdep="{int(self.has_waiters)}"/>'
        )


@dataclass(frozen=True)
class Block:
    """A thread block: its steps run one after the other. A peer of -1 means no peer."""

    send: int
    recv: int
    channel: int
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Msccl:
    """The content of a file."""

    name: str  # the name of the algorithm
    collective: str  # the collective that it implements
    chunks: int  # number of chunks of the larger of a GPU's input and output
    in_place: bool  # whether input and output are the same memory
    gpus: tuple[dict[int, Block], ...]  # for each GPU, its thread blocks by number
    scratch: tuple[int, ...]  # for each GPU, the number of chunks of its working memory

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Msccl:
        """Read a file.

        Raises:
            Error: The file cannot be read, or is not MSCCL XML: file, line, and what was expected.
        """
        file = checks.path("schedule", path)
        return _Reader(fspath(file)).read(read_text(file))

    @property
    def ranks(self) -> int:
        """The number of GPUs."""
        return len(self.gpus)

    def input_chunks(self) -> int:
        """Return the number of chunks of a GPU's input."""
        return self.chunks // self.ranks if self.collective == "allgather" else self.chunks

    def output_chunks(self) -> int:
        """Return the number of chunks of a GPU's output."""
        return self.chunks // self.ranks if self.collective == "reduce_scatter" else self.chunks

    def resolve(self, gpu: int, place: Place) -> Place:
        """Return the memory of a place; in an in-place algorithm, input and output are one buffer."""
        if not self.in_place:
            return place
        part = gpu * (self.chunks // self.ranks)
        if self.collective == "allgather":
            return Place("o", place.offset + part) if place.buffer == "i" else place
        if place.buffer == "o":
            return Place("i", place.offset + (part if self.collective == "reduce_scatter" else 0))
        return place

    def schedule(self, size_bytes: int | str) -> Schedule:
        """Return the schedule of a call.

        Args:
            size_bytes: The larger of a GPU's input and output, a number or a text such as "64KiB"; a multiple of the
                chunks.

        Raises:
            Error: Chunks are not a whole number of bytes, or thread blocks of a GPU wait for each other.
        """
        size_bytes = checks.size_bytes("size_bytes", size_bytes)
        if size_bytes < self.chunks or size_bytes % self.chunks:
            expected = f"a multiple of the schedule's {self.chunks} chunks, in bytes"
            raise Error(f"size: got {size_bytes} B, expected {expected}")
        chunk_bytes = size_bytes // self.chunks
        ranks = [Tasks(self, gpu, chunk_bytes) for gpu in range(self.ranks)]
        scratch = [tasks.scratch_bytes for tasks in ranks]
        content = {"format": 1, "element_bytes": 1, "scratch": scratch, "ranks": [tasks.tasks for tasks in ranks]}
        return Schedule.of(self.name, content, collective=self.collective)

    def as_xml(self) -> str:
        """Return the text of a file, as RCCL and Azure's executor read it: for calls of any size."""
        channels = 1 + max((block.channel for blocks in self.gpus for block in blocks.values()), default=0)
        lines = [
            f'<algo name={quoteattr(self.name)} proto="Simple" nchannels="{channels}" nchunksperloop="{self.chunks}" '
            f'ngpus="{self.ranks}" coll="{self.collective.replace("_", "")}" minBytes="0" maxBytes="{_MOST_BYTES}" '
            f'inplace="{int(self.in_place)}" outofplace="{int(not self.in_place)}">'
        ]
        for gpu, blocks in enumerate(self.gpus):
            rooms = f'i_chunks="{self.input_chunks()}" o_chunks="{self.output_chunks()}" s_chunks="{self.scratch[gpu]}"'
            lines.append(f'  <gpu id="{gpu}" {rooms}>')
            for number, block in blocks.items():
                lines.append(f'    <tb id="{number}" send="{block.send}" recv="{block.recv}" chan="{block.channel}">')
                lines += [f"      {step.as_xml(at)}" for at, step in enumerate(block.steps)]
                lines.append("    </tb>")
            lines.append("  </gpu>")
        return "\n".join([*lines, "</algo>\n"])


class Tasks:
    """The tasks of a GPU; each comes after the tasks it waits for.

    A thread block continues when its connection has accepted a message. So a task after a send waits only for the start
    of the send.
    """

    def __init__(self, content: Msccl, gpu: int, chunk_bytes: int) -> None:
        self._content, self._gpu, self._chunk_bytes = content, gpu, chunk_bytes
        self.tasks: list[dict[str, Any]] = []
        self.steps: dict[int, tuple[int, int]] = {}
        self.scratch_bytes = content.scratch[gpu] * chunk_bytes
        self._begin()
        blocks = content.gpus[gpu]
        ends: dict[tuple[int, int], int] = {}
        places = dict.fromkeys(blocks, 0)
        landing = {}  # scratch memory for received data that will be reduced
        for number, block in blocks.items():
            length = max((step.count for step in block.steps), default=0) * chunk_bytes
            landing[number] = {"buffer": "scratch", "offset": self.scratch_bytes, "len": length}
            self.scratch_bytes += length
        is_going = True
        while is_going:
            is_going = False
            for number, block in blocks.items():
                while places[number] < len(block.steps):
                    at = places[number]
                    step = block.steps[at]
                    if step.after is not None and step.after not in ends:
                        break
                    waits = {ends.get((number, at - 1)), ends.get(step.after) if step.after else None}
                    after = sorted(wait for wait in waits if wait is not None)
                    first = len(self.tasks)
                    ends[number, at] = self._add(block, step, after, landing[number])
                    self.steps.update(dict.fromkeys(range(first, len(self.tasks)), (number, at)))
                    places[number] += 1
                    is_going = True
        for number, block in blocks.items():
            if places[number] < len(block.steps):
                where = f"gpu {gpu}, thread block {number}, step {places[number]}"
                raise Error(f"{where}: waits in a cycle of steps, expected no cycles")
        self._end(ends[number, len(block.steps) - 1] for number, block in blocks.items() if block.steps)

    def _begin(self) -> None:
        """Append what comes before all steps."""

    def _end(self, last: Iterable[int]) -> None:
        """Append what comes after the last task of each thread block."""

    def _add(self, block: Block, step: Step, after: list[int], landing: dict[str, Any]) -> int:
        """Append the tasks of a step, and return the number of the last task."""
        action = step.action
        if action is None:
            return self._append({"compute": {"time_s": 0.0}}, after)
        source, target = self._span(step.source, step.count), self._span(step.target, step.count)
        landing = {**landing, "len": step.count * self._chunk_bytes}
        value = target if action.writes else landing if action.receives else source
        last = after
        if action.receives:
            into = landing if action.reduces else target
            last = [self._append({"recv": {"from": block.recv, "tag": block.channel, "into": into}}, last)]
        if action.reduces:
            other = landing if action.receives and action.writes else source
            if action.writes and action.receives and source != target:
                last = [self._append({"copy": {"source": source, "target": target}}, last)]
            combine = {"source": other, "target": value, "is_source_left": False}
            last = [self._append({"combine": combine}, last)]
        elif action.writes and not action.receives:
            last = [self._append({"copy": {"source": source, "target": target}}, last)]
        if action.sends:
            last = [self._append({"send": {"to": block.send, "tag": block.channel, "data": value}}, last)]
        return last[0]

    def _append(self, action: dict[str, Any], after: list[int]) -> int:
        task: dict[str, Any] = {"action": action}
        for key, is_send in (("after", False), ("after_start", True)):
            if waits := [number for number in after if ("send" in self.tasks[number]["action"]) == is_send]:
                task[key] = waits
        self.tasks.append(task)
        return len(self.tasks) - 1

    def _span(self, place: Place, count: int) -> dict[str, Any]:
        place = self._content.resolve(self._gpu, place)
        size = self._chunk_bytes
        return {"buffer": BUFFERS[place.buffer], "offset": max(place.offset, 0) * size, "len": count * size}


class _Reader:
    """Reads one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _: self._open.pop()
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._open: list[str] = []
        self._ranks = self._channels = 0
        self._algo: dict[str, Any] = {}
        self._gpus: dict[int, dict[int, Block]] = {}
        self._rooms: dict[int, dict[str, int]] = {}
        self._gpu = 0
        self._block: Block

    def read(self, text: str) -> Msccl:
        try:
            self._parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            raise Error(f"{self._file}:{error.lineno}: {expat.ErrorString(error.code)}, expected MSCCL XML") from error
        if len(self._gpus) != self._ranks:
            raise Error(f"{self._file}: describes {len(self._gpus)} GPUs, expected {self._ranks}, the value of ngpus")
        gpus = range(self._ranks)
        scratch = tuple(self._rooms[gpu]["s"] for gpu in gpus)
        content = Msccl(**self._algo, gpus=tuple(self._gpus[gpu] for gpu in gpus), scratch=scratch)
        for gpu, blocks in enumerate(content.gpus):
            self._check(content, gpu, blocks)
        return content

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1] if self._open else None
        if tag not in _PARENTS or _PARENTS[tag] != parent:
            children = ", ".join(name for name, of in _PARENTS.items() if of == parent) or "nothing"
            raise self._error(f"got <{tag[:40]}>, expected {children}" + (f" in <{parent}>" if parent else ""))
        self._open.append(tag)
        getattr(self, f"_start_{tag}")(attributes)

    def _start_algo(self, attributes: dict[str, str]) -> None:
        collective = self._text(attributes, "coll")
        if collective not in _NAMES:
            raise self._error(f"coll: got {checks.quote(collective)}, expected {', '.join(COLLECTIVES)}")
        gpus = self._whole(attributes, "ngpus", least=1)
        chunks = self._whole(attributes, "nchunksperloop", least=1)
        if collective != "allreduce" and chunks % gpus:
            raise self._error(f"nchunksperloop: got {chunks}, expected a multiple of the {gpus} GPUs")
        name = printable(self._text(attributes, "name"))
        self._ranks, self._channels = gpus, self._whole(attributes, "nchannels", least=1, default=_MOST)
        self._algo = {
            "name": name,
            "collective": _NAMES[collective],
            "chunks": chunks,
            "in_place": self._whole(attributes, "inplace", most=1, default=0) == 1,
        }

    def _start_gpu(self, attributes: dict[str, str]) -> None:
        self._gpu = self._whole(attributes, "id", most=self._ranks - 1)
        if self._gpu in self._gpus:
            raise self._error(f"gpu {self._gpu} appears twice, expected every GPU once")
        self._gpus[self._gpu] = {}
        self._rooms[self._gpu] = {
            buffer: self._whole(attributes, f"{buffer}_chunks", default=default)
            for buffer, default in (("i", _MOST), ("o", _MOST), ("s", 0))
        }

    def _start_tb(self, attributes: dict[str, str]) -> None:
        blocks = self._gpus[self._gpu]
        number = self._whole(attributes, "id")
        send, recv = (self._whole(attributes, key, least=-1, most=self._ranks - 1) for key in ("send", "recv"))
        channel = max(self._whole(attributes, "chan", least=-1, most=self._channels - 1), 0)
        if number in blocks:
            what = f"thread block {number} of gpu {self._gpu}"
            raise self._error(f"{what} appears twice, expected every thread block once")
        for other, block in blocks.items():
            for verb, peer, theirs in (("send to", send, block.send), ("receive from", recv, block.recv)):
                if peer == theirs != -1 and channel == block.channel:
                    what = f"thread blocks {other} and {number} both {verb} gpu {peer} on channel {channel}"
                    raise self._error(f"{what}, expected one thread block for each direction of a connection")
        self._block = blocks[number] = Block(send, recv, channel)

    def _start_step(self, attributes: dict[str, str]) -> None:
        kind = self._text(attributes, "type")
        if kind not in _ACTIONS:
            raise self._error(f"type: got {checks.quote(kind)}, expected {', '.join(_ACTIONS)}")
        number = self._whole(attributes, "s")
        if number != len(self._block.steps):
            raise self._error(f"s: got {number}, expected {len(self._block.steps)}, as steps are numbered in order")
        action = _ACTIONS[kind] or Action()
        ends = ((action.sends, self._block.send, "send"), (action.receives, self._block.recv, "recv"))
        for is_needed, peer, verb in ends:
            if is_needed and peer in (-1, self._gpu):
                raise self._error(f"{kind}: the thread block's {verb} is {peer}, expected another GPU")
        depid, deps = (self._whole(attributes, key, least=-1, default=-1) for key in ("depid", "deps"))
        step = Step(
            kind=kind,
            source=self._place(attributes, "src"),
            target=self._place(attributes, "dst"),
            count=self._whole(attributes, "cnt", least=0 if kind == "nop" else 1, default=1),
            after=None if depid == -1 else (depid, deps),
            has_waiters=self._whole(attributes, "hasdep", most=1, default=0) == 1,
            line=self._parser.CurrentLineNumber,
        )
        self._block.steps.append(step)

    def _place(self, attributes: dict[str, str], side: str) -> Place:
        buffer = attributes.get(f"{side}buf", "i")
        if buffer not in BUFFERS:
            raise self._error(f"{side}buf: got {checks.quote(buffer)}, expected i, o or s")
        return Place(buffer, self._whole(attributes, f"{side}off", least=-1, default=-1))

    def _check(self, content: Msccl, gpu: int, blocks: dict[int, Block]) -> None:
        """Check facts that need the whole file: the sizes of buffers, and the steps that others wait for."""
        rooms = dict(self._rooms[gpu])
        for buffer, chunks in (("i", content.input_chunks()), ("o", content.output_chunks())):
            rooms[buffer] = min(rooms[buffer], chunks)
        for step in (step for block in blocks.values() for step in block.steps):
            for name, place in _places_of(step):
                room = rooms[place.buffer]
                if place.offset < 0 or place.offset + step.count > room:
                    got = f"{name}off {place.offset} with cnt {step.count}"
                    expected = f"chunks within the {room} of buffer {place.buffer}"
                    raise Error(f"{self._file}:{step.line}: {got}, expected {expected}")
            if step.after is not None:
                number, at = step.after
                if number not in blocks or not 0 <= at < len(blocks[number].steps):
                    raise Error(f"{self._file}:{step.line}: depid {number}, deps {at}: gpu {gpu} has no such step")
                if not blocks[number].steps[at].has_waiters:
                    what = f"waits for step {at} of thread block {number}, which has hasdep 0"
                    raise Error(f"{self._file}:{step.line}: {what}, expected hasdep 1")

    def _text(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise self._error(f"<{self._open[-1]}>: {name} is missing, expected this attribute")
        return attributes[name]

    def _whole(
        self, attributes: dict[str, str], name: str, *, least: int = 0, most: int = _MOST, default: int | None = None
    ) -> int:
        if default is not None and name not in attributes:
            return default
        text = self._text(attributes, name)
        if len(text) <= 9 and text.isascii() and text.removeprefix("-").isdigit() and least <= int(text) <= most:
            return int(text)
        raise self._error(f"{name}: got {checks.quote(text)}, expected a whole number from {least} to {most}")

    def _refuse_doctype(self, *_: object) -> None:
        raise self._error("got a document type, expected MSCCL XML without declarations")

    def _error(self, message: str) -> Error:
        return Error(f"{self._file}:{self._parser.CurrentLineNumber}: {message}")


def _places_of(step: Step) -> Iterator[tuple[str, Place]]:
    action = step.action
    if action is not None and (action.reduces or not action.receives):
        yield "src", step.source
    if action is not None and action.writes:
        yield "dst", step.target
