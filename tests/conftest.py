"""Fixtures and settings for all tests: hypothesis without a clock, a small world.

Tensors in tests are tiny: one thread is fastest, and leaves the other cores to the
browser. What depends on the number of threads asks for the `threads` fixture.
"""

import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Generator

import pytest
import torch
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from fedlab_core import Dataset, Training, World, build, data, dirichlet, load, world

# A grammar of web addresses that nbformat loads: no notebook holds any, and it is slow.
sys.modules.setdefault("rfc3987_syntax", None)  # pyright: ignore[reportArgumentType]
Report = pytest.TestReport
settings.register_profile(
    "book",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("long", settings.get_profile("book"), max_examples=1000)
settings.register_profile("quick", settings.get_profile("book"), max_examples=8)
settings.load_profile("book")
FEW, ONE_IN = 6, 4  # "quick" runs so many cases of a test, and one in so many of more
torch.set_num_threads(1)


class ByFile(LoadScopeScheduling):
    """Scheduling that keeps shared fixtures in one process: a file, or a site's page.

    (xdist's own `--dist loadgroup` groups nothing under pytest 9.2.)
    """

    def _split_scope(self, nodeid: str) -> str:
        page = re.search(r"::test_page\[(.+?\.html)-", nodeid)
        return page[1] if page else nodeid.split("::")[0]


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark tests of the built book: those of the site, and of executed copies.

    The profile "quick" takes fewer cases of a test that has many, as it takes fewer
    examples: always the same ones, as their names fall.
    """
    for item in items:
        copies = "copy" in getattr(item, "fixturenames", ())
        if copies or "tests/site/" in item.nodeid:
            item.add_marker("built")
    if config.getoption("--hypothesis-profile") == "quick":
        cases = Counter(_test_of(item) for item in items)
        left = [i for i in items if cases[_test_of(i)] > FEW and not _chosen(i)]
        config.hook.pytest_deselected(items=left)
        gone = {*left}
        items[:] = [i for i in items if i not in gone]


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.split("[")[0]


def _chosen(item: pytest.Item) -> bool:
    return zlib.crc32(item.nodeid.encode()) % ONE_IN == 0


def pytest_xdist_make_scheduler(config: pytest.Config, log) -> ByFile:
    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Report, Report]:
    """With CI set only a missing CUDA device is a reason to skip."""
    report = yield
    if isinstance(report.longrepr, tuple) and os.environ.get("CI") == "true":
        why = report.longrepr[2]
        if "CUDA" not in why:
            report.outcome, report.longrepr = "failed", f"CI leaves nothing out: {why}"
    return report


@pytest.fixture(
    params=[1, pytest.param(2, marks=pytest.mark.slow)], ids=["1 thread", "2 threads"]
)
def threads(request):
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def figures_are_closed() -> Generator[None]:
    """After each test: pyplot keeps those that nobody closes, and warns of many."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def small_data() -> Dataset:
    """300 letters to train on, 150 to test on."""
    return load("letters", n_train=300, n_test=150)


@pytest.fixture(scope="session")
def small_world(small_data: Dataset) -> World:
    """Six unequal clients and a small MLP."""
    who = dirichlet(small_data.y_train, 6, 0.5, seed=1)
    make = build("mlp", small_data.shape, 10, hidden=(16,))
    return world(small_data, who, make)


@pytest.fixture(scope="session")
def small_local() -> Training:
    return Training(lr=0.05, epochs=2, batch_size=16, momentum=0.5)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder, an empty data folder, and small letters."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("FEDLAB_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    small = lambda **o: data.letters(n_train=300, n_test=100, **o)  # noqa: E731
    monkeypatch.setitem(data._BUILT_IN, "letters", small)
    return tmp_path
