"""Dynamic multicast among the ranks of an mpi4py program: one rank sends to any others, without their knowing it ahead.

```python
from mpi4py import MPI
from hocket.mpi.multicast import Domain

with Domain(MPI.COMM_WORLD, master=0) as domain:
    if MPI.COMM_WORLD.rank == 0:
        domain.send([3, 5, 8], b"a task")
    elif MPI.COMM_WORLD.rank in (3, 5, 8):
        assert domain.recv() == b"a task"
```

Needs mpi4py, and the compiler wrapper of the MPI that it uses.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket._native import Error
from hocket.definitions.library import COLLECTIVES, find_collective
from hocket.mpi.installation import Installation, cached_build

_LEFT, _COMPLETE = 0, 1
_MOST_RANK = 2**31 - 1


class _Status(ctypes.Structure):
    """`hocket_mcast_status`."""

    _fields_ = (
        ("id", ctypes.c_uint64),
        ("count", ctypes.c_int64),
        ("bytes", ctypes.c_size_t),
        ("rank", ctypes.c_int),
        ("size", ctypes.c_int),
    )


class _Multicast(ctypes.Structure):
    """`hocket_multicast`."""

    _fields_ = (
        ("id", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("rank", ctypes.c_int32),
        ("size", ctypes.c_int32),
        ("members", ctypes.POINTER(ctypes.c_uint8)),
        ("ranks", ctypes.POINTER(ctypes.c_uint32)),
    )


@dataclass(frozen=True)
class Status:
    """The status of a received message."""

    id: int  # the multicast's number in its domain, counted from 1
    size_bytes: int  # length of the message
    rank: int  # this rank's number among the members, from 0 on
    size: int  # number of members


def build(mpicc: str | None = None) -> Path:
    """Return the library for an MPI, by default the one beside this Python; an Error if it cannot be compiled."""
    mpicc_of_python = Path(sys.executable).with_name("mpicc")
    installation = Installation.find(mpicc or (str(mpicc_of_python) if mpicc_of_python.exists() else None))
    return cached_build(installation, "libhocket_multicast.so", "multicast/mcast.c", ["-shared", "-pthread"])


def _load(comm: Any, mpicc: str | None) -> ctypes.CDLL:
    """Load the library; rank 0 compiles it for all."""
    from mpi4py import MPI

    key_and_path: tuple[str, str] = ("", "")
    if comm.rank == 0:
        try:
            key_and_path = (str(build(mpicc)), "")
        except Error as error:
            key_and_path = ("", str(error))
    path, problem = comm.bcast(key_and_path)
    if problem:
        raise Error(problem)
    library = ctypes.CDLL(path if Path(path).exists() else str(build(mpicc)))
    library.hocket_mcast_error.restype = ctypes.c_char_p
    library.hocket_mcast_library.restype = ctypes.c_char_p
    ours, its = library.hocket_mcast_library().decode(), MPI.Get_library_version()
    if ours.strip("\0\n ") != its.strip("\0\n "):
        name = its.splitlines()[0]
        raise Error(f"mpicc: belongs to {ours.splitlines()[0]}, expected a wrapper of the MPI that mpi4py uses, {name}")
    return library


def _handle(thing: Any) -> Any:
    """Return a handle of MPI as C expects it: a number or a pointer."""
    from mpi4py import MPI

    kind = ctypes.c_int if MPI._sizeof(thing) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(thing))


def _memory(data: Any, *, is_written: bool = False) -> tuple[Any, int, Any]:
    """Return address and length of a buffer's content, and an object that keeps the content alive."""
    try:
        array = np.frombuffer(data, dtype=np.uint8) if len(memoryview(data).cast("B")) else np.empty(0, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise Error(f"buffer: got {type(data).__name__}, expected contiguous memory: {error}") from None
    if is_written and not array.flags.writeable:
        raise Error(f"buffer: got {type(data).__name__}, which is read-only, expected a writable buffer")
    return ctypes.c_void_p(array.ctypes.data), array.nbytes, array


class Domain:
    """A master and the ranks it sends to. All ranks of the communicator create and close the domain together.

    Each rank receives the multicasts of a domain in the order in which the master sent them. A rank forwards messages
    for others only while it is in a method of a domain; see `flush`.

    Args:
        comm: An mpi4py communicator; a private copy of it is used.
        master: The rank that sends.
        rules: The rules that choose algorithms for distributing messages and for collectives over groups: "measured",
            "simulated", "paper", or rules such as "broadcast[size=1MiB..]: chain, segment=64KiB". They are the same at
            all ranks.
        mpicc: The compiler wrapper of the MPI that mpi4py uses, by default the one beside Python.

    Raises:
        Error: There is no such rank, the rules are invalid, or the library cannot be compiled.
    """

    def __init__(self, comm: Any, *, master: int = 0, rules: str = "measured", mpicc: str | None = None) -> None:
        from mpi4py import MPI

        if comm.Is_inter():  # check this before rank 0 broadcasts the path of the library
            raise Error("comm: got an intercommunicator, expected an intracommunicator")
        self._library = _load(comm, mpicc)
        self._byte = _handle(MPI.BYTE)
        self._ranks = comm.size
        self._sent: dict[int, Any] = {}
        self._multicasts: dict[int, Multicast] = {}
        self._domain = ctypes.c_void_p()
        rank = ctypes.c_int(min(master, _MOST_RANK))
        self._call("domain_create", _handle(comm), rank, rules.encode(), ctypes.byref(self._domain))

    def __enter__(self) -> Domain:
        """Return the domain."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close the domain; after an error do nothing, because other ranks may never close theirs."""
        if kind is None:
            self.close()

    def close(self) -> None:
        """Release what is held, wait until all multicasts are complete, and free the domain; all ranks call this."""
        if self._domain:
            for multicast in tuple(self._multicasts.values()):
                multicast.release()
            self._call("domain_free", ctypes.byref(self._domain))
            self._sent.clear()

    def send(self, members: Iterable[int], data: Any) -> Sent:
        """Send to some ranks from the master, and return at once.

        Args:
            members: The ranks, in any order; the list may be empty.
            data: Contiguous memory (bytes, an array, ...), which must not change until the message has left.

        Raises:
            Error: This rank is not the master, or there is no such rank.
        """
        bitmap = bytearray(-(-self._ranks // 8))
        for rank in members:
            if not 0 <= rank < self._ranks:
                raise Error(f"members: got {rank}, expected ranks below {self._ranks}")
            bitmap[rank // 8] |= 1 << rank % 8
        address, length, keeper = _memory(data)
        number = ctypes.c_uint64()
        bits = (ctypes.c_uint8 * len(bitmap)).from_buffer(bitmap)
        count = ctypes.c_int64(length)
        size = ctypes.c_size_t(len(bitmap))
        self._call("send", self._domain, bits, size, address, count, self._byte, ctypes.byref(number))
        self._sent = {one: memory for one, memory in self._sent.items() if not self._is(one, _LEFT)}
        self._sent[number.value] = keeper
        return Sent(self, number.value)

    def recv(self) -> bytes:
        """Receive the next multicast, of any length."""
        with self.take() as multicast:
            return bytes(multicast.data)

    def recv_into(self, buffer: Any) -> Status:
        """Receive the next multicast into contiguous memory; an Error if it is longer, and this rank then loses it."""
        address, length, _keeper = _memory(buffer, is_written=True)
        status = _Status()
        self._call("recv", self._domain, address, ctypes.c_int64(length), self._byte, ctypes.byref(status))
        return Status(status.id, status.bytes, status.rank, status.size)

    def take(self) -> Multicast:
        """Wait for the next multicast, and hold it until its release."""
        structure = _Multicast()
        self._call("take", self._domain, ctypes.byref(structure))
        return Multicast(self, structure)

    def poll(self) -> Multicast | None:
        """Return the next multicast if it has arrived; it is held until its release."""
        structure, flag = _Multicast(), ctypes.c_int()
        self._call("poll", self._domain, ctypes.byref(structure), ctypes.byref(flag))
        return Multicast(self, structure) if flag.value else None

    def flush(self) -> None:
        """Wait until this rank has no more acknowledgements to forward.

        Call this before this rank waits by other means for a rank that waits for the completion of a multicast.
        """
        self._call("flush", self._domain)

    def progress(self) -> None:
        """Forward messages for others, without waiting."""
        self._call("progress")

    def _is(self, number: int, what: int) -> bool:
        flag = ctypes.c_int()
        self._call("test", self._domain, ctypes.c_uint64(number), ctypes.c_int(what), ctypes.byref(flag))
        return bool(flag.value)

    def _call(self, name: str, *arguments: Any) -> None:
        if name not in ("domain_create", "progress") and not self._domain:
            raise Error("domain: is closed, expected an open domain")
        if getattr(self._library, f"hocket_mcast_{name}")(*arguments):
            raise Error(self._library.hocket_mcast_error().decode(errors="replace"))


class Sent:
    """A multicast under way, as its master sees it. `id` is 0 if it has no members."""

    def __init__(self, domain: Domain, number: int) -> None:
        self._domain = domain
        self.id = number

    def wait(self) -> None:
        """Wait until every member has received and released it."""
        self._domain._call("wait", self._domain._domain, ctypes.c_uint64(self.id), ctypes.c_int(_COMPLETE))

    def wait_left(self) -> None:
        """Wait until the sent memory may change."""
        self._domain._call("wait", self._domain._domain, ctypes.c_uint64(self.id), ctypes.c_int(_LEFT))

    @property
    def is_complete(self) -> bool:
        """Whether every member has received and released it."""
        return self._domain._is(self.id, _COMPLETE)


class Multicast:
    """A received multicast that is held: its data, and its group.

    Attributes:
        id: Its number in the domain, counted from 1.
        rank: This rank's number among the members, from 0 on.
        size: Number of members.
        ranks: The members, as ranks of the communicator, in ascending order.
    """

    def __init__(self, domain: Domain, multicast: _Multicast) -> None:
        self._domain, self._multicasts = domain, multicast
        self._is_held = True
        domain._multicasts[multicast.id] = self
        self.id, self.rank, self.size = int(multicast.id), int(multicast.rank), int(multicast.size)
        self.ranks = tuple(multicast.ranks[: multicast.size])

    @property
    def data(self) -> memoryview:
        """The message, without a copy; invalid after the release."""
        if not self._is_held:
            raise Error(f"multicast {self.id}: its data was released, expected a held multicast")
        if not self._multicasts.bytes:
            return memoryview(b"")
        content = (ctypes.c_uint8 * self._multicasts.bytes).from_address(self._multicasts.data)
        return memoryview(content).cast("B").toreadonly()

    def __enter__(self) -> Multicast:
        """Return the multicast."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Release it; after an error, as far as possible."""
        with nullcontext() if kind is None else suppress(Error):
            self.release()

    def release(self) -> None:
        """Release it; this rank then acknowledges it."""
        if self._is_held:
            self._domain._call("release", self._domain._domain, ctypes.c_uint64(self.id))
            self._is_held = False
            del self._domain._multicasts[self.id]

    def collective(
        self,
        name: str,
        contribution: np.ndarray[Any, Any] | None = None,
        result: np.ndarray[Any, Any] | None = None,
        *,
        op: Any = None,
        root: int = 0,
    ) -> None:
        """Run a collective over the group; all members call this, in the same order.

        Args and Raises: as `icollective`.
        """
        self.icollective(name, contribution, result, op=op, root=root).wait()

    def icollective(
        self,
        name: str,
        contribution: np.ndarray[Any, Any] | None = None,
        result: np.ndarray[Any, Any] | None = None,
        *,
        op: Any = None,
        root: int = 0,
    ) -> Request:
        """Start a collective over the group; all members call this in the same order, one collective at a time.

        Args:
            name: "allreduce", "alltoall", "barrier", ... as in `hocket list`.
            contribution: This member's contribution; None if it is in `result`, as with MPI_IN_PLACE.
            result: The array for the result; None if this member receives none.
            op: An operation of mpi4py; by default MPI.SUM.
            root: The root's number among the members.

        Raises:
            Error: There is no such collective, the arrays do not fit, or the rules have no algorithm for it.
        """
        from mpi4py import MPI

        name = find_collective(name)
        facts = COLLECTIVES[name]
        if facts.with_equal_blocks != name:
            raise Error(
                f"{name}: not supported, expected {facts.with_equal_blocks}, as all members have blocks of equal size"
            )
        arrays = [array for array in (contribution, result) if array is not None]
        kinds = {array.dtype for array in arrays}
        if len(kinds) > 1 or any(not array.flags.c_contiguous for array in arrays):
            raise Error(f"{name}: got arrays of {len(kinds)} types, expected contiguous arrays of one type")
        kind = MPI.Datatype.fromcode(arrays[0].dtype.char) if arrays else MPI.BYTE
        count = self._count(name, contribution, result, root)
        in_place = contribution is None and facts.has_size and not facts.has_root
        in_place |= contribution is None and name in ("gather", "reduce") and self.rank == root
        address = ctypes.c_void_p(
            int(MPI.IN_PLACE) if in_place else contribution.ctypes.data if contribution is not None else None
        )
        into = ctypes.c_void_p(result.ctypes.data if result is not None else None)
        operator = op if op is not None else MPI.SUM if arrays else MPI.OP_NULL
        self._domain._call(
            "collective_start",
            self._domain._domain,
            ctypes.byref(self._multicasts),
            ctypes.c_int(tuple(COLLECTIVES).index(name)),
            address,
            into,
            ctypes.c_int64(count),
            _handle(kind),
            _handle(operator if facts.reduces else MPI.OP_NULL),
            ctypes.c_int(root),
        )
        return Request(self, (self, contribution, result, operator))

    def _count(
        self, name: str, contribution: np.ndarray[Any, Any] | None, result: np.ndarray[Any, Any] | None, root: int
    ) -> int:
        """Return the count as MPI counts: per block if members have blocks. Raise an error if the arrays do not fit."""
        if not COLLECTIVES[name].has_size:
            return 0
        mine, its = (None if array is None else array.size for array in (contribution, result))
        gives_all = name in ("alltoall", "reduce_scatter", "scatter")
        gets_all = name in ("allgather", "alltoall", "gather")
        if name in ("broadcast", "scatter") and its is not None:
            count = its
        elif mine is not None:
            count = mine // self.size if gives_all else mine
        elif its is not None:
            count = its // self.size if gets_all or name == "reduce_scatter" else its
        else:
            raise Error(f"{name}: got no array, expected the input or the result of this member")
        gives, gets = (count * self.size if all_blocks else count for all_blocks in (gives_all, gets_all))
        needs_input = name not in ("broadcast", "scatter") or (name == "scatter" and self.rank == root)
        needs_result = self.rank == root if name in ("gather", "reduce") else name != "exscan" or self.rank > 0
        is_short = needs_input and contribution is not None and (mine or 0) < gives
        if is_short or (needs_result and (its is None or its < gets)):
            raise Error(f"{name}: got {mine} elements of input and {its} of result, expected {gives} and {gets}")
        return count


class Request:
    """A running collective over a group. Until it ends, its arrays must not change, and its multicast is held."""

    def __init__(self, multicast: Multicast, references: tuple[Any, ...]) -> None:
        self._domain, self._id, self._references = multicast._domain, ctypes.c_uint64(multicast.id), references

    def wait(self) -> None:
        """Wait until this member's part is complete."""
        self._domain._call("collective_wait", self._domain._domain, self._id)
        self._references = ()

    def test(self) -> bool:
        """Make progress, and return whether this member's part is complete."""
        flag = ctypes.c_int()
        self._domain._call("collective_test", self._domain._domain, self._id, ctypes.byref(flag))
        return bool(flag.value)
