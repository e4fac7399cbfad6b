"""Automatic values of parameters, and other choices by the machine."""

import json

import pytest

import hocket
from hocket.definitions.calls import prepare
from hocket.typing import Call, Rank, Steps
from hocket_studies import jitter
from hocket_studies.trinaryx3_model import best_segment_bytes

QUIET = """
name = "quiet"
[network]
model = "hockney"
latency = "1 us"
bandwidth = "1 GB/s"
"""
LINKS = """
name = "linked"
[network]
model = "links"
topology = "crossbar"
nodes = 64
link_bandwidth = "4 GB/s"
[node]
software_latency = "1 us"
reduce_bandwidth = "5 GB/s"
"""
GAUSSIAN = '[noise.network]\nmodel = "gaussian"\nmean = "1 us"\ndeviation = "1 us"\n'
NOISE = '[noise.network]\nmodel = "poisson"\ninterval = "10 ms"\nduration = "100 us"\n'


def machine(text: str) -> hocket.Machine:
    return hocket.Machine.parse(text, "machine.toml")


def automatic(label: str, call: hocket.Call, where: hocket.Machine) -> int | str:
    (name,) = (name for name, value in call.parameters.items() if value == "auto")
    return prepare(hocket.find(label), call, where).values()[name]


@pytest.mark.parametrize("collective", ["broadcast", "reduce", "allreduce"])
def test_segments_are_the_best_of_the_model_for_the_height_of_the_trees(collective: str) -> None:
    model = {"latency_s": 1e-6, "link_bytes_per_s": 4e9, "reduce_bytes_per_s": 5e9}
    for sizes, height in (({"X": 4, "Y": 3, "Z": 2}, 7), ({"X": 2, "Y": 2, "Z": 6}, 8), ({"X": 24}, 23)):
        parameters = {"segment": "auto", **sizes}
        call = hocket.Call(ranks=24, size_bytes=1 << 20, element_bytes=1, parameters=parameters)
        best = best_segment_bytes(collective, 1 << 20, height_links=height, **model)  # type: ignore[arg-type]
        assert automatic(f"{collective}/trinaryx3", call, machine(LINKS)) == round(best)


def test_the_host_of_a_machine_with_links_says_what_segments_cost_processors() -> None:
    text = LINKS.replace('software_latency = "1 us"\n', "") + '[host]\no_send = "0.6 us"\no_receive = "0.4 us"\n'
    call = hocket.Call(ranks=24, size_bytes=1 << 20, parameters={"segment": "auto", "X": 24})
    host, sender = (automatic("allreduce/trinaryx3", call, machine(each)) for each in (text, LINKS))
    assert host == sender


def test_where_the_model_says_nothing_segments_are_as_large_as_by_default() -> None:
    linked, free = machine(LINKS), machine(LINKS.replace('software_latency = "1 us"\n', ""))
    for ranks, size, where in ((8, 4096, machine(QUIET)), (1, 4096, linked), (8, 0, linked), (8, 4096, free)):
        call = hocket.Call(ranks=ranks, size_bytes=size, parameters={"segment": "auto", "X": ranks})
        assert automatic("allreduce/trinaryx3_overlapped", call, where) == 65536


def test_segments_are_as_large_as_by_default_where_messages_have_no_latency() -> None:
    slow, free = machine(LINKS), machine(LINKS.replace('software_latency = "1 us"\n', ""))
    call = hocket.Call(ranks=8, size_bytes=1 << 30, parameters={"segment": "auto"})
    assert automatic("allreduce/dual_root", call, free) == 65536 != automatic("allreduce/dual_root", call, slow)


@pytest.mark.parametrize("collective", ["allreduce", "barrier"])
def test_exchanges_are_as_many_as_noise_and_their_cost_ask_for(collective: str) -> None:
    def exchanges(text: str, ranks: int = 256) -> int | str:
        size_bytes = 8 if collective == "allreduce" else 0
        call = hocket.Call(ranks=ranks, size_bytes=size_bytes, parameters={"T": "auto"})
        return automatic(f"{collective}/redundant_butterfly", call, machine(text))

    assert exchanges(QUIET) == 0
    assert exchanges(QUIET + NOISE) == 8  # copies are free: one exchange per step
    assert exchanges(QUIET.replace("[network]", '[network]\nsend_overhead = "1 us"') + NOISE, 4096) in (3, 4)
    loggp = 'name = "loggp"\n[network]\nmodel = "loggp"\nL = "1 us"\no = "50 ns"\nG = "1 ns/B"\n'
    assert exchanges(loggp + NOISE) == 2


