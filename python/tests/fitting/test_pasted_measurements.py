"""Measurements in logs and pasted text: each sample of each format is read as without what stands around its lines."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import hocket
from hocket.measurements.measurement import Facts, Measurement, Reading
from tests.fitting.test_measurements import IMB, NCCL, OSU_FULL, SAMPLES, file, tuned

__all__ = ["file", "tuned"]


def each(margin: Callable[[int], str], end: str = "") -> Callable[[str], str]:
    """Return what puts a margin before each line, which depends on the line's number."""

    def put(text: str) -> str:
        lines = text.rstrip("\n").split("\n")
        return "".join(f"{margin(number)}{line}{end}\n" for number, line in enumerate(lines))

    return put


def around(before: str, after: str) -> Callable[[str], str]:
    return lambda text: before + text.rstrip("\n") + after


def between(line: str) -> Callable[[str], str]:
    """Return what puts a line of another output after each line."""
    return lambda text: "".join(f"{own}\n{line}\n" for own in text.rstrip("\n").split("\n"))


def html(text: str) -> str:
    return f"<pre>\n{text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}</pre>\n"


DECORATIONS: Mapping[str, Callable[[str], str]] = {
    "srun --label": each(lambda _: "0: "),
    "srun --label on many ranks": each(lambda _: "  0: "),
    "rank in brackets": each(lambda _: "[0] "),
    "mpirun --tag-output": each(lambda _: "[1,0]<stdout>:"),
    "mpirun --tag-output, prrte": each(lambda _: "[prterun-node1-1234@1,0]<stdout>: "),
    "mpirun --timestamp-output": each(lambda line: f"Fri Nov 27 10:00:{line:02} 2026<stdout>:"),
    "over midnight": each(lambda line: f"{'Fri Nov 27 23:59:59' if line < 5 else 'Sat Nov 28 00:00:00'} 2026<stdout>:"),
    "clock": each(lambda line: f"9:55:{line:02} " if line < 5 else f"10:55:{line:02} "),
    "time": each(lambda line: f"2026-11-27T10:00:{line:02}.123Z "),
    "time and host": each(lambda line: f"2026-11-27T10:00:{line:02}.123456+01:00 node17 "),
    "month first": each(lambda line: f"11/27/2026 10:00:{line:02} AM "),
    "kubectl": each(lambda line: f"2026-11-27T10:00:{line:02}.123456789Z stdout F "),
    "docker compose": each(lambda _: "bench-1  | "),
    "syslog": each(lambda line: f"Nov 27 10:00:{line:02} node17 job[1234]: "),
    "seconds since boot": each(lambda line: f"[{line * 3.7:12.6f}] "),
    "seconds since 1970": each(lambda line: f"{1764237600 + line} "),
    "logging": each(lambda line: f"2026-11-27 10:00:{line:02},{line:03} INFO bench: "),
    "GitHub": each(lambda line: f"bench\tRun tests\t2026-11-27T10:00:{line:02}.1234567Z "),
    "rank and time": each(lambda line: f"0: 2026-11-27 10:00:{line:02} "),
    "pdsh": each(lambda _: "node17: "),
    "host in words": each(lambda _: "gpu-a.example.org: "),
    "host without a colon": each(lambda _: "node17 "),
    "cat -n": each(lambda line: f"{line + 1:6}\t"),
    "numbers": each(lambda line: f"{line + 1:4} "),
    "grep -n": each(lambda line: f"slurm-123.out:{line + 1}:"),
    "numbers and a bar": each(lambda line: f"{line + 1:4} | "),
    "quotation": each(lambda _: "> "),
    "quotation of a quotation": each(lambda _: "> > "),
    "list": each(lambda _: "- "),
    "starred list": each(lambda _: "* "),
    "comment": each(lambda _: "// "),
    "indentation": each(lambda _: "    "),
    "tabs": each(lambda _: "\t"),
    "blanks at the end": each(lambda _: "", end="  "),
    "colours": each(lambda _: "\x1b[32m0:\x1b[0m ", end="\x1b[K"),
    "carriage returns": each(lambda _: "", end="\r"),
    "blanks that do not break": lambda text: text.replace(" ", "\u00a0"),
    "code block": around("Results on two nodes:\n\n```text\n", "\n```\n\nThanks for looking at this.\n"),
    "indented code block": lambda text: f"Results:\n\n```\n{each(lambda _: '    ')(text)}```\n",
    "HTML": html,
    "escaped hash": lambda text: re.sub("(?m)^#", r"\\#", text),
    "shell": around("$ srun -n 4 ./bench\nsrun: job 12 queued and waiting for resources\n", "\n\nreal\t0m5.123s\n"),
    "mark of UTF-8": lambda text: "\ufeff" + text,
}


