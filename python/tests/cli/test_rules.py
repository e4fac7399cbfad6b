"""`hocket rules`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

RULES = "allreduce[size=64KiB.., ranks=8..]: ring\nallreduce: recursive_doubling\nalltoall: swung\n"


def write_rules(folder: Path) -> Path:
    file = folder / "my.rules"
    file.write_text("\n".join(RULES.splitlines()[:2]) + "\n")
    return file


def test_rules_become_a_file_of_open_mpi(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    target = tmp_path / "site.openmpi-5.0.conf"
    ran = hocket_command(f"rules convert {write_rules(tmp_path)} {target}")
    parameters = tmp_path / "site.openmpi-5.0.mca-params.conf"
    settings = ["coll_han_priority=0", "coll_tuned_use_dynamic_rules=1", f"coll_tuned_dynamic_rules_filename={target}"]
    use = f"hocket: note: to use it: {' '.join(f'OMPI_MCA_{one}' for one in settings)}\n"
    same = f"hocket: note: the same as parameters of Open MPI: {parameters}\n"
    assert (ran.status, ran.out, ran.err) == (0, "", use + same)
    assert parameters.read_text().splitlines()[1:] == [one.replace("=", " = ") for one in settings]
    lines = target.read_text().splitlines()
    assert lines[0] == "rule-file-version-2"
    assert lines[-2:] == ["0 3 0 0 0 # recursive_doubling", "65536 4 0 0 0 # ring"]
    explained = hocket_command(f"rules explain {target} --ranks 64 --size 64KiB --json").json
    assert explained[0]["line"] == len(lines)
    assert (explained[0]["algorithm"], explained[0]["collective"]) == ("ring", "allreduce")


def test_what_is_lost_is_said_on_stderr(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("allreduce[size=1MiB..]: swing\nallreduce: ring\n")
    ran = hocket_command(f"rules convert {file} - --to openmpi-6.0")
    said = "hocket: note: allreduce: openmpi-6.0 has no swing, left to the library\n"
    assert ran.err == f"{said}hocket: note: 1 of 2 rules with an algorithm are left to openmpi-6.0\n"
    assert '"rule_file_version": 3' in ran.out


def test_the_share_of_the_gain_that_is_kept_is_said(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("allreduce[size=..1KiB]: bine\nbroadcast: scatter_doubling_allgather\n")
    ran = hocket_command(f"rules convert {file} - --to openmpi-5.0 --ranks 4,64")
    kept = re.search(r"(\d+)% of the gain over openmpi-5.0's own choices on 4, 64 ranks of cluster is kept\n$", ran.err)
    assert kept is not None and 0 < int(kept[1]) < 100
    file.write_text("broadcast: circulant\nallreduce[size=..64]: linear\n")
    ran = hocket_command(f"rules convert {file} - --to openmpi-5.0 --ranks 4,64")
    assert ran.err.endswith("rules are slower than openmpi-5.0's own choices on 4, 64 ranks of cluster\n")


def test_the_rules_that_are_left_to_the_library_are_counted(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("allreduce[size=..1KiB]: bine\nallreduce: ring\nbroadcast: circulant\nbarrier: native\n")
    ran = hocket_command(f"rules convert {file} - --to openmpi-5.0 --ranks 4")
    assert "note: 2 of 3 rules with an algorithm are left to openmpi-5.0\n" in ran.err


def test_a_conversion_that_would_lose_all_writes_nothing(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file, target = tmp_path / "a.rules", tmp_path / "a.ucc-1.tune"
    file.write_text("allreduce: swing\nbarrier: native\n")
    ran = hocket_command(f"rules convert {file} {target}")
    assert (ran.status, ran.out, target.exists()) == (2, "", False)
    assert ran.err == f"hocket: error: {target}: not written: ucc-1 has none of the algorithms of {file}\n"


def test_bad_input_is_one_line_and_nothing_is_written(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    bad = tmp_path / "bad.rules"
    bad.write_text(RULES)
    target = tmp_path / "a.mpich-5.0.json"
    ran = hocket_command(f"rules convert {bad} {target}")
    assert (ran.status, ran.out, target.exists()) == (2, "", False)
    assert ran.err.startswith(f'hocket: error: {bad}:3: unknown alltoall algorithm "swung"')
    good = write_rules(tmp_path)
    ran = hocket_command(f"rules convert {good} {tmp_path / 'a.json'}")
    assert "the file name does not contain the format and version, expected one of hocket" in ran.err
    ran = hocket_command(f"rules convert {good} {tmp_path / 'a.json'} --to openmpi-9")
    assert ran.err.startswith("hocket: error: --to: got 'openmpi-9', did you mean openmpi-")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.rules", "my.rules"]
    ran = hocket_command(f"rules explain {good} --ranks 4 --collective scan")
    assert ran.err.startswith(f'hocket: error: --collective: {good} has no rules for "scan", expected allreduce')


def test_a_line_is_explained(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    ran = hocket_command(f"rules explain {write_rules(tmp_path)} --ranks 64 --size 32KiB")
    assert ran.out.splitlines()[-2:] == [
        "    2   recursive_doubling   decides",
        "recursive_doubling: line 2, for 32768 bytes of the message",
    ]
    assert "the call has 32768 bytes, the line is for 65536.." in ran.out
    ran = hocket_command(f"rules explain {write_rules(tmp_path)} --ranks 4 --size 1MiB")
    assert "before these: 1 line for other numbers of ranks" in ran.out


def test_another_algorithm_for_few_elements_is_explained(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.openmpi-5.0.conf"
    file.write_text("1\n2\n1\n65536\n1\n0 6 0 0\n")
    command = f"rules explain {file} --ranks 65536 --size 256KiB --element"
    why = "with fewer elements than the largest power of two of ranks, openmpi-5.0 runs basic_linear instead of"
    short, long = (hocket_command(f"{command} {element} --json").json[0] for element in (8, 4))
    assert [each["runs"] for each in (short, long)] == ["basic_linear", "rabenseifner"]
    assert all(each["remark"].startswith(why) for each in (short, long))
    assert "basic_linear for rabenseifner: line 6" in hocket_command(f"{command} 8").out


def test_lint_tells_of_lines_and_ends_with_1(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("allreduce: ring\nallreduce: swing\n")
    ran = hocket_command(f"rules lint {file}")
    line = f"{file}:2: unreachable: allreduce: swing: earlier lines decide all its calls\n"
    assert (ran.status, ran.out, ran.err) == (1, line, "")
    good = write_rules(tmp_path)
    assert hocket_command(f"rules lint {good}").out == "ok: 2 rules of hocket\n"
    assert hocket_command(f"rules lint {good}").status == 0


def test_han_stays_on_for_rules_of_functions_that_it_does_not_take(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    file, target = tmp_path / "a.rules", tmp_path / "a.openmpi-5.0.conf"
    file.write_text("alltoall: bruck\n")
    assert "coll_han_priority" not in hocket_command(f"rules convert {file} {target}").err
    assert "coll_tuned_use" in hocket_command(f"rules convert {file} {target}").err
    assert "coll_" not in hocket_command(f"rules convert {file} - --to openmpi-5.0").err


def test_a_file_of_han_is_explained_at_each_level(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.openmpi-5.0-han.conf"
    file.write_text("1 allreduce 2\nglobal_communicator 1 1 2\n0 han @simple\n9 tuned\nintra_node 1 1 1\n0 basic\n")
    line = f"rules explain {file} --ranks 8 --size 8B"
    found = hocket_command(f"{line} --ranks-per-node 4 --json").json
    told = [(one["level"], one["ranks"], one["line"], one["algorithm"]) for one in found]
    assert told == [("global_communicator", 8, 3, "han @simple"), ("intra_node", 4, 6, "basic")]
    assert "allreduce on 4 ranks, 8 bytes, intra_node\n" in hocket_command(f"{line} --ranks-per-node 4").out
    assert "HAN steps back where no node has several ranks" in hocket_command(line).out
    file.write_text(file.read_text().replace("allreduce", "bcast"))
    uneven = hocket_command(f"{line} --ranks-per-node 3").out
    assert "HAN leaves bcast to the next component where" in uneven


def test_lint_tells_what_the_communicators_of_han_meet(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.openmpi-5.0.conf"
    file.write_text("1\n7\n1\n4\n1\n0 6 0 0\n")
    ran = hocket_command(f"rules lint {file} --ranks 16 --ranks-per-node 4")
    begin = f"{file}:6: hint: inner communicator: bcast: while HAN is on, its calls"
    assert f"{begin} within a node, on 4 ranks, follow this line\n" in ran.out
    assert f"{begin} between nodes, on 4 ranks, follow this line\n" in ran.out
    assert ran.status == 0 and "HAN" not in hocket_command(f"rules lint {file} --ranks-per-node 1").out


def test_a_hint_is_no_mistake(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.openmpi-5.0.conf"
    file.write_text("1\n7\n1\n4\n3\n0 6 0 0\n100 0 0 0\n200 6 0 0\n")
    ran = hocket_command(f"rules lint {file}")
    assert (
        ran.status == 0
        and ran.out.startswith(f"{file}:6: hint: not asked: bcast: ")
        and ran.out.splitlines()[1].startswith(f"{file}:7: hint: gap: bcast: ")
        and ran.out.endswith("ok: 3 rules of openmpi-5.0\n")
    )


def test_files_are_compared_by_what_their_choices_cost(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "a.rules"
    file.write_text("allreduce: ring\n")
    ran = hocket_command(f"rules diff {write_rules(tmp_path)} {file} --ranks 4,16 --sizes 8B,64KiB --json").json
    assert [(each["ranks"], each["size_bytes"]) for each in ran] == [(4, 8), (4, 65536), (16, 8)]
    assert all(each["one"]["algorithm"] == "recursive_doubling" and each["ratio"] > 0 for each in ran)
    assert ran[2]["one"]["line"] == 2
    assert hocket_command(f"rules diff {file} {file}").out == "no difference\n"
    table = hocket_command(f"rules diff {file} mpich-5.0 --collective allreduce --ranks 4 --sizes 8B").out
    assert "MPIR_Allreduce_intra_recursive_doubling (line " in table


def test_defaults_are_printed_with_their_source(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("rules defaults mpich-5.0")
    assert ran.out.startswith('{\n "collective=bcast"')
    assert "compiled into MPICH 5.0.2" in ran.err
    assert "allreduce[ranks=..4, size=..8]: ring" in hocket_command("rules defaults openmpi-5.0 --json").json["text"]
    ran = hocket_command("rules defaults openmpi-3.0")
    assert ran.err == 'hocket: error: unknown defaults "openmpi-3.0", did you mean openmpi-5.0?\n'


def test_what_nccl_decides_is_printed_as_a_tuner_file(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    ran = hocket_command("rules defaults nccl-2 --machine gpu-cluster --ranks 8,16")
    assert "by the tables of NCCL 2.27" in ran.err
    assert "allreduce,1101563,18446744073709551615,nvls,simple,-1,1,8\n" in ran.out
    file = tmp_path / "own.csv"
    file.write_text(ran.out)
    assert hocket_command(f"rules lint {file}").out.endswith(f"ok: {len(ran.out.splitlines()) - 1} rules of nccl-2\n")
    found = hocket_command(f"rules explain {file} --ranks 16 --ranks-per-node 8 --size 1MiB --collective allreduce").out
    assert "nvls_tree, protocol=simple" in found.splitlines()[-1]


def test_the_table_of_nccl_is_printed_with_reasons(hocket_command: Callable[..., Ran]) -> None:
    line = "rules explain nccl-2 --machine gpu-cluster --ranks 16 --size 1MiB --collective allreduce"
    shown = hocket_command(line).out.splitlines()
    assert shown[0] == "allreduce on 16 ranks, 1 MiB"
    assert shown[3].split() == ["nvls_tree", "simple", "56.50", "us", "53.00", "us", "300.0", "GB/s", "decides"]
    assert shown[-1] == "nccl-2: nvls_tree/simple with 16 channels of 640 threads"
    assert "needs a collnet plugin on several nodes" in " ".join("".join(shown[-4:-1]).split())
    (found,) = hocket_command(f"{line} --json").json
    assert found["algorithm"] == "nvls_tree" and found["time_s"] == pytest.approx(56.495e-6, rel=1e-4)
    assert [each["time_s"] is None for each in found["alternatives"]] == [False] * 7 + [True] * 3
    assert len(hocket_command("rules explain nccl-2 --machine gpu-cluster --ranks 8 --json").json) == 5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("defaults nccl-2 --ranks 8", "--machine: expected a machine with a section [gpu], by which nccl-2 decides"),
        ("defaults nccl-2 --machine gpu-cluster", "--ranks: expected the numbers of ranks for which nccl-2 decides"),
        ("diff nccl-2 openmpi-5.0 --machine cluster --ranks 8", "cluster.toml: section [gpu] is missing, by which"),
        ("defaults nccl-2 --machine cluster --ranks 8", "cluster.toml: section [gpu] is missing, by which nccl-2"),
        ("defaults ucc-1 --ranks 8", "--ranks: expected none, as ucc-1 does not decide by the machine"),
        ("explain nccl-2 --ranks 8", "--machine: expected a machine with a section [gpu], by which nccl-2 decides"),
        ("explain ucc-1 --ranks 8 --machine cluster", "--machine: expected none, as ucc-1 does not decide by the"),
        (
            "explain nccl-2 --ranks 8 --machine gpu-cluster --collective alltoall",
            '--collective: nccl-2 has no "alltoall", expected allgather, allreduce, bcast, reduce, reduce_scatter',
        ),
    ],
)
def test_nccl_is_asked_with_a_machine(hocket_command: Callable[..., Ran], line: str, message: str) -> None:
    ran = hocket_command(f"rules {line}")
    assert ran.status == 2 and ran.err.startswith(f"hocket: error: {message}")


def test_a_tuner_file_is_compared_with_the_table_of_nccl(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "some.nccl-2.csv"
    file.write_text("allreduce,0,8192,ring,simple,1,-1,-1\n")
    rows = hocket_command(f"rules diff {file} nccl-2 --machine gpu-cluster --ranks 16 --sizes 8B,8KiB,1MiB --json").json
    assert [(row["collective"], row["size_bytes"], row["one"]["line"]) for row in rows] == [
        ("allreduce", 8, 1),
        ("allreduce", 8192, 1),
    ]
    decision = hocket_command(
        "rules explain nccl-2 --machine gpu-cluster --ranks 16 --size 8B --collective allreduce"
    ).out
    choice = rows[0]["two"]["choice"]
    assert f"nccl-2: {choice.partition(',')[0]}/" in decision and "channels=" in choice


def test_variables_of_intel_mpi_are_written_and_what_they_cannot_say_is_told(
    hocket_command: Callable[..., Ran], tmp_path: Path
) -> None:
    file, target = tmp_path / "a.rules", tmp_path / "a b.intelmpi-2021.sh"
    file.write_text("allreduce[size=64KiB.., ranks=8..]: ring\nallreduce[size=1KiB..]: recursive_doubling\n")
    ran = hocket_command("rules convert", file, target)
    why = "intelmpi-2021 chooses by sizes or by ranks, not by both"
    refusal = f"{target}: not written: allreduce: left out, as {why}; expected --ranks with one number"
    assert (ran.status, ran.err, target.exists()) == (2, f"hocket: error: {refusal}\n", False)
    ran = hocket_command("rules convert", file, target, "--ranks", "16")
    assert target.read_text() == "export I_MPI_ADJUST_ALLREDUCE='0:0-1023;1:1024-65535;8'\n"
    assert ran.err.splitlines() == [
        f"hocket: note: allreduce: what is for 8.. ranks is for all, as {why}",
        "hocket: note: allreduce: for what is left to it, intelmpi-2021 takes its basic logic, not its tuning",
        f"hocket: note: to use it: source '{target}'",
    ]
    shown = subprocess.run(
        ["bash", "-c", f"source '{target}'; printenv I_MPI_ADJUST_ALLREDUCE"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "0:0-1023;1:1024-65535;8\n"
    ran = hocket_command("rules explain", target, "--ranks", "4", "--size", "1KiB")
    assert ran.out.endswith("recursive_doubling: line 1, for 1024 bytes of the message\n")


@pytest.mark.parametrize(
    "line",
    [
        *("rules defaults intelmpi-2021", "rules explain intelmpi-2021 --ranks 4", "rules diff intelmpi-2021 ucc-1"),
        *("rules convert intelmpi-2021 - --to hocket", "compare barrier --ranks 4 --defaults-of intelmpi-2021"),
    ],
)
def test_the_defaults_of_intel_mpi_are_not_known(hocket_command: Callable[..., Ran], line: str) -> None:
    ran = hocket_command(line)
    sentence = "intelmpi-2021: its defaults are not known, as their tables are closed; hocket mpi bench measures them\n"
    assert ran.status == 2 and ran.err.endswith(sentence) and ran.err.count("\n") == 1
