"""What texts say: every pattern with its spelling, and the facts of runs."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket.judging
from hocket.judging.facts import facts_in
from hocket.judging.lines import FORMS
from hocket.judging.mentions import PATTERNS, mentions_of

_SPELLINGS = [
    ("setting", "btl self,tcp", "mpirun -np 8 --mca btl self,tcp ./osu_bcast"),
    ("setting", "I_MPI_FABRICS=shm:tcp", "export I_MPI_FABRICS=shm:tcp"),
    ("setting", "UCX_NET_DEVICES=eno1", "-x UCX_NET_DEVICES=eno1"),
    ("card", "none", "There is at least non-excluded one OpenFabrics device found, but there are no active ports"),
    ("setting", "debug build", "  Configure command line: '--enable-debug'"),
    ("setting", "one core", "MCW rank 3 bound to socket 0[core 0[hwt 0]]: [B/././.]"),
    ("setting", "taskset -c 4", "mpirun -np 4 taskset -c 4 ./osu_allreduce"),
    ("ran", "gather binomial", "     40         5120  0.000201 s  MPI_Gather gather binomial"),
    ("topology", "x8", "LnkSta: Speed 16GT/s, Width x8 (downgraded)"),
    ("cards told", "8", "8x400G between the nodes"),
    ("gpu", "H100", "#  Rank  0 Group  0 Pid  1 on node0 device  0 [0x18] NVIDIA H100 80GB HBM3"),
    ("gpu", "A100-SXM4", "#  Rank  0 Pid  1 on node0 device  0 [0x18] NVIDIA A100-SXM4-80GB"),
    ("gpu", "L20", "device 0 NVIDIA L20"),
    ("gpu", "RTX 4090", "NVIDIA GeForce RTX 4090"),
    ("gpu", "RTX 4090", "on 4x4090"),
    ("gpu", "MI250X", "AMD Instinct MI250X"),
    ("card", "none", "NCCL INFO NET/IB : No device found."),
    ("card", "socket", "NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>"),
    ("card", "socket", "NCCL INFO Using network Socket"),
    ("card", "none", "NCCL WARN NET/OFI Only EFA provider is supported"),
    ("transport", "SHM", "Channel 00 : 0[7000] -> 1[b000] via SHM/direct/direct"),
    ("transport", "socket", "Channel 00 : 0[7000] -> 1[b000] [send] via NET/Socket/0"),
    ("transport", "GDRDMA", "Channel 00 : 0[7000] -> 8[7000] [send] via NET/IB/1/GDRDMA"),
    ("transport", "NET", "Channel 00 : 0[7000] -> 8[7000] [send] via NET/IB/0"),
    ("library", "NCCL 2.4.8+cuda10.1", "NCCL version 2.4.8+cuda10.1"),
    ("library", "NCCL 2.11.4", "NCCL Version: 2.11.4"),
    ("library", "MPICH 4.3.0", "mpich 4.3.0"),
    ("algorithm", "Ring", "-x NCCL_ALGO=Ring"),
    ("algorithm", "Simple", "NCCL INFO NCCL_PROTO set by environment to Simple"),
    ("algorithm", "binomial", "MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial"),
    ("algorithm", "coll_tuned_use_dynamic_rules=1", "--mca coll_tuned_use_dynamic_rules 1"),
    ("algorithm", "coll_han_priority=0", "OMPI_MCA_coll_han_priority=0"),
    ("setting", "NCCL_P2P_DISABLE=1", "NCCL_P2P_DISABLE=1"),
    ("setting", "NCCL_P2P_LEVEL=LOC", "NCCL_P2P_LEVEL set by environment to LOC"),
    ("setting", "NCCL_P2P_LEVEL=SYS", "NCCL_P2P_LEVEL=SYS"),
    ("setting", "NCCL_IB_DISABLE=1", "-x NCCL_IB_DISABLE=1"),
    ("setting", "NCCL_NET=Socket", "NCCL_NET=Socket"),
    ("setting", "NCCL_NET_GDR_LEVEL=1", "-x NCCL_NET_GDR_LEVEL=1"),
    ("setting", "NCCL_NET_GDR_READ=0", "NCCL_NET_GDR_READ=0"),
    ("setting", "NCCL_MAX_NCHANNELS=2", "NCCL_MAX_NCHANNELS=2"),
    ("setting", "UCX_TLS=tcp", "UCX_TLS=tcp"),
    ("setting", "FI_PROVIDER=sockets", "FI_PROVIDER=sockets"),
    ("setting", "--oversubscribe", "mpirun --oversubscribe -np 2"),
    ("topology", "adaptive routing off", "AR is enabled on 0 switches"),
    ("topology", "GPUDirect off", "GPU Direct RDMA Disabled for HCA 0"),
    ("topology", "no peer memory module", "module nv_peer_mem is not loaded"),
    ("topology", "no peer access", "peer access is not available between 0 and 1"),
    ("topology", "no real path", "NCCL WARN Could not find real path of /sys/class"),
    ("topology", "unknown link speed", "Topology detection : could not read /sys/devices/../max_link_speed, ignoring"),
    ("topology", "ACS on", "ACS is enabled"),
    ("topology", "IOMMU on", "iommu=on"),
    ("net", "slingshot", "FI_CXI_RX_MATCH_MODE=software"),
    ("net", "omni-path", "Omni-Path"),
    ("net", "efa", "provider is efa"),
    ("net", "rdma", "HDR InfiniBand"),
    ("rate", "200", "NIC of 200 Gb/s"),
    ("rate", "400", "InfiniBand 400G"),
    ("rate", "56", "FDR"),
    ("rate", "100", "EDR"),
    ("rate", "200", "NDR200"),
    ("rate", "400", "NDR"),
    ("rate", "800", "XDR"),
    ("cards told", "4", "four NICs"),
    ("host", "node0", "#  Rank  0 Group  0 Pid  1 on node0 device  0 [0x18] NVIDIA H100 80GB HBM3"),
    ("nodes", "2", "two nodes"),
    ("nodes", "16", "#SBATCH --nodes=16"),
    ("virtual machines", "yes", "GPUs by PCI passthrough"),
    ("product", "p3dn; V100 SXM; efa; 1; 100", "p3dn.24xlarge"),
    ("product", "p4d; A100 SXM; efa; 4; 100", "p4de.24xlarge"),
    ("product", "p5; H100 SXM; efa; 32; 100", "p5.48xlarge"),
    ("product", "DGX A100; A100 SXM; rdma; 8; 200", "DGX-A100"),
    ("product", "DGX H100; H100 SXM; rdma; 8; 400", "a DGX H100"),
    ("product", "ND A100; A100 SXM; rdma; 8; 200", "ND96amsr_A100_v4"),
    ("product", "ND H100; H100 SXM; rdma; 8; 400", "ND96isr_H100_v5"),
]


@pytest.mark.parametrize(("kind", "value", "line"), _SPELLINGS)
def test_spellings(kind: str, value: str, line: str) -> None:
    mentions = mentions_of(f"a line\n{line}\n", "out.txt")
    assert value in mentions.values(kind)
    assert next(one for one in mentions.of(kind) if one.value == value).source == "out.txt:2"


def test_every_pattern_has_a_spelling() -> None:
    missing = [
        pattern.expression.pattern
        for pattern in PATTERNS
        if not any(kind == pattern.kind and pattern.expression.search(line) for kind, _, line in _SPELLINGS)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "ranks", "ranks_per_node"),
    [
        ("./all_reduce_perf -b 8 -e 1G -g 8", 8, 8),
        ("mpirun -np 16 -H a:8,b:8 ./all_reduce_perf -g 1", 16, 8),
        ("mpirun -np 2 -npernode 1 ./all_reduce_perf -g 4", 8, 4),
        ("srun --nodes=4 --ntasks-per-node=8 -- all_gather_perf -g 1", 32, 8),
        ("srun -N 4 --ntasks-per-node=8 osu_allreduce", 32, 8),
        ("srun -N 1 -n 8 all_reduce_perf", 8, 8),
        ("mpiexec --np 12288 --ppn 96 ./osu_alltoallv", 12288, 96),
        ("comm 0x7f rank 8 nranks 16 cudaDev 0", 16, None),
        ("16 nodes run with 4 tasks per node", 64, 4),
        ("mpirun -np 16 \\\n -H a:8,b:8 \\\n ./all_reduce_perf -g 1", 16, 8),
    ],
)
def test_ranks(text: str, ranks: int | None, ranks_per_node: int | None) -> None:
    facts, _ = facts_in(text, "out.txt")
    assert (facts.ranks, facts.ranks_per_node) == (ranks, ranks_per_node)


def test_list_of_devices() -> None:
    lines = [f"#  Rank {rank:2} Pid 1 on node{rank // 2} device {rank % 2} [0x0] V" for rank in range(4)]
    facts, disagreements = facts_in("\n".join([*lines, "#"]), "out.txt")
    assert (facts.ranks, facts.ranks_per_node) == (4, 2)
    assert disagreements == ()


def test_cut_list_of_devices_is_not_counted() -> None:
    lines = [f"#  Rank {rank:2} Pid 1 on node0 device {rank} [0x0] V" for rank in range(4)]
    assert facts_in("\n".join([*lines, "[cut here]"]), "out.txt")[0].ranks is None


@pytest.mark.parametrize(
    ("ranks", "collective", "share"), [(16, "all_reduce", 2), (8, "all_gather", 1), (64, "all_reduce", 2)]
)
def test_ranks_by_the_ratio_of_bandwidths(ranks: int, collective: str, share: int) -> None:
    rows = [(1 << 30, 8000.0), (1 << 31, 16000.0), (1 << 32, 32001.0)]
    lines = [
        f"{size} {size // 4} float sum -1 {time_us:.1f} {size / time_us / 1e3:.2f} "
        f"{size / time_us / 1e3 * share * (ranks - 1) / ranks:.2f} 0 N/A N/A N/A N/A"
        for size, time_us in rows
    ]
    facts, _ = facts_in("\n".join([f"{collective}_perf", *lines]), "out.txt")
    assert facts.ranks == ranks


def test_disagreements_are_told() -> None:
    facts, disagreements = facts_in("mpirun -np 16 ./all_reduce_perf\nmpirun -np 8 ./all_reduce_perf\n", "out.txt")
    assert facts.ranks is None
    assert disagreements == ("ranks: out.txt:1 tells 16, but out.txt:2 tells 8",)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB ib0", "cards used", "2"),
        ("NET/IB : Using [0]a0:1/RoCE … [7]a7:1/RoCE [RO]", "cards used", "8"),
        ("-x NCCL_IB_HCA=mlx5_0:1,mlx5_1:1", "cards named", "2"),
        ("8 * 100 Gbps NICs", "cards told", "8"),
        ("four 200Gb RoCEv2 NICs", "cards told", "4"),
        ("4x Mellanox HDR InfiniBand", "rate", "200"),
        ("ConnectX-7 of 400 Gb/s", "rate", "400"),
        ("RoCE", "net", "rdma"),
        ("FI_CXI_RX_MATCH_MODE=software", "net", "slingshot"),
        ("2 nodes", "nodes", "2"),
    ],
)
def test_cards_and_nodes(text: str, kind: str, value: str) -> None:
    assert mentions_of(text, "out.txt").values(kind) == (value,)


def test_memory_of_gpus_is_no_rate() -> None:
    assert mentions_of("8x A100 SXM4 40G, 4x HDR InfiniBand", "out.txt").values("rate") == ("200",)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    mentions_of(text, "out.txt")


def test_what_is_asked_of_a_text_is_what_texts_say() -> None:
    """A kind or a subject that is mistyped would silently find nothing."""
    folder = Path(hocket.judging.__file__).parent
    trees = [ast.parse(file.read_text()) for file in folder.glob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    said = {text for pattern in PATTERNS for text in (pattern.kind, pattern.subject)}
    said |= {text for call in calls if getattr(call.func, "id", "") == "Mention" for text in texts_in(call)}
    asked = [
        text
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("about", "of", "only", "values")
        for text in texts_in(call)
    ]
    assert len(asked) > 20
    assert {text for text in asked if text not in said} == set()


def test_each_form_of_the_table_is_searched_for() -> None:
    """A name that is mistyped would fail only where it is used, and a form that nothing asks for is dead."""
    sources = [file.read_text() for file in Path(hocket.judging.__file__).parent.glob("*.py")]
    asked = {name for source in sources for name in re.findall(r'FORMS\[f?"([^"]+)"\]', source)}
    patterns = [re.compile(re.sub(r"\\{name\\}", ".+", re.escape(name))) for name in asked]
    in_tuples = {text for source in sources for text in re.findall(r'"([^"\n]+)"', source)}
    assert {name for name in asked if "{" not in name} <= {*FORMS}
    assert [one for one in FORMS if one not in in_tuples and not any(each.fullmatch(one) for each in patterns)] == []


def texts_in(call: ast.Call) -> list[str]:
    """Return the arguments of a call that are literal texts."""
    return [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
