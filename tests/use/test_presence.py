"""Rules of who takes part: what they draw, that the seed fixes it, and what it does."""

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import fedlab_core as fl
from fedlab_core import METHODS
from fedlab_core.rounds.checkpoint import fingerprint
from fedlab_core.rounds.records import draw_participants
from tests.methods.plainly import LOCAL, SEED, agree, played, setting
from tests.methods.test_all import BRIEF
from tests.methods.test_baselines import CASES

SIZES = [10, 20, 0, 30, 40]
RULES = [
    fl.DrawBySize(3),
    fl.DrawByChance(2, (1, 0, 1, 1, 2, 1)),
    fl.UpAndDown(0.4, 0.4),
    fl.UpAndDown(0.4, 0.4, most=2),
    fl.DropOut(0.4),
    fl.DropOut(0.4, of=3),
    fl.DropOut(0.4, of=fl.DrawBySize(3)),
]
NAMES = [type(rule).__name__ for rule in RULES]


@dataclass(frozen=True)
class Evenly:
    """An even draw, as a rule."""

    clients: int

    def __call__(self, number: int, sizes: list[int], seed: int) -> list[int]:
        return draw_participants(len(sizes), self.clients, seed, number - 1)[::-1]

    def fits(self, sizes: list[int]) -> int:
        return self.clients


@dataclass(frozen=True)
class Listed:
    """These clients, a list a round."""

    rounds: tuple[tuple[int, ...], ...]

    def __call__(self, number: int, sizes: list[int], seed: int) -> tuple[int, ...]:
        return self.rounds[number - 1]


@pytest.fixture(scope="module")
def furnished(small_data) -> fl.World:
    """Six clients, and a server with three images a class."""
    who = fl.dirichlet(small_data.y_train, 6, 0.5, seed=1)
    make = fl.build("mlp", small_data.shape, 10, hidden=(8,))
    return fl.world(small_data, who, make, proxy=fl.Proxy(3))


def ids_of(world, method, rounds: int, **run) -> list[list[int]]:
    seen: list[list[int]] = []
    watch = lambda now: seen.append(now.ids) or {}  # noqa: E731
    fl.federate(world, method, rounds, SEED, observe=watch, **run)
    return seen


def shares(rule, rounds: int = 1500, sizes=SIZES) -> list[float]:
    """How often each client comes, of so many rounds."""
    found = Counter(k for n in range(rounds) for k in rule(n + 1, sizes, SEED))
    return [found[k] / rounds for k in range(len(sizes))]


# -- what they draw ------------------------------------------------------------------


def test_one_by_size_comes_in_proportion_to_its_samples():
    """Of one draw the chance is n_k / n: 10, 20, 0, 30 and 40 of a hundred."""
    assert shares(fl.DrawBySize(1)) == pytest.approx([0.1, 0.2, 0, 0.3, 0.4], abs=0.04)


def test_two_by_size_are_drawn_one_after_the_other():
    """By hand: P(k) = p_k + sum_j p_j p_k / (1 - p_j); for k = 0 of 10 of a hundred,
    .1 + .2 * .1 / .8 + .3 * .1 / .7 + .4 * .1 / .6 = .2345."""
    assert shares(fl.DrawBySize(2))[0] == pytest.approx(0.2345, abs=0.04)
    assert all(len(fl.DrawBySize(2)(n, SIZES, 0)) == 2 for n in range(1, 30))


def test_by_chance_the_sizes_do_not_matter_and_nought_is_never():
    found = shares(fl.DrawByChance(1, (3, 0, 5, 1, 0)))
    assert found == pytest.approx([0.75, 0, 0, 0.25, 0], abs=0.04)


def test_up_and_down_is_the_two_state_process():
    """Up a share r / (r + f) of all rounds; down again after a round up by f = .2."""
    rule, sizes = fl.UpAndDown(0.2, 0.3), [1] * 40
    up = np.array([[k in rule(n, sizes, 5) for k in range(40)] for n in range(1, 60)])
    assert up.mean() == pytest.approx(0.6, abs=0.05)
    assert up[0].mean() == pytest.approx(0.6, abs=0.2)
    before, after = up[:-1], up[1:]
    assert 1 - after[before].mean() == pytest.approx(0.2, abs=0.04)
    assert after[~before].mean() == pytest.approx(0.3, abs=0.04)


def test_of_those_that_are_up_so_many_are_drawn():
    free, few = fl.UpAndDown(0.3, 0.3), fl.UpAndDown(0.3, 0.3, most=2)
    for n in range(1, 60):
        up, drawn = free(n, SIZES, 1), few(n, SIZES, 1)
        assert set(drawn) <= set(up) and len(drawn) == min(2, len(up))
        assert 2 not in up, "it has no sample"


