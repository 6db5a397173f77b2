"""The chapters in JupyterLab, with a kernel: the same controls, the same pictures."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from fedlab_browser.playground import page_file
from tools import paths
from tools.visit import SHOWN

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE_S = 120
CHAPTER = "index.ipynb"  # the first page is one, and the shortest with a control
OWN = "own.ipynb"  # a reader's notebook
METHOD = """\
from dataclasses import dataclass
import fedlab_core as fl

@dataclass(frozen=True)
class BySizeRoot:
    name: str = "root of size"
    scalars: int = 0

    def __call__(self, members):
        root = members.sizes.double().sqrt()
        return root / root.sum()

fl.playground(fl.fedavg(weigh=BySizeRoot(), name="Root"))
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def small(source: Path, to: Path) -> None:
    """The chapter as it is, at its smallest scale."""
    notebook = nbformat.read(source, as_version=4)
    (cell,) = [c for c in notebook.cells if "parameters" in c.metadata.get("tags", [])]
    cell.source += "\nrounds, seeds = 1, 2"
    nbformat.write(notebook, to)


def own_notebook(to: Path) -> None:
    cells = [nbformat.v4.new_code_cell(METHOD)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), to)


def traced_before(site: Path, data: Path) -> None:
    """The playground's rules as the site has them, so that no minute is waited."""
    kept = data / f"playground-{page_file.fingerprint()[:16]}"
    shutil.copytree(site / "_static" / "playground" / "data", kept)


@pytest.fixture(scope="module")
def lab(tmp_path_factory, site: Path) -> Iterator[str]:
    """The address of a JupyterLab of its own, with nothing of the user's."""
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    small(paths.ROOT / "notebooks" / CHAPTER, folder / CHAPTER)
    own_notebook(folder / OWN)
    traced_before(site, home / "data")
    tracker = home / "settings" / "@jupyterlab" / "notebook-extension"
    tracker.mkdir(parents=True)
    # Every cell is drawn, also those that are not in sight.
    shown = json.dumps({"windowingMode": "none"})
    (tracker / "tracker.jupyterlab-settings").write_text(shown)
    port = free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}"]
    command += ["--ip=127.0.0.1", "--allow-root", f"--notebook-dir={folder}"]
    command += ["--IdentityProvider.token=", "--ServerApp.port_retries=0"]
    command += ["--LabApp.expose_app_in_browser=True"]
    command += ["--LabApp.news_url=None", "--LabApp.collaborative=False"]
    there = [str(paths.ROOT), os.environ.get("PYTHONPATH", "")]
    own = {
        "PYTHONPATH": os.pathsep.join(filter(None, there)),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "FEDLAB_PROGRESS": "0",
        "FEDLAB_DATA": str(home / "data"),
    }
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            command, env={**os.environ, **own}, stdout=log, stderr=log
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/api", server, home / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start: {log.read_text()[-2000:]}")


# A page that has just opened may still be joining its kernel. What it is asked to run
# before that is dropped in part, or it asks which kernel to take.
JOINED = """async () => {
    const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
    if (!context) return false;
    await context.ready;
    const kernel = context.session?.kernel;
    if (kernel?.connectionStatus !== "connected") return false;
    await kernel.info;
    return kernel.status === "idle";
}"""


def _run_all(page: Page) -> None:
    page.wait_for_function(JOINED)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def test_a_chapter_runs_and_its_picture_follows_the_keys(browser: Browser, lab: str):
    context = browser.new_context(viewport={"width": 1280, "height": 1200})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    page.goto(f"{lab}/lab/tree/{CHAPTER}?reset", wait_until="domcontentloaded")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    _run_all(page)
    stage = page.locator(".fl-frames .fl-stage").first
    expect(stage.locator("svg").first).to_be_visible(timeout=PATIENCE_S * 1000)
    before = stage.evaluate(SHOWN)
    handle = page.locator(".fl-frames .noUi-handle").first
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        f"before => ({SHOWN})(document.querySelector('.fl-stage'))[0] !== before",
        arg=before[0],
    )
    assert len(before) == 1 and "how much it counts" in before[0]
    failed = page.locator(".jp-OutputArea-output[data-mime-type*='stderr']")
    assert failed.all_inner_texts() == []
    # The text's boxes and figures are drawn, too.
    prose = page.locator(".jp-MarkdownCell .myst")
    expect(prose.get_by_text("::")).to_have_count(0)
    expect(prose.locator("figure").first).to_be_visible()
    context.close()


def test_a_method_written_in_a_notebook_plays_there(browser: Browser, lab: str):
    page = browser.new_page(viewport={"width": 1280, "height": 1200})
    page.set_default_timeout(PATIENCE_S * 1000)
    page.goto(f"{lab}/lab/tree/{OWN}?reset", wait_until="domcontentloaded")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    _run_all(page)
    frame = page.frame_locator("iframe[title='A federation in your browser']")
    chosen = frame.get_by_role("radio", name="root of size")
    expect(chosen).to_be_checked(timeout=PATIENCE_S * 1000)
    frame.get_by_role("button", name="One round", exact=True).click()
    expect(frame.locator(".pg-now")).to_contain_text("Round 1", timeout=120_000)
    expect(frame.locator(".pg-runs")).to_contain_text("root of size")
    page.close()
