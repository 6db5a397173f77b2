"""The load of others beside a benchmark: seen, written into lines, told once."""

import json
import time
from pathlib import Path

import pytest

from benchmarks import __main__ as cli
from benchmarks import load, scaling
from benchmarks.load import Reading, Watch
from tests.test_benchmarks import TINY

BOOK = Path(__file__).parents[1] / "results"


def planted(*readings: tuple[float, float, float | None], **how) -> Watch:
    """A watch on two cores that reads these: on the clock, own, everyone's."""
    left = iter(readings)
    reading = lambda: Reading(*next(left), cores=2)  # noqa: E731
    watch = Watch(reading=reading, average=how.pop("average", 0.0), **how)
    for _ in range(len(readings) // 2):
        with watch.watching():
            pass
    return watch


@pytest.mark.parametrize(
    "readings, share",
    [
        ([(0, 0, 5), (10, 20, 25)], 0.0),  # both cores are ours
        ([(0, 0, 5), (10, 10, 15)], 0.0),  # one thread, and nobody else
        ([(0, 0, 5), (10, 10, 25)], 0.5),  # the other core is somebody's
        ([(0, 0, 5), (10, 12, 25)], 0.4),
        ([(0, 0, 5), (10, 4, 9)], 0.6),  # nobody to be seen, and yet we waited
        ([(0, 0, 0), (1, 1, 1), (50, 1, 99), (51, 2, 101)], 0.25),  # a turn of two
        ([(0, 0, 5), (10, 10, 14)], 0.0),  # the grain of a clock
    ],
)
def test_others_are_who_had_the_cores_that_we_had_not(readings, share):
    assert planted(*readings).share == share


def test_who_does_nothing_has_not_waited():
    assert planted((0, 0, 0), (10, 0, 3), computes=False).share == 0.15
    assert Watch().share == 0.0  # nothing was watched


@pytest.mark.parametrize("average, share", [(1.0, 0.5), (0.0, 0.0), (7.0, 1.0)])
def test_without_proc_stat_the_load_average_says_it(average, share):
    assert planted((0, 0, None), (10, 10, None), average=average).share == share
    assert planted((0, 0, None), (10, 1, None), average=0.0).share == 0.9


def test_the_counters_are_read_as_the_kernel_writes_them(tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 1 20 9000 400 3 4 70 50 5\ncpu0 1\ncpu1 1\nintr 5\n")
    monkeypatch.setattr(load, "_STAT", stat)
    monkeypatch.setattr(load.os, "sysconf", lambda name: 100)
    now = load.read()
    assert (now.everyone, now.cores) == (1.98, 2)  # with what a neighbour stole
    for text in ("", "cpu", "cpu what"):
        stat.write_text(text)
        assert load.read().everyone in (None, 0.0)
    monkeypatch.setattr(load, "_STAT", tmp_path / "none")
    assert load.read().everyone is None and load.read().cores >= 1


def test_where_nobody_counts_the_load_it_is_none(monkeypatch):
    monkeypatch.delattr(load.os, "getloadavg", raising=False)
    assert load.load_average() == 0.0


def test_a_way_is_watched_while_it_is_timed():
    def way() -> float:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        return 7.0

    watch = Watch()
    assert watch.over(way)() == 7.0 and watch.own >= 0.05 and watch.wall >= watch.own


@pytest.fixture
def reads(monkeypatch):
    """Counters that stand in for the machine's: others have so much of its cores."""

    def use(others: float) -> None:
        def reading() -> Reading:
            now = time.perf_counter()
            return Reading(now, now, now * (1 + 2 * others), 2)

        monkeypatch.setattr(cli, "Watch", lambda computes: Watch(computes, reading))
        monkeypatch.setattr(scaling, "share_now", lambda: others)
        monkeypatch.setattr(cli, "CASES", (TINY, TINY))
        monkeypatch.setattr(cli, "GROWTH", [("clients", 3, TINY)] * 2)
        for name in ("ours", "plain_loop"):
            monkeypatch.setattr(
                cli, name, lambda *how: lambda: time.sleep(0.001) or 9.0
            )

    return use


@pytest.mark.parametrize("more", [[], ["--grow"]])
@pytest.mark.parametrize("others", [0.05, 0.48])
def test_a_busy_machine_is_in_every_line_and_told_once(reads, capsys, others, more):
    reads(others)
    cli.main(["--json", "--quick", *more])
    out, err = capsys.readouterr()
    assert [json.loads(v)["others"] for v in out.splitlines()] == [others] * 2
    told = "warning: others use 48% of this machine's cores: neither rates nor ratios "
    told += "hold, measure again when it is idle\n"
    assert err == (told if others > load.TOO_BUSY else "")


@pytest.mark.parametrize("others", [0.05, 0.48])
def test_scaling_sees_it_too(reads, capsys, monkeypatch, others):
    reads(others)
    took = {"seconds": 1.0, "busy": 1.0}
    monkeypatch.setattr(scaling, "timed", lambda waiting, workers: took)
    scaling.main(["--json", "--jobs", "1", "--rounds", "1"])
    out, err = capsys.readouterr()
    assert [json.loads(v)["others"] for v in out.splitlines()] == [others] * 3
    assert err.count("warning: others use 48%") == (others > load.TOO_BUSY)


def test_what_was_measured_before_is_still_read():
    """Older lines have no `others`; where it is there, it is a share."""
    for name in ("speed.jsonl", "scaling.jsonl"):
        for text in (BOOK / name).read_text().splitlines():
            assert 0 <= json.loads(text).get("others", 0) <= 1
