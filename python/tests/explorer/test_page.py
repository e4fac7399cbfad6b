"""The page in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.explorer.conftest import LONG, OSU, TORUS, WRONG, fields

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
TABS = ("times", "map", "space-time", "links", "verdict")
_WAIT_MS = 30_000


@dataclass
class Opened:
    """A page, its requests to other hosts, and its errors."""

    page: playwright.Page
    elsewhere: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def fill(self, **texts: str) -> None:
        for name, text in texts.items():
            self.page.fill(f"#{name}", text)

    def tab(self, name: str) -> None:
        self.page.click(f"#tab-{name}")

    def shown(self, name: str) -> str:
        """The text of a view, once it shows the present form."""
        self.page.wait_for_selector(f"#panel-{name}[data-fields]:not(.stale) .code >> nth=1", timeout=_WAIT_MS)
        self.page.wait_for_selector("#progress", state="hidden", timeout=_WAIT_MS)
        return str(self.page.inner_text(f"#panel-{name}"))

    def status(self, text: str) -> str:
        self.page.wait_for_function("text => document.getElementById('status').textContent.includes(text)", arg=text)
        return str(self.page.inner_text("#status"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a wrong algorithm and a small torus."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "wrong.py").write_text(WRONG)
    (folder / "torus.toml").write_text(TORUS)
    words = ["serve", "--load", str(folder / "wrong.py"), "--machine", str(folder / "torus.toml")]
    process = subprocess.Popen([sys.executable, "-m", "hocket", *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().partition(" ")[2].strip()
    process.terminate()
    process.communicate(timeout=10)


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: playwright.Browser, address: str) -> Iterator[Opened]:
    """The page with a small question; afterwards there must be no error and no request to another host."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    found = Opened(page)
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("console", lambda message: found.errors.append(message.text) if is_error(message) else None)
    page.on("request", lambda request: found.elsewhere.append(request.url) if is_elsewhere(request.url) else None)
    page.goto(address)
    page.wait_for_selector("#tab-times")
    found.fill(ranks="4,8", sizes="8B..64B", verified="2-4")
    page.select_option("#collective", "broadcast")
    page.select_option("#collective", "allreduce")
    yield found
    context.close()
    assert (found.errors, found.elsewhere) == ([], [])


def is_error(message: playwright.ConsoleMessage) -> bool:
    """Return whether a message is an error of the page, or of a request that was refused."""
    return message.type in ("error", "warning")


def is_elsewhere(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "blob:", "data:", "file:"))


def test_every_tab_is_filled(opened: Opened) -> None:
    titles = {}
    for name in TABS:
        opened.tab(name)
        opened.shown(name)
        titles[name] = opened.page.inner_text(f"#panel-{name} h2")
        charts = opened.page.locator(f"#panel-{name} :is(canvas, svg.marks)").count()
        assert charts == (0 if name == "verdict" else 1), name
    assert titles == {
        "times": "allreduce on 8 ranks, elements of 4 B, machine small-torus",
        "map": "The fastest allreduce, machine small-torus",
        "space-time": "allreduce neighbours, 8 ranks, 64 B, elements of 4 B, machine small-torus",
        "links": "allreduce neighbours, 8 ranks, 64 B, elements of 4 B, machine small-torus",
        "verdict": "allreduce/neighbours is wrong",
    }
    assert "expected (0+2)+1 as on rank 0" in opened.page.inner_text("#panel-verdict")


def test_what_was_chosen_is_compared(opened: Opened) -> None:
    opened.page.click("#algorithms summary")
    opened.page.check("#names input[value=ring]")
    opened.page.check("#names input[value=swing]")
    opened.page.click("#run")
    assert "hocket compare allreduce ring swing --ranks 8 --sizes 8B..64B" in opened.shown("times")
    opened.page.click("#panel-times button[aria-label='Copy Command line']")
    opened.page.wait_for_selector("text=Copied")
    assert opened.page.evaluate("navigator.clipboard.readText()").startswith("hocket compare allreduce ring swing")


def test_a_scene_is_asked_for_and_kept_in_the_address(opened: Opened) -> None:
    fault = "link 0 -> 1, 0 us.., 10 %"
    opened.fill(arrivals="rank 3, 20 us", faults=fault)
    opened.page.click("#run")
    shown = opened.shown("times")
    assert f"--arrivals 'rank 3, 20 us' --faults '{fault}'" in shown and "arrivals\nrank 3, 20 us" in shown
    opened.page.reload()
    assert fault in opened.shown("times")
    assert opened.page.input_value("#arrivals") == "rank 3, 20 us"
    opened.tab("space-time")
    assert "hocket explain allreduce neighbours" in opened.shown("space-time")
    opened.fill(arrivals="rank 3")
    opened.page.click("#run")
    opened.status('arrivals: got "rank 3", expected ranks and how late they are')


