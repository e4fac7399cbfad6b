"""Execution plans of MSCCL++: what the thread blocks of every GPU do, in JSON.

The form: src/core/executor/execution_plan.cc in microsoft/mscclpp. What an operation does: execution_kernel.hpp in
src/core/include there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, TypeVar

from hocket._native import Error
from hocket.base import checks
from hocket.base.error import printable
from hocket.base.files import parse_object, read_rows, read_text

T = TypeVar("T")

COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast", "sendrecv")
_NAMES = {**{name: name for name in COLLECTIVES}, "reducescatter": "reduce_scatter"}
BUFFERS = {"i": "input", "o": "output", "s": "scratch"}
_SWITCH = "uses a switch channel (NVLS), expected memory and port channels, as Hocket has no model of switches"
_MOST = 1 << 16  # limit on GPUs, on thread blocks of a GPU, and on chunks
_MOST_BYTES = 1 << 40
_MOST_MESSAGE_BYTES = (1 << 64) - 1
_MOST_PARTS = 1 << 10  # thread blocks that share an operation


@dataclass(frozen=True)
class Form:
    """What an operation reads and writes.

    Each letter stands for an operand: `l` local, `r` remote; a capital means packets, which carry flags; a star means
    any number of the letter before it.
    """

    sources: str
    targets: str
    is_reduction: bool = False
    kinds: tuple[str, ...] = ("memory",)
    has_signal: bool = False
    has_flush: bool = False


FORMS: Mapping[str, Form] = {
    row["operation"]: Form(
        row["sources"], row["targets"], kinds=tuple(row["kinds"].split()), **dict.fromkeys(row["terms"].split(), True)
    )
    for row in read_rows(__file__, "mscclpp_operations.csv")
}
"""The operations on data."""

_CHANNEL_NAMES = ("signal", "wait", "flush", "rlxsignal", "rlxwait")
_SEMAPHORE_NAMES = ("sem_acquire", "sem_release")
_SWITCH_NAMES = ("glres", "gstore")
_OTHER_NAMES = ("nop", "barrier", "pipeline")


@dataclass(frozen=True)
class Operand:
    """Chunks of a buffer of a GPU; packets take the room of twice as many."""

    gpu: int
    buffer: str
    index: int
    size: int
    has_packets: bool = False


@dataclass(frozen=True)
class Channel:
    """The end of a channel at a GPU: the channel of this number, among those of its kind to the peer."""

    kind: str
    gpu: int
    peer: int
    number: int

    def other_end(self) -> Channel:
        """Return the end at the peer."""
        return Channel(self.kind, self.peer, self.gpu, self.number)

    def __str__(self) -> str:
        return f"{self.kind} channel {self.number} between gpus {self.gpu} and {self.peer}"


@dataclass(frozen=True)
class Operation:
    """An operation of a thread block."""

    name: str  # its name, as in the file
    sources: tuple[Operand, ...] = ()  # what it reads
    targets: tuple[Operand, ...] = ()  # what it writes
    channels: tuple[Channel, ...] = ()  # the channels on which it signals, waits, flushes or puts
    kind: str = "none"  # the kind of channel by which it reaches other GPUs
    part: tuple[int, int] = (0, 1)  # the part of the data that it handles, and the number of parts
    barrier: tuple[int, int] = (0, 0)  # for a barrier, its number, and the number of thread blocks that meet there
    semaphores: tuple[int, ...] = ()  # the semaphores of the GPU that it acquires or releases
    unit_bytes: int = 0  # for a pipeline, how many bytes of each operand one iteration handles
    chunks: int = 0  # for a pipeline, the number of chunks that its iterations handle together
    operations: tuple[Operation, ...] = ()  # the operations in a pipeline

    @property
    def form(self) -> Form | None:
        """What it does with data; None for synchronisation."""
        return FORMS.get(self.name)

    @property
    def is_sent_whole(self) -> bool:
        """Whether a channel copies packets without looking at their flags."""
        return self.name == "ppkt" and self.kind == "port"


@dataclass(frozen=True)
class Gpu:
    """The thread blocks of a GPU, the chunks of its scratch buffer, and the initial values of its semaphores."""

    blocks: tuple[tuple[Operation, ...], ...]
    scratch_chunks: int
    semaphores: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """The content of a file."""

    name: str  # the name of the plan
    collective: str  # the collective that it implements
    in_place: bool  # whether input and output are the same memory
    input_chunks: int  # the number of chunks of a GPU's input
    output_chunks: int  # the number of chunks of a GPU's output
    alignment_bytes: int  # every chunk and every part of a chunk is a multiple of it
    has_two_scratches: bool  # whether calls use the two halves of the scratch buffer in turn
    is_scratch_reused: bool  # whether long chunks go through a scratch buffer of fixed size, piece by piece
    most_chunk_bytes: int  # the longest chunk for which the plan is meant
    gpus: tuple[Gpu, ...]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Plan:
        """Read a file.

        Raises:
            Error: The file cannot be read, or is not a plan that Hocket supports: where, and what was expected.
        """
        file = checks.path("schedule", path)
        return _plan(fspath(file), parse_object(read_text(file), file))

    @property
    def ranks(self) -> int:
        """The number of GPUs."""
        return len(self.gpus)

    @property
    def chunks(self) -> int:
        """The number of chunks of the larger of a GPU's input and output."""
        return max(self.input_chunks, self.output_chunks)

    def resolve(self, gpu: int, buffer: str) -> tuple[str, int]:
        """Return the memory of a buffer, and its first chunk there; in place, input and output are one buffer."""
        if not self.in_place or buffer == "s":
            return buffer, 0
        if self.collective == "allgather":
            return "o", gpu * self.input_chunks if buffer == "i" else 0
        return "i", gpu * self.output_chunks if buffer == "o" and self.collective == "reduce_scatter" else 0


