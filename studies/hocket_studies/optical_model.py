"""Collectives on circuit-switched optical networks.

Source: S. Takizawa, S. Matsuoka, H. Nakada, "MPI collective communication on all optical network".

p ranks are on nodes with k ports. A message of n bytes takes alpha + n beta on an open connection. Setting a connection
up and releasing it takes gamma; connections that are set up at once share one gamma. *Naive* connects for every
message. *Ahead* connects to up to k of the next peers at once, and keeps a connection as long as it is needed:

    linear broadcast, scatter          naive  (p-1) (alpha + n beta + gamma)                              (1)
                                       ahead  (p-1) (alpha + n beta) + ceil((p-1)/k) gamma                (2)
    ring allgather                     naive  2 (p-1) (alpha + n beta + gamma)                            (3)
                                       ahead  (p-1) (alpha + n beta) + gamma,  k >= 2                     (4)
    recursive doubling allgather       naive  log2 p (alpha + gamma) + (p-1) n beta                       (5)
                                       ahead  log2 p alpha + (p-1) n beta + ceil(log2 p / k) gamma        (6)
    binomial tree broadcast            naive  log2 p (alpha + n beta + gamma)                             (7)
                                       ahead  log2 p (alpha + n beta) + ceil(log2 p / k) gamma            (8)

In allgathers n is a block, the n/p of the study. (5) to (8) are for powers of two. In (3) even ranks send first and odd
ranks afterwards, as nodes with one port have to; for such nodes (3) also stands for *ahead*. Without gamma (2), (4),
(6), (8) are the study's *ideal*. The page on circuits of the docs has the assumptions, and the differences to
simulations.

The sums count one gamma per batch of connections: the release of a batch and the set-up of the next are one, and nobody
waits for the last release (`final_release="merged"`). The study's table 4 also counts the last release (`"waited"`).

All functions take numbers or NumPy arrays, with sizes in bytes and times in seconds, and check nothing: `ranks` is p,
`size_bytes` n, `ports` k, `latency_s` alpha, `s_per_byte` beta, and `reconfiguration_s` gamma.

>>> table_1 = {"latency_s": 1e-4, "s_per_byte": 8e-9, "reconfiguration_s": 1e-2}
>>> round(float(linear_naive_s(32, 1, **table_1)) / float(linear_ahead_s(32, 1, 2, **table_1)), 2)
1.92
>>> [round(float(recursive_doubling_ahead_s(32, 1, ports, **table_1)), 4) for ports in (2, 3, 4)]
[0.0305, 0.0205, 0.0205]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import NotRequired, TypedDict, Unpack

    class Network(TypedDict):
        """alpha, beta, gamma, and what becomes of the last release."""

        latency_s: ArrayLike
        s_per_byte: ArrayLike
        reconfiguration_s: ArrayLike
        final_release: NotRequired[Literal["merged", "waited"]]


__all__ = [
    "binomial_ahead_s",
    "binomial_naive_s",
    "linear_ahead_s",
    "linear_naive_s",
    "recursive_doubling_ahead_s",
    "recursive_doubling_naive_s",
    "ring_ahead_s",
    "ring_naive_s",
]


def _time_s(
    messages: ArrayLike, blocks: ArrayLike, batches: ArrayLike, size_bytes: ArrayLike, network: Network
) -> NDArray[Any]:
    """Return the time of successive messages, with `blocks` blocks in total, over batches of connections."""
    parts = (messages, blocks, batches, size_bytes)
    messages, blocks, batches, size = (np.asarray(part, dtype=float) for part in parts)
    rates = (network["latency_s"], network["s_per_byte"], network["reconfiguration_s"])
    alpha, beta, gamma = (np.asarray(rate, dtype=float) for rate in rates)
    is_waited = network.get("final_release", "merged") == "waited"
    last = np.minimum(batches, 1) if is_waited else 0
    time_s: NDArray[Any] = messages * alpha + blocks * size * beta + (batches + last) * gamma
    return time_s


def _batches(connections: ArrayLike, ports: ArrayLike) -> NDArray[Any]:
    """Return the number of batches of connections, each with as many connections as ports."""
    batches: NDArray[Any] = np.ceil(np.asarray(connections, dtype=float) / np.asarray(ports, dtype=float))
    return batches


def linear_naive_s(ranks: ArrayLike, size_bytes: ArrayLike, **network: Unpack[Network]) -> NDArray[Any]:
    """Return the time of a linear broadcast or scatter with a connection per message, equation (1)."""
    return linear_ahead_s(ranks, size_bytes, 1, **network)


def linear_ahead_s(
    ranks: ArrayLike, size_bytes: ArrayLike, ports: ArrayLike, **network: Unpack[Network]
) -> NDArray[Any]:
    """Return the time of a linear broadcast or scatter with up to k connections ahead, equation (2)."""
    others = np.asarray(ranks) - 1
    return _time_s(others, others, _batches(others, ports), size_bytes, network)


def ring_naive_s(ranks: ArrayLike, size_bytes: ArrayLike, **network: Unpack[Network]) -> NDArray[Any]:
    """Return the time of a ring allgather with a connection per message, or of one port, equation (3)."""
    messages = 2 * (np.asarray(ranks) - 1)
    return _time_s(messages, messages, messages, size_bytes, network)


def ring_ahead_s(ranks: ArrayLike, size_bytes: ArrayLike, **network: Unpack[Network]) -> NDArray[Any]:
    """Return the time of a ring allgather over connections to both neighbours, equation (4); k is at least 2."""
    others = np.asarray(ranks) - 1
    return _time_s(others, others, others.clip(max=1), size_bytes, network)


def recursive_doubling_naive_s(ranks: ArrayLike, size_bytes: ArrayLike, **network: Unpack[Network]) -> NDArray[Any]:
    """Return the time of a recursive-doubling allgather with a connection per message, equation (5)."""
    return recursive_doubling_ahead_s(ranks, size_bytes, 1, **network)


def recursive_doubling_ahead_s(
    ranks: ArrayLike, size_bytes: ArrayLike, ports: ArrayLike, **network: Unpack[Network]
) -> NDArray[Any]:
    """Return the time of a recursive-doubling allgather with up to k connections ahead, equation (6)."""
    steps = np.log2(np.asarray(ranks, dtype=float))  # exact for powers of two
    return _time_s(steps, np.asarray(ranks) - 1, _batches(steps, ports), size_bytes, network)


def binomial_naive_s(ranks: ArrayLike, size_bytes: ArrayLike, **network: Unpack[Network]) -> NDArray[Any]:
    """Return the time of a broadcast down a binomial tree with a connection per message, equation (7)."""
    return binomial_ahead_s(ranks, size_bytes, 1, **network)


def binomial_ahead_s(
    ranks: ArrayLike, size_bytes: ArrayLike, ports: ArrayLike, **network: Unpack[Network]
) -> NDArray[Any]:
    """Return the time of a broadcast down a binomial tree with up to k connections ahead, equation (8)."""
    steps = np.log2(np.asarray(ranks, dtype=float))  # exact for powers of two
    return _time_s(steps, steps, _batches(steps, ports), size_bytes, network)