def test_one_in_four_of_those_that_begin_drops_out():
    assert shares(fl.DropOut(0.25)) == pytest.approx(
        [0.75, 0.75, 0, 0.75, 0.75], abs=0.03
    )
    for n in range(1, 40):
        begin = [[0, 1, 3, 4][k] for k in draw_participants(4, 2, 9, n - 1)]
        assert fl.DropOut(0, of=2)(n, SIZES, 9) == begin
        assert set(fl.DropOut(0.5, of=2)(n, SIZES, 9)) <= set(begin)
        inner = fl.DrawBySize(3)
        assert fl.DropOut(0, of=inner)(n, SIZES, 9) == inner(n, SIZES, 9)
        assert fl.DropOut(1, of=inner)(n, SIZES, 9) == []


# -- the seed fixes them -------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_every_method_meets_the_same_clients_and_another_seed_others(small_world, rule):
    first = ids_of(small_world, fl.fedavg(LOCAL), 4, participants=rule)
    assert first == ids_of(small_world, fl.scaffold(LOCAL), 4, participants=rule)
    sizes = small_world.partition.sizes.tolist()
    others = [[sorted(rule(n, sizes, s)) for n in range(1, 9)] for s in (SEED, 8)]
    assert others[0][:4] == first and others[0] != others[1]


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_a_run_goes_on_with_the_clients_that_it_would_have_met(
    small_world, rule, tmp_path
):
    path, method = tmp_path / "run.safetensors", fl.scaffold(LOCAL)
    whole = fl.federate(small_world, method, 4, SEED, participants=rule)
    for rounds in (2, 4):
        got = fl.federate(
            small_world, method, rounds, SEED, participants=rule, checkpoint=path
        )
    assert str(got.rows) == str(whole.rows)
    assert all(torch.equal(got.states[n], v) for n, v in whole.states.items())


def test_a_checkpoint_knows_the_rule(small_world):
    def told(participants) -> str:
        run = fl.Run(small_world, fl.fedavg(LOCAL), 3, participants=participants)
        return fingerprint(run)

    rules = [None, 3, *RULES, Evenly(3)]
    assert len({told(rule) for rule in rules}) == len(rules)
    assert told(fl.DropOut(0.4, of=3)) == told(fl.DropOut(0.4, of=3))


@pytest.mark.slow
def test_another_process_tells_a_rule_by_the_same_hash():
    code = "import fedlab_core as fl; from fedlab_core.rounds.identity import digest\n"
    code += "print(digest([fl.DropOut(0.4, of=fl.DrawBySize(3)), fl.UpAndDown(.1, 1)]))"
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        for _ in range(2)
    ]
    assert said[0].stdout == said[1].stdout != "", said[0].stderr


# -- what servers make of them -------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_a_rule_that_gives_an_even_draw_is_one_to_the_bit(furnished, name):
    method = METHODS[name](LOCAL, **BRIEF.get(name, {}))
    by_number, by_rule = (
        fl.federate(furnished, method, 2, SEED, participants=who, engine="looped")
        for who in (3, Evenly(3))
    )
    assert by_rule.rows == by_number.rows and by_rule.group_of == by_number.group_of
    assert all(torch.equal(by_rule.states[n], v) for n, v in by_number.states.items())


GONE = ((0, 3), (1,), (2, 4, 5), (0, 1, 5))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["looped", "stacked"])
@pytest.mark.parametrize("name", CASES)
def test_servers_count_those_that_are_missing(small_world, name, engine):
    """One, two or three of six, some for the first time late: as the plain versions."""
    case = CASES[name]
    s = setting(small_world, case.local, None, rounds=4)
    s.participants = [list(ids) for ids in GONE]
    want = case.plain(s)
    ours = played(small_world, case.ours(case.local), Listed(GONE), engine, 4)
    agree(ours, want, 3e-5)
    if name.startswith("scaffold"):
        for r, other in zip(ours, want, strict=True):
            for n, v in other.server["c"].items():
                c = r.servers[0].broadcast[f"c.{n}"]
                torch.testing.assert_close(c, v, rtol=1e-4, atol=1e-5)


# -- a round of nobody ---------------------------------------------------------------

EMPTY = Listed(((0, 1, 2, 3, 4, 5), (), (0, 4)))


@pytest.mark.parametrize(
    "name", ["fedavg", "scaffold", "feddyn", "fedavgm", "ifca", "cfl", "ditto", "local"]
)
def test_a_round_of_nobody_changes_nothing_and_is_written_down(furnished, name):
    seen: list[fl.Round] = []
    method = METHODS[name](LOCAL, **BRIEF.get(name, {}))
    h = fl.federate(
        furnished,
        method,
        3,
        participants=EMPTY,
        observe=lambda now: seen.append(now) or {},
    )
    first, none, last = seen
    assert [row["participants"] for row in h.rows] == [6, 0, 2]
    assert none.ids == [] and none.servers == first.servers
    assert none.group_of == first.group_of and h.rows[1]["steps"] == 0
    for what in ("accuracy", "loss", "bytes"):
        assert h.rows[1][what] == h.rows[0][what]
    assert np.isnan(h.rows[1]["train_loss"]) and not h.diverged
    assert any(not torch.equal(v, none.after[n]) for n, v in last.after.items())


