"""The example notebook runs completely."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "example.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The notebook with its outputs. A failing cell raises; no port is opened."""
    folder = tmp_path_factory.mktemp("nb")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(folder / "k"))
    NotebookClient(notebook, km=manager, timeout=120).execute(cwd=str(folder))
    return notebook


def test_every_cell_but_definitions_shows_something(executed: nbformat.NotebookNode) -> None:
    for cell in executed.cells:
        if cell.cell_type == "code":
            (output,) = cell.outputs
            assert "text/html" in output.data


def test_the_outputs_are_those_that_the_text_speaks_of(executed: nbformat.NotebookNode) -> None:
    shown = [cell.outputs[0].data["text/html"] for cell in executed.cells if cell.cell_type == "code"]
    assert sum("vega-embed" in html for html in shown) == 5
    assert sum("WRONG: allreduce/passing" in html for html in shown) == 1
    assert sum("ok: allreduce/keeping" in html for html in shown) == 1


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)