@pytest.mark.parametrize(("ratio", "share"), [(0.01, 1.0), (0.1, 0.1), (0.3, 0.1), (1.0, 1.0)])
def test_the_number_of_exchanges_is_nearly_the_best(ratio: float, share: float) -> None:
    transfer_s, duration_s = ratio * 1e-4, 1e-4
    where = jitter.machine(
        jitter.Setting(transfer_s - 8e-9, 8, 100 * duration_s, duration_s), send_overhead_s=share * transfer_s
    )

    def mean_s(exchanges: int | str) -> float:
        call = hocket.Call(ranks=256, size_bytes=8, parameters={"T": exchanges})
        return hocket.simulate(jitter.ALGORITHM, call, machine=where, trials=hocket.Trials(1000)).time_s.mean

    assert mean_s("auto") <= 1.03 * min(map(mean_s, range(9)))


@pytest.mark.parametrize(
    ("parameter", "text", "line"),
    [
        ("T", QUIET + GAUSSIAN, "machine quiet has the network noise model gaussian, expected poisson"),
        ("T", LINKS + NOISE, "machine linked has the network model links, expected hockney or loggp"),
        ("hosts", QUIET, "parameter hosts: got auto, but hosts has no automatic value, expected a number"),
    ],
)
def test_what_has_no_automatic_value_is_refused(parameter: str, text: str, line: str) -> None:
    call = hocket.Call(ranks=8, size_bytes=8, parameters={parameter: "auto"})
    with pytest.raises(hocket.Error, match=line):
        hocket.simulate("allreduce/redundant_butterfly", call, machine=machine(text))


def test_algorithms_in_python_have_no_automatic_values() -> None:
    @hocket.algorithm("allreduce", parameters=[hocket.Parameter("width")])
    def mine(r: Rank, c: Call) -> Steps:
        """Does nothing."""
        yield r.compute(0)

    call = hocket.Call(ranks=8, size_bytes=8, parameters={"width": "auto"})
    with pytest.raises(hocket.Error, match=r"^allreduce/mine: parameter width: got auto, but width has"):
        prepare(mine, call, machine(QUIET))


def test_auto_is_replaced_before_the_simulation() -> None:
    call = hocket.Call(ranks=8, size_bytes=1 << 20, parameters={"segment": "auto"})
    found = hocket.simulate("allreduce/trinaryx3", call, machine=machine(QUIET))
    assert found.parameters["segment"] == 65536
    assert found.formula_s is not None


def test_the_torus_that_an_algorithm_chose_is_told() -> None:
    found = hocket.simulate("allreduce/trinaryx3", hocket.Call(ranks=12, size_bytes=1024))
    assert found.parameters == {"segment": 65536, "X": 3, "Y": 2, "Z": 2}
    given = hocket.Call(ranks=12, size_bytes=1024, parameters={"X": 12})
    others = {"Y": 1, "Z": 1, "W": 1, "V": 1, "U": 1}
    assert hocket.simulate("allreduce/torus_bucket", given).parameters == {"X": 12, **others}


@pytest.mark.parametrize(
    ("dims", "fits"), [("[3, 4]", 3), ("[2, 2, 3]", 3), ("[3, 1, 2, 2]", 6), ("[1, 2, 1, 2, 1, 3]", 6)]
)
def test_the_torus_of_a_machine_has_as_many_axes_as_the_algorithm_takes(dims: str, fits: int) -> None:
    text = LINKS.replace('topology = "crossbar"\nnodes = 64', f'topology = "torus"\ndims = {dims}')
    call = hocket.Call(ranks=12, size_bytes=1024)
    found = hocket.simulate("allreduce/torus_bucket", call, machine=machine(text)).parameters
    assert list(found.values())[: dims.count(",") + 1] == json.loads(dims)
    if fits > 3:
        with pytest.raises(hocket.Error, match="trinaryx3 needs a torus of up to 3 axes, but machine linked is a"):
            hocket.simulate("allreduce/trinaryx3", call, machine=machine(text))


def test_a_comparison_tells_each_automatic_value_with_its_first_size() -> None:
    calls = [
        hocket.Call(ranks=24, size_bytes=size_bytes, parameters={"segment": "auto", "X": 24})
        for size_bytes in (8 << 20, 4 << 20, 1 << 20)
    ]
    found = hocket.compare(["allreduce/trinaryx3"], calls, machine=machine(LINKS))
    best = {one.size_bytes: hocket.find("allreduce/trinaryx3").format(one.parameters) for one in found.simulations}
    least, middle, largest = (best[size_bytes].split(", ")[0] for size_bytes in (1 << 20, 4 << 20, 8 << 20))
    shown = [f"{middle} from 4 MiB", *([f"{largest} from 8 MiB"] if largest != middle else [])]
    shown = [least, *(text.removeprefix("segment = ") for text in shown)]
    assert least != middle and found.parameters == {"trinaryx3": f"{'; '.join(shown)}, X = 24"}