def test_nobody_at_all_leaves_the_first_model(small_world, tmp_path):
    path = tmp_path / "run.safetensors"
    each = fl.EachClient()
    how = {"participants": lambda *_: [], "observe": each, "checkpoint": path}
    for rounds in (2, 3):
        h = fl.federate(small_world, fl.fedavg(LOCAL), rounds, **how)
    assert [row["participants"] for row in h.rows] == [0, 0, 0]
    assert len(each.frame) == 0 and len(repr(h).splitlines()) == 5


# -- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    "said, words",
    [
        ([6], r"not \[6\]"),
        ([-1], r"not \[-1\]"),
        ([1, 1], r"not \[1, 1\]"),
        ([0.0], r"not \[0.0\]"),
        ([True], r"not \[True\]"),
        (None, "not None"),
        ("01", "not '01'"),
        (torch.arange(2), r"not a tensor of shape \(2,\)"),
        (np.eye(2), "not "),
    ],
)
def test_what_a_rule_may_not_give(small_world, said, words):
    rule = lambda number, sizes, seed: said if number == 2 else [0]  # noqa: E731
    text = "participants must give a list of clients from 0 to 5 with samples, none "
    with pytest.raises(fl.InputError, match=f"^{text}twice, {words}.*round 2"):
        fl.federate(small_world, fl.fedavg(LOCAL), 3, participants=rule)


def test_a_client_without_a_sample_is_refused(small_data):
    held = (np.arange(20), np.zeros(0, np.int64), np.arange(20, 60))
    make = fl.build("mlp", small_data.shape, 10, hidden=(4,))
    w = fl.world(small_data, fl.Partition("by hand", {}, held), make)
    with pytest.raises(fl.InputError, match=r"with samples, .* not \[0, 1\] .round 1"):
        fl.federate(w, fl.fedavg(LOCAL), 1, participants=lambda *_: range(2))
    for rule in (fl.DropOut(0), fl.UpAndDown(0, 1), fl.DrawBySize(2)):
        assert ids_of(w, fl.fedavg(LOCAL), 1, participants=rule) == [[0, 2]]


def test_a_rule_that_draws_from_elsewhere_is_refused(small_world):
    rng = np.random.default_rng(0)
    rule = lambda *_: rng.permutation(6)[:3]  # noqa: E731
    with pytest.raises(fl.InputError, match="other clients when asked again .round 1"):
        fl.federate(small_world, fl.fedavg(LOCAL), 1, participants=rule)


@pytest.mark.parametrize(
    "rule, words",
    [
        (fl.DrawBySize(7), "DrawBySize: clients must be 1 to 6, not 7"),
        (fl.DrawByChance(1, (1,)), "chances must be 6, one a client, not 1"),
        (fl.DrawByChance(2, (1, 0, 0, 0, 0, 0)), "clients must be 1 to 1, not 2"),
        (fl.DrawByChance(2, (1e38, 1e-300, 0, 0, 0, 0)), "must be 1 to 1, not 2"),
        (fl.DrawByChance(2, (0, 0, 0, 0, 0, 0)), "clients must be 1 to 0, not 2"),
        (fl.DropOut(0.1, of=7), "DropOut: of must be 1 to 6, not 7"),
        (fl.DropOut(0.1, of=fl.DrawBySize(7)), "DrawBySize: clients must be 1 to 6"),
    ],
)
def test_a_rule_that_cannot_fit_is_refused_when_the_run_is_made(
    small_world, rule, words
):
    with pytest.raises(fl.InputError, match=words):
        fl.Run(small_world, fl.fedavg(LOCAL), 1, participants=rule)


def test_numbers_that_are_no_chances_are_refused():
    with pytest.raises(fl.InputError, match="rises must be a number above 0 and at mo"):
        fl.UpAndDown(0.1, 0)
    with pytest.raises(fl.InputError, match="falls must be a number from 0 to 1"):
        fl.UpAndDown(1.1, 1)
    with pytest.raises(fl.InputError, match="chance must be a number from 0 to 1"):
        fl.DropOut(2)
    with pytest.raises(fl.InputError, match="chances must be"):
        fl.DrawByChance(1, (-1.0, 1.0))


def test_groups_that_need_some_clients_are_refused_where_fewer_may_come(small_world):
    """FeSEM begins with k centres of the first round's clients."""
    fesem = fl.fesem(LOCAL, k=2)
    fl.Run(small_world, fesem, 1, participants=fl.DrawBySize(2))
    for rule in (
        fl.UpAndDown(0.1, 1),
        fl.DropOut(0.1),
        fl.DrawBySize(1),
        lambda *_: [],
    ):
        with pytest.raises(fl.InputError, match="2 clusters need 2 clients or more"):
            fl.Run(small_world, fesem, 1, participants=rule)
    fl.Run(small_world, fesem, 1, participants=fl.DropOut(0))
    with pytest.raises(fl.InputError, match="2 clusters need 2 clients"):
        fl.Run(small_world, fesem, 1, participants=fl.DropOut(0, of=1))