def test_a_key_of_the_form_is_a_key_of_the_text(opened: Opened) -> None:
    page = opened.page
    page.select_option("#machine-name", "cluster")
    page.click("#edit")
    page.fill("[data-key='network.latency']", "7 us")
    page.fill("[data-key='node.ports']", "2")
    text = page.input_value("#machine")
    assert 'latency = "7 us"\n' in text and text.index("[node]") < text.index("\nports = 2\n")
    assert text.startswith("# A cluster of today") and page.inner_text("#machine-description") == "changed"
    page.fill("[data-key='node.ports']", "")
    assert "ports" not in page.input_value("#machine")
    page.fill("#machine", text.replace("7 us", "9 us").replace("cluster", "mine"))
    assert page.input_value("[data-key='network.latency']") == "9 us"
    page.fill(
        "#machine",
        page.input_value("#machine") + '[noise.os]\nmodel = "poisson"\ninterval = "1 ms"\nduration = "10 us"\n',
    )
    opened.fill(trials="8", seed="2")
    page.click("#run")
    assert "8 trials, seed 2" in opened.shown("times")
    assert "<<'END'" in page.inner_text("#panel-times")


def test_keyboard(opened: Opened) -> None:
    page = opened.page
    page.focus("#collective")
    seen = []
    for _ in range(18):
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    assert seen == [
        *("collective", "SUMMARY", "parameters", "ranks", "sizes", "trials", "seed", "defaults"),
        *("algorithm", "size", "verified", "machine-name", "beside", "edit", "arrivals", "cadence", "faults", "run"),
    ]
    page.focus("#ranks")
    page.keyboard.press("Enter")
    opened.shown("times")
    page.focus("#tab-times")
    for key, name in (("ArrowRight", "map"), ("ArrowLeft", "times"), ("End", "judge"), ("Home", "times")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == f"tab-{name}"
        assert page.get_attribute(f"#tab-{name}", "aria-selected") == "true"
        assert page.locator("[role=tabpanel]:not([hidden])").count() == 1
    assert page.locator("[role=tab][tabindex='0']").count() == 1
    unlabelled = "[...document.querySelectorAll('input, select, textarea')].filter(e => !e.labels.length).length"
    assert page.evaluate(unlabelled) == 0


def ask_for_long(opened: Opened) -> str:
    """Start a long job; return its address."""
    texts = fields(**LONG)
    opened.page.click("#algorithms summary")
    opened.page.check("#names input[value=ring]")
    opened.fill(ranks=texts["ranks"], sizes=texts["sizes"], trials=texts["trials"])
    opened.page.select_option("#machine-name", LONG["machine"])
    with opened.page.expect_response(lambda found: texts["trials"] in (found.request.post_data or "")) as accepted:
        opened.page.click("#run")
    opened.status("running")
    return f"{accepted.value.url.partition('?')[0]}/{accepted.value.json()['id']}"


@pytest.mark.parametrize("way", ["Escape", "button", "leave"])
def test_long_work_is_cancelled(opened: Opened, address: str, way: str) -> None:
    page = opened.page
    job = ask_for_long(opened)
    if way == "Escape":
        page.keyboard.press("Escape")
    elif way == "button":
        page.click("#cancel")
    else:
        page.goto("about:blank")
        for _ in range(5):
            status = httpx.get(f"{job}?{httpx.URL(address).query.decode()}").status_code
        assert status == 404
        return
    opened.status("cancelled")
    assert page.is_disabled("#cancel")
    opened.fill(ranks="4", trials="1")
    page.click("#run")
    assert "allreduce on 4 ranks" in opened.shown("times")


def test_quick_steps_through_the_tabs_leave_no_work_behind(opened: Opened, address: str) -> None:
    page = opened.page
    ask_for_long(opened)
    names: list[str] = []
    page.on("response", lambda found: names.append(found.json()["id"]) if found.request.method == "POST" else None)
    page.evaluate("for (const name of ['map', 'times', 'map', 'times', 'map', 'verdict']) select(name)")
    opened.shown("verdict")
    assert len(names) == 6
    url = httpx.URL(address)
    left = [httpx.get(url.copy_with(path=f"/api/jobs/{name}"), params=url.params).status_code for name in names]
    assert left == [404] * 6


def test_errors_are_lines_and_text_is_text(opened: Opened) -> None:
    page = opened.page
    opened.fill(ranks="many")
    page.click("#run")
    assert opened.status("got") == 'ranks: got "many", expected rank counts such as 1-64 or 1-8,16,32'
    opened.fill(ranks="4")
    page.click("#edit")
    page.fill("#machine", TORUS.replace("small-torus", "<img src=x onerror=alert(1)>"))
    page.click("#run")
    assert "machine <img src=x onerror=alert(1)>" in opened.shown("times")
    page.fill("#machine", '[noise.os]\nfile = "/etc/passwd"')
    page.click("#run")
    assert "got a key `file`" in opened.status("file")


def test_a_narrow_window_scrolls_only_down(opened: Opened) -> None:
    page = opened.page
    page.set_viewport_size({"width": 400, "height": 800})
    page.click("#edit")
    for name in TABS:
        opened.tab(name)
        opened.shown(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
    opened.tab("times")
    opened.shown("times")
    assert page.evaluate("(e => e.scrollWidth - e.clientWidth)(document.querySelector('#panel-times .paper'))") <= 0
    wrapped = "withShortLines({ title: { subtitle: ['bandwidth 10 GB/s', 'x'] } }, 12.5).title.subtitle"
    assert page.evaluate(wrapped) == ["bandwidth 10", "GB/s", "x"]
    below, result = (page.locator(one).bounding_box() for one in ("#form", "#panel-times"))
    assert below is not None and result is not None and below["y"] >= result["y"] + result["height"]
    page.evaluate("document.querySelector('#panel-times .scrolled:has(table)').scrollLeft = 200")
    size = page.locator("#panel-times tbody td").first.bounding_box()
    assert size is not None and size["x"] >= 0  # stays in sight


def test_pictures_are_dark_in_dark_mode(opened: Opened) -> None:
    page = opened.page
    opened.tab("links")
    opened.shown("links")

    def looks(selector: str, what: str) -> list[str]:
        return list(page.eval_on_selector_all(f"#panel-links {selector}", f"marks => marks.map(mark => {what})"))

    paper, ink = "getComputedStyle(mark).backgroundColor", "mark.getAttribute('fill')"
    cells = looks(".role-mark path", ink)
    assert looks(".paper", paper) == ["rgb(255, 255, 255)"] and len(set(cells)) > 1
    assert {"#000", "black"} >= set(looks(".role-axis-label text", ink))
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("#panel-links .role-axis-label text[fill='#fff']")
    assert looks(".paper", paper) == ["rgb(34, 34, 34)"]
    assert looks(".role-mark path", ink) == cells, "a load has the same colour on light and on dark paper"
    assert looks(".role-mark path", "getComputedStyle(mark.closest('svg')).filter")[0] == "none"
    opened.tab("times")
    opened.shown("times")
    corner = "[...document.querySelector('#panel-times canvas').getContext('2d').getImageData(1, 1, 1, 1).data]"
    assert page.evaluate(corner) == [34, 34, 34, 255]
    assert page.evaluate("onDark({ range: ['black'], title: 'the black line' })") == {
        "range": ["#ddd"],
        "title": "the black line",
    }


def test_a_thousand_points(opened: Opened) -> None:
    opened.fill(ranks="2", sizes=",".join(f"{8 + i}B" for i in range(50)))
    opened.page.select_option("#machine-name", "cluster")
    opened.page.click("#run")
    opened.shown("times")
    assert opened.page.locator("#panel-times tbody tr").count() == 50
    assert opened.page.locator("#panel-times th").count() >= 15
    opened.page.hover("#panel-times canvas")


def test_two_machines_are_side_by_side(opened: Opened) -> None:
    page = opened.page
    page.select_option("#algorithm", "ring")
    page.select_option("#beside", "cluster")
    page.click("#run")
    opened.shown("times")
    assert page.locator("#panel-times canvas").count() == 2
    titles = page.locator("#panel-times h2").all_inner_texts()
    assert titles == [
        "allreduce on 8 ranks, elements of 4 B, machine small-torus",
        "allreduce on 8 ranks, elements of 4 B, machine cluster",
    ]
    left, right = (page.locator("#panel-times h2").nth(number).bounding_box() for number in (0, 1))
    assert left and right and left["y"] == right["y"] and left["x"] < right["x"]
    opened.tab("links")
    assert "machine cluster has no topology" in opened.shown("links")
    page.reload()
    opened.shown("links")
    assert page.input_value("#beside") == "cluster"


def test_a_saved_report_shows_the_same(opened: Opened, tmp_path: Path) -> None:
    with opened.page.expect_download(timeout=_WAIT_MS) as saved:
        opened.page.click("#save")
    assert saved.value.suggested_filename == "hocket-allreduce.html"
    path = tmp_path / "report.html"
    saved.value.save_as(path)
    opened.page.goto(path.as_uri())
    opened.page.wait_for_selector("section:nth-of-type(6) pre")
    assert opened.page.locator(":is(canvas, svg.marks)").count() == 4
    assert re.findall("^allreduce/.*", opened.page.inner_text("main"), re.M)[0] == "allreduce/neighbours is wrong"


def test_a_pasted_text_is_judged(opened: Opened) -> None:
    page = opened.page
    opened.tab("judge")
    assert page.inner_text("#status") == "" and page.inner_text("#panel-judge") == ""
    opened.fill(ranks="8", output=OSU)
    page.click("#judged button")
    shown = opened.shown("judge")
    assert shown.startswith("Allreduce on 8 ranks is ") and "machine small-torus" in shown
    assert "OSU" not in page.url and "view=judge" in page.url
    page.select_option("#machine-name", "lumi")
    assert (page.input_value("#output"), page.input_value("#ranks")) == (OSU, "8")
    page.focus("#output")
    page.keyboard.press("Control+Enter")
    assert "hocket judge out.txt --ranks 8 --machine lumi" in opened.shown("judge")
    assert page.locator("#panel-judge canvas").count() == 1
    opened.tab("verdict")
    opened.shown("verdict")
    assert page.is_hidden("#output")
    page.evaluate("document.getElementById('output').value = ''; changed()")
    assert page.locator("#panel-judge.stale").count() == 1
    assert page.locator("#panel-verdict.stale").count() == 0


def test_a_text_that_cannot_be_judged_gets_one_line(opened: Opened) -> None:
    page = opened.page
    opened.tab("judge")
    for text, told in (("hello", "text: unknown format"), ("x" * 3_000_000, "output: too long"), (" ", "nothing to")):
        page.evaluate("text => (document.getElementById('output').value = text)", text)
        page.click("#judged button")
        assert opened.status(told).startswith(told)


def test_a_saved_report_has_the_judgement(opened: Opened, tmp_path: Path) -> None:
    opened.tab("judge")
    opened.fill(output=OSU)
    with opened.page.expect_download(timeout=_WAIT_MS) as saved:
        opened.page.click("#save")
    path = tmp_path / "report.html"
    saved.value.save_as(path)
    assert "hocket judge out.txt --ranks 8" in path.read_text()


@pytest.mark.parametrize("width", [1280, 400])
def test_no_tab_and_no_map_of_links_is_cut(opened: Opened, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 800})
    for name in TABS:
        box = opened.page.locator(f"#tab-{name}").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width, name
    opened.tab("links")
    opened.shown("links")
    place, picture = (opened.page.locator(f"#panel-links {one}").bounding_box() for one in (".chart", "svg.marks"))
    assert place is not None and picture is not None
    assert picture["width"] <= place["width"] and (width < 600 or place["x"] + place["width"] <= width)
    legend = opened.page.locator("#panel-links svg.marks .role-legend").first.bounding_box()
    assert legend is not None and legend["x"] + legend["width"] <= width


def test_the_first_question_is_one_that_the_machine_can_answer(browser: playwright.Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("#tab-times")
    assert page.input_value("#ranks") == "8"
    page.select_option("#machine-name", "cluster")
    assert page.input_value("#ranks") == "4,8,16,32,64"
    page.fill("#ranks", "12")
    page.select_option("#machine-name", "lumi")
    assert page.input_value("#ranks") == "12", "what the user typed stays"
    page.close()


def test_a_machine_without_links_is_a_line(opened: Opened) -> None:
    opened.page.select_option("#machine-name", "cluster")
    opened.tab("links")
    assert opened.status("topology") == "machine cluster has no topology, expected a machine with a topology"


def test_refusals_are_folded_below_the_picture(opened: Opened) -> None:
    opened.fill(ranks="6")
    opened.page.select_option("#collective", "allgather")
    opened.tab("times")
    opened.page.click("#run")
    opened.shown("times")
    refused = opened.page.locator("#panel-times details.refusals")
    assert refused.get_attribute("open") is None
    assert refused.locator("summary").inner_text().startswith("Refused: ")
    below, picture = refused.bounding_box(), opened.page.locator("#panel-times canvas").bounding_box()
    assert below is not None and picture is not None and below["y"] > picture["y"]


def test_the_address_has_the_question(opened: Opened) -> None:
    opened.fill(ranks="4", sizes="16B,32B")
    opened.page.select_option("#collective", "broadcast")
    opened.tab("verdict")
    opened.shown("verdict")
    before = opened.page.inner_text("#panel-verdict h2")
    opened.page.reload()
    assert opened.shown("verdict").startswith(before)
    kept = [opened.page.input_value(f"#{name}") for name in ("collective", "ranks", "sizes", "verified")]
    assert kept == ["broadcast", "4", "16B,32B", "2-4"]