def content(reading: Reading) -> list[tuple[object, ...]]:
    def of(one: Measurement) -> tuple[object, ...]:
        values = {**vars(one), "source": "", "parameters": dict(one.parameters)}
        return tuple(values.values())

    return [of(one) for one in (*reading.measurements, *reading.unknown)]


def told(name: str) -> Facts:
    has_ranks = name in ("nccl", "imb", "imb nbc")
    return Facts("default", None if has_ranks else 4, collective="allgather" if name == "nccl old" else None)


@pytest.mark.parametrize("decoration", DECORATIONS)
def test_what_stands_around_lines_is_removed(file: Callable[[str], str], tuned: str, decoration: str) -> None:
    for name, text in {**SAMPLES, "tune": Path(tuned).read_text()}.items():
        plain = content(hocket.read_measurements(file(text), told(name)))
        assert content(hocket.read_measurements(file(DECORATIONS[decoration](text)), told(name))) == plain, name


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_texts_of_windows_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(NCCL.replace("\n", "\r\n").encode(encoding))
    assert len(hocket.read_measurements(path, Facts("ring")).measurements) == 4


FULL = OSU_FULL + "2 3.02 2.80 3.40 1000\n4 4.02 3.80 4.40 1000\n"
SLOWER = FULL.replace("  2.40 ", " 12.40 ").replace(" 3.40 ", " 13.40 ").replace(" 4.40 ", " 14.40 ")


def rows(text: str, margin: Callable[[int], str]) -> str:
    """Put a margin before each row."""
    lines = text.splitlines()
    return "".join(f"{margin(i) if line.strip()[:1].isdigit() else ''}{line}\n" for i, line in enumerate(lines))


def mixed(first: str, second: str) -> str:
    return "".join(f"{a}\n{b}\n" for a, b in zip(first.splitlines(), second.splitlines(), strict=True))


def lost_hash(text: str) -> str:
    return re.sub("(?m)^# *", "", text)


@pytest.mark.parametrize(
    ("text", "times_us"),
    [
        (rows(FULL, lambda _: "ring: "), [2.4, 3.4, 4.4]),
        (rows(FULL, lambda number: f"10:00:{number:02} "), [2.4, 3.4, 4.4]),
        (rows(FULL, lambda number: "[0] " if number == 3 else ""), [2.4, 3.4, 4.4]),
        (each(lambda number: "0: " if number % 2 else "")(FULL), [2.4, 3.4, 4.4]),
        (f"Of # OSU MPI Broadcast Latency Test v1:\n{each(lambda _: '0: ')(FULL)}", [2.4, 3.4, 4.4]),
        (FULL + FULL, [2.4, 3.4, 4.4] * 2),
        (FULL + "".join(FULL.splitlines(keepends=True)[2:]), [2.4, 3.4, 4.4] * 2),
        (mixed(each(lambda _: "0: ")(FULL), each(lambda _: "1: ")(SLOWER)), [2.4, 3.4, 4.4, 12.4, 13.4, 14.4]),
        (mixed(each(lambda _: "a: ")(FULL), each(lambda _: "b: ")(SLOWER)), [2.4, 3.4, 4.4, 12.4, 13.4, 14.4]),
        (between("node1:100:120 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM")(FULL), [2.4, 3.4, 4.4]),
        (between("1: rank 1 of 2")(each(lambda _: "0: ")(FULL)), [2.4, 3.4, 4.4]),
        (lost_hash(FULL), [2.4, 3.4, 4.4]),
    ],
)
def test_margins_of_some_lines(file: Callable[[str], str], text: str, times_us: list[float]) -> None:
    found = hocket.read_measurements(file(text), Facts("default", 4)).measurements
    assert [round(one.time_s * 1e6, 2) for one in found] == times_us
    assert {one.collective for one in found} == {"alltoall"}