@dataclass(frozen=True)
class _Node:
    """An object of the file, and where it is."""

    where: str
    members: Mapping[str, Any]

    @classmethod
    def of(cls, where: str, value: Any) -> _Node:
        if not isinstance(value, dict):
            raise Error(f"{where}: got {checks.quote(value)}, expected an object")
        return cls(where, value)

    def error(self, message: str) -> Error:
        return Error(f"{self.where}: {message}")

    def text(self, key: str) -> str:
        return self._of_type(str, key, "a text")

    def one_of(self, key: str, names: Sequence[str]) -> str:
        if (name := self.text(key)) not in names:
            raise self.error(f"{key}: got {checks.quote(name)}, expected {', '.join(names)}")
        return name

    def truth(self, key: str) -> bool:
        return self._of_type(bool, key, "true or false", default=False)

    def whole(self, key: str, *, least: int = 0, most: int = _MOST, default: int | None = None) -> int:
        if default is not None and key not in self.members:
            return default
        if key not in self.members:
            raise self.error(f"{key} is missing, expected a whole number from {least} to {most}")
        return self._whole(key, self.members[key], least, most)

    def wholes(self, key: str, *, most: int = _MOST) -> tuple[int, ...]:
        return tuple(self._whole(key, value, 0, most) for value in self.array(key))

    def array(self, key: str) -> Sequence[Any]:
        return self._of_type(list, key, "an array", default=[])

    def nodes(self, key: str, noun: str) -> Iterator[_Node]:
        for number, value in enumerate(self.array(key)):
            yield _Node.of(f"{self.where}, {noun} {number}", value)

    def _whole(self, key: str, value: Any, least: int, most: int) -> int:
        if type(value) is not int or not least <= value <= most:
            raise self.error(f"{key}: got {checks.quote(value)}, expected a whole number from {least} to {most}")
        return value

    def _of_type(self, kind: type[T], key: str, expected: str, *, default: T | None = None) -> T:
        value = self.members.get(key, default)
        if not isinstance(value, kind):
            got = f"got {checks.quote(value)}" if key in self.members else "it is missing"
            raise self.error(f"{key}: {got}, expected {expected}")
        return value


