"""Every cell runs at the tiny scale: all runs of a paper, each once."""

import pytest

from fedlab_ledger import Store, jobs, play_all
from fedlab_ledger.model.lines import Found
from fedlab_ledger.papers import PAPERS

HAVE = {p.id: [c for t in p.tables for c in t.cells] for p in PAPERS.values()}


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_every_cell_runs_at_the_tiny_scale(tmp_path, paper):
    cells = [c for c in HAVE[paper] if "tiny" in c.settings]
    store = Store(tmp_path)
    for job, lines in play_all(jobs(cells, "tiny", (0,), Found()), store):
        assert isinstance(lines, list), f"{job.cells[0].name}: {lines}"
    found = store.read()
    assert not found.notes
    for cell in cells:
        line = found.of(cell.key("tiny"))[0]
        assert line["diverged"] is None
        # within two rounds a target, or a round, may not be reached
        reached = cell.metric.startswith(("to-", "at-")) or line["value"] is not None
        assert reached, cell.name