def test_a_lost_hash_of_other_formats(file: Callable[[str], str]) -> None:
    for text in (NCCL, IMB):
        plain = content(hocket.read_measurements(file(text), Facts("default")))
        assert content(hocket.read_measurements(file(lost_hash(text)), Facts("default"))) == plain


def test_rows_of_nccl_tests_without_names_of_columns(file: Callable[[str], str]) -> None:
    bare = "".join(line for line in NCCL.splitlines(keepends=True) if "float" in line)
    labelled = each(lambda _: "Ring/Simple: ")(bare)
    for text in (bare, labelled):
        found = hocket.read_measurements(file(text), Facts("ring", 2, collective="allreduce")).measurements
        assert [round(one.time_s * 1e6, 2) for one in found] == [339.61, 335.85, 355.53, 361.77]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (mixed(FULL, SLOWER), "measured.txt:8: got the size 2 after 2, expected rising sizes of a single output"),
        (mixed(NCCL, NCCL), "measured.txt:26: got the size 2097152 after 2097152, expected rising sizes"),
        (rows(FULL, lambda i: "a: " if i % 2 else "b: "), "has rows labelled b: and a:, expected one label in a file"),
        (rows(FULL, lambda i: f"{i} "), 'measured.txt:3: got "2 1 2.02 1.80 2.40 1000", expected the columns Size, '),
        (
            each(lambda i: f"{i} " if i < 3 else "")(FULL),
            "measured.txt:5: does not begin with a number that follows that of line 4",
        ),
        (rows(IMB, lambda i: f"{i} "), 'measured.txt:11: got "10 0 1000 0.50 0.00", expected a row'),
        (
            NCCL.splitlines()[11].replace("3.09", "9.09"),
            "measured.txt:1: got algbw 9.09 GB/s for 1048576 bytes in 339.61 us, expected 3.09 GB/s, or the line that ",
        ),
        (NCCL.replace("335.85", "335.85 7"), "measured.txt:12: got "),
        (
            NCCL.replace("#  Rank  1", "1: #  Rank  1"),
            "measured.txt:12: got busbw 3.09 GB/s for algbw 3.09 GB/s in allreduce, expected 4.63 GB/s on the 4 ranks",
        ),
    ],
)
def test_mixed_and_labelled_lines_that_are_unclear_are_refused(
    file: Callable[[str], str], text: str, message: str
) -> None:
    with pytest.raises(hocket.Error) as error:
        hocket.read_measurements(file(text), Facts("default", 4, collective="allreduce"))
    assert message in str(error.value) and "\n" not in str(error.value)


TABLES: Mapping[str, list[tuple[int, float]]] = {
    "size,time_us\n8,5.1\n16,6\n": [(8, 5.1), (16, 6)],
    "time (us);Size [B];iter\n5.1;8;1\n": [(8, 5.1)],
    "iter,msg size,latency(us)\n1,8,5.1\n": [(8, 5.1)],
    "Bytes\tavg(us)\tmax(us)\n8\t5.1\t9\n": [(8, 5.1)],
    "nbytes,usec\n8,5.1\n": [(8, 5.1)],
    "size,min_us,p50_us,avg_us,p99_us\n8,1,5,7,9\n": [(8, 5)],
    "| **Size** (bytes) | Latency (us) |\n|---|---:|\n| 8 | 5.10 |\n\nAs expected, no surprise.\n": [(8, 5.1)],
    "> | Size | Latency (us) |\n> |---|---:|\n> | 8 | 5.10 |\n": [(8, 5.1)],
    "+------+-----------+\n| size | time (us) |\n+------+-----------+\n|    8 |       5.1 |\n": [(8, 5.1)],
    "# Size       Avg Latency(us)   Iterations\n8            5.10    1000\n": [(8, 5.1)],
    "size time_us\n8 5.1\n": [(8, 5.1)],
    "size,time\n8 B,5.1 us\n64 KiB,1.2 ms\n": [(8, 5.1), (65536, 1200)],
    "size (KiB),time_ns\n8,5100\n": [(8192, 5.1)],
    "count,datatype,t_avg[usec]\n8,MPI_FLOAT,5.1\n16,double,6\n": [(32, 5.1), (128, 6)],
    "sep=;\nSize;Time (us)\n8;5,10\n": [(8, 5.1)],
    'size,time_us\n"1,048,576","1,234.5"\n': [(1048576, 1234.5)],
    "size,time_us\n8,5\n\nsize,time_ms\n8,5\n": [(8, 5), (8, 5000)],
    "# machine: x\nsize,time_us\n# warm\n8,5.1\n": [(8, 5.1)],
    ",size,time_us\n0,8,5.1\n": [(8, 5.1)],
    "timestamp,size,latency_us\n2026-11-27 10:00:00,8,5\n": [(8, 5)],
}