@dataclass(frozen=True)
class _Reach:
    """What a thread block can reach: the channels and the buffers of other GPUs by kind, and its GPU's semaphores."""

    gpu: int
    channels: Mapping[str, list[Channel]] = field(default_factory=lambda: defaultdict(list))
    buffers: Mapping[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    semaphores: int = 0


def _plan(file: str, members: Mapping[str, Any]) -> Plan:
    plan = _Node(file, members)
    gpus = [*plan.nodes("gpus", "gpu")]
    if not 1 <= len(gpus) <= _MOST:
        raise plan.error(f"gpus: got {len(gpus)} GPUs, expected 1 to {_MOST}")
    if "inputChunks" in gpus[0].members:
        raise plan.error("is in an older form of plans, whose GPUs have inputChunks, expected input_chunks")
    if "colletive" in members or "collective" not in members:
        raise plan.error("collective is missing, expected a collective")
    if (collective := plan.text("collective")) not in _NAMES:
        raise plan.error(f"collective: got {checks.quote(collective)}, expected {', '.join(COLLECTIVES)}")
    chunks = [tuple(gpu.whole(f"{key}_chunks") for key in ("input", "output")) for gpu in gpus]
    if len(set(chunks)) > 1 or not any(chunks[0]):
        raise plan.error("GPUs have different input_chunks or output_chunks, or none, expected the same for all")
    plan.one_of("protocol", ("Simple", "LL"))
    content = Plan(
        name=printable(plan.text("name")),
        collective=_NAMES[collective],
        in_place=plan.truth("inplace"),
        input_chunks=chunks[0][0],
        output_chunks=chunks[0][1],
        alignment_bytes=plan.whole("buffer_alignment", least=1, default=16),
        has_two_scratches=plan.truth("use_double_scratch_buffer"),
        is_scratch_reused=plan.truth("reuse_resources"),
        most_chunk_bytes=plan.whole("max_message_size", most=_MOST_MESSAGE_BYTES, default=_MOST_MESSAGE_BYTES)
        // (chunks[0][_NAMES[collective] == "allgather"] or max(chunks[0])),
        gpus=tuple(_gpu(number, gpu, len(gpus)) for number, gpu in enumerate(gpus)),
    )
    _check_chunks(plan, content)
    for number, gpu in enumerate(content.gpus):
        for block, operations in enumerate(gpu.blocks):
            for at, operation in enumerate(operations):
                _check(content, f"{file}, gpu {number}, threadblock {block}, op {at}", operation)
    return content


def _check_chunks(plan: _Node, content: Plan) -> None:
    """Refuse a plan whose numbers of chunks are not those of its collective."""
    inputs, outputs, ranks = content.input_chunks, content.output_chunks, content.ranks
    ways = {"allgather": (inputs * ranks, outputs), "reduce_scatter": (inputs, outputs * ranks)}
    left, right = ways.get(content.collective, (inputs, outputs))
    if left != right or (content.collective == "alltoall" and inputs % ranks):
        what = f"{inputs} input_chunks and {outputs} output_chunks on {ranks} GPUs"
        raise plan.error(f"got {what}, expected the chunks of {content.collective}")


def _gpu(number: int, gpu: _Node, ranks: int) -> Gpu:
    if gpu.whole("id") != number:
        raise gpu.error(f"id: got {gpu.members['id']}, expected {number}, as GPUs are numbered in order")
    channels = _channels(number, gpu, ranks)
    buffers = [
        (at.whole("rank", most=ranks - 1), at.one_of("type", [*BUFFERS]), at.array("access_channel_types"))
        for at in gpu.nodes("remote_buffers", "remote buffer")
    ]
    semaphores = tuple(at.whole("init_value") for at in gpu.nodes("semaphores", "semaphore"))
    blocks = []
    for at, block in enumerate(gpu.nodes("threadblocks", "threadblock")):
        if block.whole("id") != at:
            raise block.error(f"id: got {block.members['id']}, expected {at}, as thread blocks are numbered in order")
        reach = _Reach(number, semaphores=len(semaphores))
        for uses in block.nodes("channels", "channel"):
            kind = uses.one_of("channel_type", ("memory", "port", "switch"))
            for channel in uses.wholes("channel_ids"):
                if kind != "switch" and channel >= len(channels[kind]):
                    raise uses.error(f"channel_ids: got {channel}, expected a {kind} channel of gpu {number}")
                if kind != "switch":
                    reach.channels[kind].append(channels[kind][channel])
        for uses in block.nodes("remote_buffer_refs", "remote buffer ref"):
            kind = uses.one_of("access_channel_type", ("memory", "port"))
            for buffer in uses.wholes("remote_buffer_ids"):
                if buffer >= len(buffers) or kind not in buffers[buffer][2]:
                    raise uses.error(f"remote_buffer_ids: got {buffer}, expected a remote buffer for {kind} channels")
                reach.buffers[kind].append(buffers[buffer][:2])
        blocks.append(tuple(_operation(node, reach) for node in block.nodes("ops", "op")))
    return Gpu(tuple(blocks), gpu.whole("scratch_chunks"), semaphores)


def _channels(number: int, gpu: _Node, ranks: int) -> Mapping[str, list[Channel]]:
    """Return the channels of a GPU: the n-th to a peer belongs to the n-th channel from there."""
    channels: dict[str, list[Channel]] = defaultdict(list)
    counts: Counter[tuple[str, int]] = Counter()
    for node in gpu.nodes("channels", "channel"):
        kind = node.one_of("channel_type", ("memory", "port", "switch"))
        for peer in node.wholes("connected_to", most=ranks - 1) if kind != "switch" else ():
            if peer == number:
                raise node.error(f"connected_to: got {peer}, expected another GPU")
            channels[kind].append(Channel(kind, number, peer, counts[kind, peer]))
            counts[kind, peer] += 1
    return channels


def _check(content: Plan, where: str, operation: Operation) -> None:
    """Refuse chunks beyond the end of a buffer, and operands of different sizes."""
    for operand in (*operation.sources, *operation.targets):
        rooms = {"i": content.input_chunks, "o": content.output_chunks}
        room = rooms.get(operand.buffer, content.gpus[operand.gpu].scratch_chunks)
        if operand.index + operand.size > room:
            what = f"{BUFFERS[operand.buffer]} chunks {operand.index} to {operand.index + operand.size - 1}"
            raise Error(f"{where}: {operation.name}: got {what} of gpu {operand.gpu}, expected at most {room} chunks")
    for number, inner in enumerate(operation.operations):
        _check(content, f"{where}.{number}", inner)
        if any(operand.has_packets for operand in (*inner.sources, *inner.targets)):
            raise Error(f"{where}.{number}: {inner.name}: got packets in a pipeline, expected none")
        for operand in inner.targets:
            if operand.size < operation.chunks * inner.part[1]:
                what = f"{operand.size} chunks in {inner.part[1]} parts in a pipeline of {operation.chunks} chunks"
                raise Error(f"{where}.{number}: {inner.name}: got {what}, expected parts as long as the pipeline")


def _operation(node: _Node, reach: _Reach, *, is_inner: bool = False) -> Operation:
    name = node.text("name")
    names = (*FORMS, *_CHANNEL_NAMES, *_SEMAPHORE_NAMES, *_OTHER_NAMES)
    if name in _SWITCH_NAMES:
        raise node.error(f"{name}: {_SWITCH}")
    if name not in names or (is_inner and name == "pipeline"):
        raise node.error(f"name: got {checks.quote(name)}, expected {', '.join(names)}")
    kinds = ("memory", "port", "none", "switch")
    kind = node.one_of("channel_type", kinds) if "channel_type" in node.members else "none"
    if kind == "switch":
        raise node.error(f"{name}: {_SWITCH}")
    part = (0, 1)
    if "tbg_info" in node.members:
        group = _Node.of(f"{node.where}, tbg_info", node.members["tbg_info"])
        parts = group.whole("tbg_size", least=1, most=_MOST_PARTS)
        part = group.whole("tb_id", most=parts - 1), parts
    if form := FORMS.get(name):
        return _transfer(node, reach, name, form, kind, part)
    if name in _CHANNEL_NAMES:
        if kind == "none" or (name == "flush" and kind != "port"):
            raise node.error(f"channel_type: got {kind}, expected {'port' if name == 'flush' else 'memory or port'}")
        return Operation(name, channels=_channels_of(node, reach, kind), kind=kind)
    if name in _SEMAPHORE_NAMES:
        return Operation(name, semaphores=node.wholes("semaphore_ids", most=reach.semaphores - 1))
    if name == "barrier":
        return Operation(name, barrier=(node.whole("barrier_id"), node.whole("num_threadblocks", least=1)))
    if name == "pipeline":
        turns = _Node.of(f"{node.where}, iter_context", node.members.get("iter_context"))
        return Operation(
            name,
            unit_bytes=turns.whole("unit_size", least=1, most=_MOST_BYTES),
            chunks=turns.whole("num_chunks", least=1),
            operations=tuple(_operation(inner, reach, is_inner=True) for inner in node.nodes("ops", "op")),
        )
    return Operation(name)


def _channels_of(node: _Node, reach: _Reach, kind: str) -> tuple[Channel, ...]:
    channels, numbers = reach.channels[kind], node.wholes("channel_ids")
    for number in numbers:
        if number >= len(channels):
            expected = f"one of the {len(channels)} {kind} channels of its block"
            raise node.error(f"channel_ids: got {number}, expected {expected}")
    return tuple(channels[number] for number in numbers)


def _transfer(node: _Node, reach: _Reach, name: str, form: Form, kind: str, part: tuple[int, int]) -> Operation:
    """Return an operation on data."""
    if kind not in form.kinds and "r" in (form.sources + form.targets).lower():
        raise node.error(f"{name}: channel_type: got {kind}, expected {' or '.join(form.kinds)}")
    is_copied_whole = kind == "port" and name == "ppkt"  # the source consists of packets, and so does the target
    sources = _operands(node, "src_buff", form.sources.upper() if is_copied_whole else form.sources, reach, kind)
    targets = _operands(node, "dst_buff", form.targets, reach, kind)
    if not form.is_reduction and len(sources) != len(targets) and name != "rppkt":
        raise node.error(f"{name}: got {len(sources)} sources and {len(targets)} targets, expected as many")
    if len({operand.size for operand in (*sources, *targets)}) > 1 and (form.is_reduction or name == "rppkt"):
        raise node.error(f"{name}: got operands of different sizes, expected the same size for all")
    if any(source.size != target.size for source, target in zip(sources, targets, strict=False)):
        raise node.error(f"{name}: got a source and a target of different sizes, expected the same size")
    if len({source.buffer for source in sources}) > 1 and not form.is_reduction and sources[0].gpu == reach.gpu:
        raise node.error(f"{name}: got sources in different buffers, expected one buffer, as MSCCL++ reads the first")
    channels = _channels_of(node, reach, kind) if kind == "port" else ()
    if kind == "port" and len(channels) < len(targets):
        raise node.error(f"channel_ids: got {len(channels)} channels, expected one for each of {len(targets)} targets")
    for channel, target in zip(channels, targets, strict=False):
        if channel.peer != target.gpu:
            raise node.error(f"channel_ids: got a channel to gpu {channel.peer}, expected one to gpu {target.gpu}")
    return Operation(name, sources, targets, channels[: len(targets)], kind, part)


def _operands(node: _Node, key: str, letters: str, reach: _Reach, kind: str) -> tuple[Operand, ...]:
    """Return the operands, which have to fit the letters of the form."""
    nodes = [*node.nodes(key, key)]
    is_open = letters.endswith("*")
    first, repeated = (letters[:-2], letters[-2]) if is_open else (letters, "")
    least = max(len(first), 1)
    if len(nodes) < least or (len(nodes) > least and not is_open):
        raise node.error(f"{key}: got {len(nodes)} buffers, expected {least}{' or more' if is_open else ''}")
    expected = first + repeated * (len(nodes) - len(first))
    return tuple(_operand(one, letter, reach, kind) for one, letter in zip(nodes, expected, strict=True))


def _operand(node: _Node, letter: str, reach: _Reach, kind: str) -> Operand:
    if "switch_channel_id" in node.members:
        raise node.error(_SWITCH)
    is_remote = "buffer_id" in node.members
    if is_remote != (letter.lower() == "r"):
        got, expected = ("buffer_id", "type") if is_remote else ("no buffer_id", "buffer_id")
        raise node.error(f"got {got}, expected {expected}, a buffer of {'its own' if is_remote else 'another'} GPU")
    if not is_remote:
        gpu, buffer = reach.gpu, node.one_of("type", [*BUFFERS])
    elif (number := node.whole("buffer_id")) < len(reach.buffers[kind]):
        gpu, buffer = reach.buffers[kind][number]
    else:
        raise node.error(f"buffer_id: got {number}, expected one of the {len(reach.buffers[kind])} of its block")
    if letter.isupper() and buffer != "s":
        raise node.error(f"got packets in the {BUFFERS[buffer]}, expected packets in the scratch buffer")
    return Operand(gpu, buffer, node.whole("index"), node.whole("size", least=1), letter.isupper())
