"""What texts say of a machine and a run: patterns as data, each with a kind and a sentence.

A pattern is searched in every line. Its groups fill the braces of its value and its sentence. A `subject` is a word for
what a pattern may explain; findings are sorted by it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Pattern(NamedTuple):
    """What to search in a line.

    Attributes:
        kind: What a match is about: "gpu", "card", "transport", "library", "algorithm", "setting" or "topology".
        expression: What matches.
        value: The value, with groups by name.
        sentence: What it means, with groups by name, without a full stop.
        subject: What it may explain; empty for plain facts.
    """

    kind: str
    expression: re.Pattern[str]
    value: str
    sentence: str
    subject: str = ""


def _pattern(kind: str, expression: str, value: str, sentence: str, subject: str = "") -> Pattern:
    return Pattern(kind, re.compile(expression), value, sentence, subject)


_IS = r"(?:\s*=\s*|\s+set (?:by environment )?to\s+)['\"]?"
_WARNS = r"(?i:error|warn|fail|missing|not |unable|could)"

SOCKETS = "TCP sockets"
SHARED_MEMORY = "shared memory"
NO_P2P = "peer-to-peer"
GPUDIRECT = "GPUDirect RDMA"
ACS = "ACS"
ALGORITHM = "algorithm"
PROTOCOL = "protocol"
BINDING = "binding"
LAUNCH = "separate runs"
CARDS = "number of cards"
THROUGH_CPU = "peer-to-peer through the CPU"
TOPOLOGY = "detected topology"

PATTERNS: tuple[Pattern, ...] = (
    # GPUs
    _pattern("gpu", r"\b(?P<m>[GR]?B[23]00|G?H[128]00|A[18]00|V100|P100)(?![0-9])(?P<f>[- ]?(?:SXM|PCI)\w*)?",
             "{m}{f}", "the GPUs are {m}{f}"),
    _pattern("gpu", r"\b(?P<m>H20|L20|L40S?|A40|A30|A10G?|T4|A6000)\b(?!-)", "{m}", "the GPUs are {m}"),
    _pattern("gpu", r"\b(?P<m>[RG]TX ?[0-9]{4})\b", "{m}", "the GPUs are {m}"),
    _pattern("gpu", r"(?<![0-9.])(?:[48]x|[0-9] ?\*|x)(?P<m>[345]090)\b", "RTX {m}", "the GPUs are RTX {m}"),
    _pattern("gpu", r"(?i)\b(?P<m>MI[0-9]{3}[AX]?)\b", "{m}", "the GPUs are {m}"),
    # Network cards, as libraries print them
    _pattern("card", r"NET/(?:IB\w*|AWS Libfabric)\s*: No device found", "none",
             "NCCL finds no InfiniBand or RoCE card",
             SOCKETS),
    _pattern("card", r"\bNET/Socket\s*: Using ", "socket", "NCCL uses TCP sockets between nodes", SOCKETS),
    _pattern("card", r"\bUsing network Socket\b", "socket", "NCCL uses TCP sockets between nodes", SOCKETS),
    _pattern("card", r"\bUsing network (?P<n>IB\w*|AWS Libfabric|Libfabric|OFI)\b", "{n}", "NCCL uses the network {n}"),
    _pattern("card", r"Selected [Pp]rovider is (?P<n>\w+)", "{n}", "libfabric uses the provider {n}"),
    _pattern("card", r"NET/OFI Only EFA provider is supported", "none",
             "the plugin of EFA refuses the provider", SOCKETS),
    # Transports
    _pattern("transport", r"\bvia (?P<t>P2P/(?:IPC|CUMEM|direct pointer|indirect)[\w/]*)", "{t}",
             "GPUs of a node reach each other directly ({t})"),
    _pattern("transport", r"\bvia SHM/(?P<t>[\w/]+)", "SHM",
             "GPUs of a node exchange data through host memory (SHM/{t})",
             SHARED_MEMORY),
    _pattern("transport", r"\bvia (?P<t>NET/Socket/[\w/]+)", "socket", "messages between nodes use TCP sockets ({t})",
             SOCKETS),
    _pattern("transport", r"\bvia (?P<t>NET/[\w ]+/[0-9]+(?:\([0-9]+\))?/GDRDMA)", "GDRDMA",
             "cards read the memory of the GPUs ({t})"),
    _pattern("transport", r"\bvia (?P<t>NET/(?!Socket)[\w ]+/[0-9]+(?:\([0-9]+\))?(?:/Shared)?)(?![/\w(])", "NET",
             "cards do not reach the memory of the GPUs: data passes through the host ({t})", GPUDIRECT),
    # Libraries
    _pattern("library", r"\bN?R?CCL version (?P<v>[0-9][\w.+]*)", "NCCL {v}", "the library is NCCL {v}"),
    _pattern("library", r"(?i)\bNCCL(?: Version)?[ :-]+v?(?P<v>2\.[0-9]+(?:\.[0-9]+)?)", "NCCL {v}",
             "the library is NCCL {v}"),
    _pattern("library", r"(?i)\b(?P<l>mpich|open ?mpi|mvapich2?)[ /-]v?(?P<v>[0-9]+\.[\w.]+)", "{l} {v}",
             "the library is {l} {v}"),
    # Algorithms and protocols that the user chose
    _pattern("algorithm", rf"\bNCCL_ALGO{_IS}(?P<v>[\w^,:;]+)", "{v}",
             "NCCL_ALGO={v} chooses the algorithm", ALGORITHM),
    _pattern("algorithm", rf"\bNCCL_PROTO{_IS}(?P<v>[\w^,]+)", "{v}", "NCCL_PROTO={v} chooses the protocol", PROTOCOL),
    _pattern("algorithm", r"\b(?P<n>MPIR_CVAR_\w+_ALGORITHM)=(?P<v>\w+)", "{v}",
             "{n}={v} chooses the algorithm", ALGORITHM),
    _pattern("algorithm", r"--?mca (?P<n>coll_(?!\w*verbose)\w+)\s+(?P<v>\S+)", "{n}={v}",
             "Open MPI's {n}={v} changes how it chooses algorithms", ALGORITHM),
    _pattern("algorithm", r"\bOMPI_MCA_(?P<n>coll_\w+)=(?P<v>\S+)", "{n}={v}",
             "Open MPI's {n}={v} changes how it chooses algorithms", ALGORITHM),
    # Settings that slow calls down
    _pattern("setting", rf"\bNCCL_P2P_DISABLE{_IS}1", "NCCL_P2P_DISABLE=1",
             "NCCL_P2P_DISABLE=1 forbids direct transfers between GPUs", NO_P2P),
    _pattern("setting", rf"\bNCCL_P2P_LEVEL{_IS}(?:LOC|0)\b", "NCCL_P2P_LEVEL=LOC",
             "NCCL_P2P_LEVEL=LOC forbids direct transfers between GPUs", NO_P2P),
    _pattern("setting", rf"\bNCCL_P2P_LEVEL{_IS}(?P<v>SYS|PHB|4|5)\b", "NCCL_P2P_LEVEL={v}",
             "NCCL_P2P_LEVEL={v} forces transfers between GPUs through the CPU", THROUGH_CPU),
    _pattern("setting", rf"\bNCCL_SHM_DISABLE{_IS}1", "NCCL_SHM_DISABLE=1",
             "NCCL_SHM_DISABLE=1 forbids transfers through host memory"),
    _pattern("setting", rf"\bNCCL_IB_DISABLE{_IS}1", "NCCL_IB_DISABLE=1",
             "NCCL_IB_DISABLE=1 forbids InfiniBand and RoCE",
             SOCKETS),
    _pattern("setting", rf"\bNCCL_NET{_IS}Socket", "NCCL_NET=Socket", "NCCL_NET=Socket chooses TCP sockets", SOCKETS),
    _pattern("setting", rf"\bNCCL_NET_GDR_LEVEL{_IS}(?P<v>LOC|PIX|[01])\b", "NCCL_NET_GDR_LEVEL={v}",
             "NCCL_NET_GDR_LEVEL={v} allows GPUDirect RDMA only for cards that are near the GPU", GPUDIRECT),
    _pattern("setting", rf"\bNCCL_NET_GDR_READ{_IS}0", "NCCL_NET_GDR_READ=0",
             "NCCL_NET_GDR_READ=0 forbids cards to read the memory of GPUs", GPUDIRECT),
    _pattern("setting", rf"\bNCCL_(?P<n>MAX_NCHANNELS|MAX_CTAS|NCHANNELS_PER_PEER){_IS}(?P<v>[1-4])\b",
             "NCCL_{n}={v}", "NCCL_{n}={v} limits the number of channels", CARDS),
    _pattern("setting", r"--?mca btl (?P<v>[^^\s]*\btcp\b\S*)", "btl {v}", "the MPI is told to use TCP (btl {v})"),
    _pattern("setting", r"\bUCX_TLS=(?P<v>\S*tcp\S*)", "UCX_TLS={v}", "UCX_TLS={v} chooses TCP", SOCKETS),
    _pattern("setting", r"\bFI_PROVIDER=[\"']?(?P<v>tcp|sockets)\b", "FI_PROVIDER={v}",
             "FI_PROVIDER={v} chooses TCP", SOCKETS),
    _pattern("setting",
             r"\b(?P<n>CUDA_VISIBLE_DEVICES|NCCL_SOCKET_IFNAME|NCCL_BUFFSIZE|NCCL_DEBUG)=(?P<v>[\w,.:^-]+)", "{n}={v}",
             "{n} is {v}"),
    _pattern("setting", r"(?P<v>--oversubscribe)\b", "{v}", "{v} allows more ranks than slots", BINDING),
    # Topology
    _pattern("topology", r"GPU ?Direct RDMA (?P<v>Disabled)", "GPUDirect off",
             "the library reports GPUDirect RDMA as disabled",
             GPUDIRECT),
    _pattern("topology", r"GPU ?Direct RDMA Enabled", "GPUDirect on", "the library reports GPUDirect RDMA as enabled"),
    _pattern("topology", rf"{_WARNS}.*\bnv_?peer_?mem\b|\bnv_?peer_?mem\b.*{_WARNS}"
             rf"|\bnvidia-peermem\b.*{_WARNS}", "no peer memory module",
             "the module that gives cards access to the memory of GPUs is not loaded", GPUDIRECT),
    _pattern("topology", r"(?i)peer access is not (?:available|supported)", "no peer access",
             "GPUs have no access to each other", NO_P2P),
    _pattern("topology", r"Could not find real path", "no real path",
             "NCCL does not find the path of a device", TOPOLOGY),
    _pattern("topology", r"could not (?:read \S*max_link_\w+|find value of '(?P<v>[^']*)' in dictionary)",
             "unknown link speed",
             "NCCL cannot read the speed of a PCIe link, and assumes a slow one", TOPOLOGY),
    _pattern("topology", r"\bACS (?:is )?(?:enabled|on)\b|ACSCtl:.*SrcValid\+", "ACS on",
             "access control services (ACS) are on, which send direct transfers through the CPU", ACS),
    _pattern("topology", r"(?i)\biommu[= ](?:is )?(?:on|enabled)\b", "IOMMU on", "the IOMMU is on", ACS),
    _pattern("topology", r"\bGPU\d+\s.*\bNV(?P<v>[0-9]{1,2})\b", "NV{v}", "{v} NVLinks connect the GPUs"),
    _pattern("topology", r"^\s*GPU0\s+X\s+(?P<v>PIX|PXB|PHB|NODE|SYS)\b", "{v}",
             "GPU0 and GPU1 are connected by PCIe ({v})"),
    _pattern("topology", r"\bNVLS\b.*\b[Cc]hannels?\b|\bNVLS multicast support is available", "NVLS",
             "NVLink SHARP is in use"),
)  # fmt: skip
"""The patterns. Of a kind and a value, the first line counts."""
