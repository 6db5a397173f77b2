"""Every word of `claims --json` once more, by another program, from the stored lines.

Nothing of the ledger's own is used: files are read as JSON, and the interval is that of
SciPy's paired t test.
"""

import json
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

from fedlab_core import __main__
from tools.paths import ROOT

pytestmark = pytest.mark.slow  # every claim is judged


Stored = dict[str, dict[int, float | None]]


@pytest.fixture(scope="module")
def read() -> tuple[Stored, dict[str, set[int]]]:
    """By key and seed, the first value that was written; by key, what diverged."""
    found: Stored = defaultdict(dict)
    lost: dict[str, set[int]] = defaultdict(set)
    for path in sorted((ROOT / "results" / "ledger").glob("*.jsonl")):
        for text in path.read_text().splitlines():
            line = json.loads(text)
            found[line["key"]].setdefault(line["seed"], line["value"])
            if line["diverged"] is not None:
                lost[line["key"]].add(line["seed"])
    return found, lost


@pytest.fixture
def stored(read) -> Stored:
    return read[0]


@pytest.fixture
def said(capsys) -> list[dict]:
    ledger = str(ROOT / "results" / "ledger")
    assert __main__.main(["claims", "--json", "--ledger", ledger]) == 0
    return json.loads(capsys.readouterr().out)


def word_of(claim: dict, a: dict, b: dict, without: dict, lost: set[int]) -> str:
    """The word; of two forms of a method only where the method does something.

    None beside a training of which some seeds are lost.
    """
    word = word_of_two(claim, a, b)
    if lost & {int(k) for k in claim["a"]["values"].keys() & claim["b"]["values"]}:
        return "no verdict"
    if word != "as good as" or "without" not in claim:
        return word
    seeds = claim["b"]["values"].keys() & claim["without"]["values"].keys()
    x = [b[int(k)] - without[int(k)] for k in seeds]
    if len(x) < 3 or np.ptp(x) < 1e-9:
        return word if len(x) > 2 and abs(x[0]) > 1e-9 else "undecided"
    low, high = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    return word if low > 1e-9 or high < -1e-9 else "undecided"


def word_of_two(claim: dict, a: dict, b: dict) -> str:
    """The word, by a paired t test of the seeds that count."""
    fixed = {int(k) for k in claim["a"]["values"]} & {
        int(k) for k in claim["b"]["values"]
    }
    pairs = [(a[k], b[k]) for k in fixed if None not in (a[k], b[k])]
    if not fixed:
        return "not run"
    if len(pairs) < 3:
        return "undecided"
    x, y = np.array(pairs, float).T
    if np.ptp(x - y) < 1e-9:
        low = high = mean = float((x - y).mean())
    else:
        low, high = stats.ttest_rel(x, y).confidence_interval(0.95)
        mean = (low + high) / 2
    limit, sign = claim["tolerance"], claim["sign"]
    if sign == 0:
        if max(-low, high) <= limit + 1e-9:
            return "as good as"
        apart = low > limit + 1e-9 or high < -limit - 1e-9
        return "opposite" if apart else "undecided"
    if sign < 0:
        low, high, mean = -high, -low, -mean
    if low > 1e-9:
        gain = claim["paper_gain"]
        near = gain is not None and abs(mean - sign * gain) <= limit + 1e-9
        known = (high - low) / 2 <= 2 * limit + 1e-9
        full = claim["scale"] == "paper" and near and known
        return "matches the paper" if full else "same direction"
    if high < -1e-9:
        return "opposite"
    if claim["scale"] != "paper" or claim["paper_gain"] is None or high - low < 1e-9:
        return "undecided"
    gain = sign * claim["paper_gain"]
    return "differs" if not low - limit <= gain <= high + limit else "undecided"


def test_every_word_is_derived_again_from_the_stored_seeds(read, said):
    stored, lost = read
    words = set()
    for claim in said:
        keys = [claim.get(side, {}).get("key") for side in ("a", "b", "without")]
        a, b, without = (stored.get(key, {}) for key in keys)
        word = word_of(claim, a, b, without, lost[keys[1]])
        assert claim["verdict"] == word, claim["id"]
        words.add(claim["verdict"])
    assert len(words) >= 7  # the ledger has an example of most


def test_the_values_are_the_stored_ones_and_the_seeds_the_rule_s(stored, said):
    for claim in said:
        for side in "ab":
            here, all_ = claim[side], stored.get(claim[side]["key"], {})
            values = {int(k): v for k, v in here["values"].items()}
            assert all(all_[k] == v for k, v in values.items())
            if claim["paper"] == "gaps" or claim["scale"] not in ("small", "paper"):
                continue
            counting = [k for k in all_ if k < 8 or claim["scale"] == "paper"]
            assert sorted(values) == sorted(counting), claim["id"]