@pytest.mark.parametrize("text", TABLES)
def test_tables_of_sizes_and_times(file: Callable[[str], str], text: str) -> None:
    found = hocket.read_measurements(file(text), Facts("ring", 8, collective="allreduce")).measurements
    assert [(one.size_bytes, round(one.time_s * 1e6, 6)) for one in found] == TABLES[text]
    assert {(one.collective, one.algorithm, one.ranks) for one in found} == {("allreduce", "ring", 8)}


def test_a_table_tells_its_calls(file: Callable[[str], str]) -> None:
    text = "operation,algo,nodes,ppn,msg_size,datatype,inplace,median_us\nMPI_Bcast,default,4,2,8,int32,true,5.1\n"
    (one,) = hocket.read_measurements(file(text)).measurements
    assert (one.collective, one.algorithm, one.ranks, one.ranks_per_node) == ("broadcast", "default", 8, 2)
    assert (one.size_bytes, one.element_bytes, one.in_place) == (8, 4, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,time\n8,5.1\n", ':2: time: got "5.1" without a unit, expected a unit in its name, such as time_us, or'),
        ("size_kb,time_us\n8,5.1\n", ':2: size_kb: "kb" is a thousand or 1024 times a smaller unit, expected B, KiB,'),
        ("size,time_us\n64KB,5.1\n", ':2: size: got "64KB", expected a whole number of bytes, or a size such as'),
        ("size (elements),time_us\n8,5.1\n", ':2: size (elements): "elements" is no unit of sizes'),
        ('size,time_us\n"65,536",5.1\n', ':2: size: got "65,536", expected a whole number of bytes'),
        ("Size;Time (us)\n16;1,048\n", ':2: Time (us): got "1,048", expected a number above zero'),
        ("size,time_us\n1.04858E+06,5\n", ':2: size: got "1.04858E+06", expected a whole number of bytes'),
        ("size,time_us,latency_us\n8,5,6\n", ":2: got the columns time_us and latency_us, expected one column of the"),
        ("size,algbw(GB/s)\n8,5\n", ":1: names the columns size, algbw(GB/s), expected also a column of times, such"),
        ("count,time_us\n8,5\n", ":1: names the columns count, time_us, expected also a column of sizes, such as size"),
        ("size,time_us\n8\n", ":2: got 1 cells, expected 2: size, time_us"),
        ("size,time_us,datatype\n8,5,word\n", ':2: datatype: got "word", expected a type such as float or MPI_INT'),
    ],
)
def test_tables_that_are_unclear_are_refused(file: Callable[[str], str], text: str, message: str) -> None:
    with pytest.raises(hocket.Error) as error:
        hocket.read_measurements(file(text), Facts("ring", 8, collective="allreduce"))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_table_lacks_what_is_told(file: Callable[[str], str]) -> None:
    path = file("size,time_us\n8,5.1\n")
    for given, option in (
        (Facts("ring", 8), "--collective"),
        (Facts("ring", None, collective="allreduce"), "--ranks"),
        (Facts(None, 8, collective="allreduce"), "--algorithm"),
    ):
        with pytest.raises(hocket.Error, match=f"expected {option}"):
            hocket.read_measurements(path, given)
