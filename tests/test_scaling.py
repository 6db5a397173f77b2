"""The measure of scaling: the same jobs every way, one line each."""

import json
from dataclasses import replace

import pytest

from benchmarks import scaling
from fedlab_ledger.run import player


@pytest.mark.slow
def test_every_way_plays_the_same_jobs_and_says_how_long(monkeypatch, capsys):
    asked = []

    def spread(waiting, store, crew):
        asked.append((crew.workers, [job.name for job in waiting]))
        return player.play_all(waiting, store)

    monkeypatch.setattr(scaling.cluster, "play_all", spread)
    monkeypatch.setattr(scaling, "share_now", lambda: 0.0)
    brief = {"hidden": [8]}, {"lr": 0.1, "batch_size": 64}
    setting = replace(scaling.SETTING, network=brief[0], local=brief[1])
    monkeypatch.setattr(scaling, "SETTING", setting)
    scaling.main(["--json", "--jobs", "2", "--rounds", "1"])
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    ways = [(v["engine"], v["workers"]) for v in lines]
    assert ways == [("local", 1), ("ray", 1), ("ray", 2)]
    assert [n for n, _ in asked] == [1, 2] and asked[0][1] == asked[1][1]
    assert len(set(asked[0][1])) == 2
    for line in lines:
        assert 0 < line["busy"] <= line["seconds"] and line["jobs"] == 2
        assert {"machine", "threads", "torch", "commit", "cpus", "others"} <= set(line)


def test_jobs_are_of_one_size_on_data_of_their_own():
    one, other = (job.settings[0] for job in scaling.alike(2, 7))
    assert (one.rounds, one.local, one.network) == (7, other.local, other.network)
    assert one.data != other.data
