"""Models on the disk and in networks, the best of a run, clients' own, going on."""

import json
import math
import subprocess
import sys

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

import fedlab_core as fl
from fedlab_core.rounds import extensions
from tests.methods.plainly import LOCAL

MAKE = fl.build("mlp", (1, 14, 14), 10, hidden=(16,))


@pytest.fixture(scope="module")
def histories(small_world):
    methods = [fl.fedavg(LOCAL), fl.ifca(LOCAL, k=2)]
    return fl.run_all([fl.Run(small_world, m, 2) for m in methods])


def same(a, b) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[n], b[n]) for n in a)


def test_a_model_is_loaded_into_the_plain_network(histories):
    net = MAKE()
    net.load_state_dict(histories[0].model())
    assert same(net.state_dict(), {n: v[0] for n, v in histories[0].states.items()})


def test_of_several_groups_one_is_chosen(histories):
    both, states = histories[1], histories[1].states
    assert same(both.model(1), {n: v[1] for n, v in states.items()})
    mine = both.group_of[3]
    assert same(both.model(client=3), {n: v[mine] for n, v in states.items()})
    for call, words in (
        (lambda: both.model(), "2 groups: say model"),
        (lambda: both.model(2), "2 groups"),
        (lambda: both.model(client=6), "client must be 0 to 5, not 6"),
        (lambda: fl.History("x", 0).model(), "0 groups"),
    ):
        with pytest.raises(fl.InputError, match=words):
            call()


def test_a_file_gives_the_same_network_with_and_without_us(
    histories, small_data, tmp_path
):
    path = fl.save_model(histories[0], tmp_path / "m.safetensors")
    net = fl.load_model(path, MAKE)
    assert not net.training and same(net.state_dict(), histories[0].model())
    assert same(load_file(path), histories[0].model())
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["fedlab"])
    assert about == {"method": "FedAvg", "seed": 0, "rounds": 2}
    fl.save_model(histories[0], path, small_data)
    with safe_open(path, "pt") as file:
        about |= {"mean": [*small_data.mean], "std": [*small_data.std]}
        assert json.loads(file.metadata()["fedlab"]) == about
    fl.save_model(histories[1].model(0), path)  # a state alone, in its place
    assert same(load_file(path), histories[1].model(0))


def test_what_cannot_be_kept_or_read_is_one_line(histories, tmp_path):
    (tmp_path / "text").write_text("hello")
    other = fl.build("mlp", (1, 14, 14), 10, hidden=(8,))
    path = fl.save_model(histories[0], tmp_path / "m")
    for call, words in (
        (lambda: fl.save_model(histories[1], path), "2 groups"),
        (lambda: fl.save_model({}, path), "no tensor"),
        (lambda: fl.save_model(histories[0], tmp_path / "no" / "m"), "cannot be"),
        (lambda: fl.load_model(tmp_path / "text", MAKE), "cannot be read"),
        (lambda: fl.load_model(tmp_path / "none", MAKE), "cannot be read"),
        (lambda: fl.load_model(path, other), "must have"),
    ):
        with pytest.raises(fl.InputError, match=words) as refused:
            call()
        assert "\n" not in str(refused.value)


def test_the_best_round_is_kept_and_the_history_agrees(small_world):
    best = fl.Best()
    with pytest.raises(fl.InputError, match="no round was judged"):
        _ = best.round
    run = {"rounds": 4, "observe": best, "judge_every": 2}
    h = fl.federate(small_world, fl.fedavg(LOCAL), **run)
    judged = {r["round"]: r["accuracy"] for r in h.rows if "accuracy" in r}
    assert best.accuracy == h.accuracy("best") == judged[best.round]
    again = fl.federate(small_world, fl.fedavg(LOCAL), rounds=best.round)
    assert same(best.model(), again.model())


def test_a_personal_methods_own_models_are_those_that_were_judged(small_data):
    made = fl.scenario(small_data, "dirichlet", clients=4, alpha=1.0, own_test=0.3)
    w, own = fl.world_of(made, MAKE), fl.OwnModels()
    h = fl.federate(w, fl.ditto(LOCAL), rounds=2, observe=own)
    assert h.clients is not None and w.tests is not None
    for k, places in enumerate(w.tests):
        net = MAKE()
        net.load_state_dict(own.model(k))
        net.eval()
        with torch.no_grad():
            right = net(w.x_test[places]).argmax(1) == w.y_test[places]
        assert float(right.float().mean()) == pytest.approx(float(h.clients[k]))
    assert not same(own.model(0), h.model())
    with pytest.raises(fl.InputError, match="client must be 0 to 3, not 4"):
        own.model(4)


def test_without_models_of_their_own_it_is_the_groups(small_world, histories):
    own = fl.OwnModels()
    with pytest.raises(fl.InputError, match="no round was judged"):
        own.model(0)
    fl.federate(small_world, fl.ifca(LOCAL, k=2), rounds=2, observe=own)
    for k in range(6):
        assert same(own.model(k), histories[1].model(client=k))


@pytest.mark.parametrize("make", [fl.scaffold, fl.ditto], ids=["scaffold", "ditto"])
@pytest.mark.filterwarnings("ignore:.*everybody's test set")
def test_a_path_is_enough_to_go_on_with_what_clients_remember(
    small_world, tmp_path, make
):
    """Two rounds and then four are the four rounds of one run, to the bit."""
    path = tmp_path / "run"
    fl.federate(small_world, make(LOCAL), rounds=2, checkpoint=path)
    best = fl.Best()
    went_on = fl.federate(
        small_world, make(LOCAL), rounds=4, checkpoint=str(path), observe=best
    )
    whole = fl.federate(small_world, make(LOCAL), rounds=4)
    assert went_on.rows == whole.rows and same(went_on.states, whole.states)
    over = fl.federate(small_world, make(LOCAL), rounds=4, checkpoint=path)
    assert over.rows == whole.rows


def test_a_path_of_something_else_is_refused_and_stays(small_world, tmp_path):
    path = tmp_path / "run"
    fl.federate(small_world, fl.fedavg(LOCAL), rounds=2, checkpoint=path)
    before = path.read_bytes()
    for method, rounds, words in (
        (fl.feddisco(LOCAL), 2, "it is about other runs; remove it"),
        (fl.fedavg(LOCAL), 1, "it is at round 2 of 1"),
    ):
        with pytest.raises(fl.InputError, match=words):
            fl.federate(small_world, method, rounds=rounds, checkpoint=path)
    assert path.read_bytes() == before


def test_a_history_is_printed_in_five_lines(histories):
    for h in (*histories, fl.History("mine", 3)):
        assert len(repr(h).splitlines()) == len(str(h).splitlines()) == 5
    lines = repr(histories[1]).splitlines()
    assert lines[0] == "IFCA, seed 0: 2 rounds"
    assert f"last {histories[1].accuracy():.4f}" in lines[1]
    # 196 pixels to 16, to 10 letters: 197 * 16 + 17 * 10
    assert lines[3].startswith("models: 2 of 3,322 numbers, for 6 clients")
    assert all(name in lines[4] for name in histories[1].rows[-1])
    lost = fl.History("x", 0, [{"accuracy": 0.5}], diverged_at=1)
    assert "diverged in round 1" in repr(lost) and "nan" in repr(lost)


def test_names_beside_the_core_are_those_of_the_packages(monkeypatch):
    import fedlab_use

    for name in fl.BESIDE:
        assert getattr(fl, name) is getattr(fedlab_use, name)
    assert extensions.installed() is extensions.installed(), "looked for once"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fl.nothing
    monkeypatch.setattr(extensions, "installed", tuple)
    with pytest.raises(fl.InputError, match="nothing is installed that has it"):
        _ = fl.save_model


@pytest.mark.slow
def test_a_picture_shows_every_method_and_says_so(histories, tmp_path):
    picture = histories[0].plot(histories[1], column="loss")
    assert "FedAvg" in picture.alt and "IFCA" in picture.alt
    said = picture._repr_html_()
    assert said.count("<svg") == 1 and "Curves of loss by round" in said
    for kind in ("svg", "png", "pdf"):
        path = histories[0].plot().save(tmp_path / f"p.{kind}")
        assert path.stat().st_size > 1000
    for call, words in (
        (lambda: histories[0].plot(column="speed"), "no column 'speed', but round"),
        (lambda: histories[0].plot().save("p.gif"), "saved as .svg, .png or .pdf"),
        (lambda: histories[0].plot(1), "histories must be"),  # type: ignore
    ):
        with pytest.raises(fl.InputError, match=words):
            call()


ALONE = """
import sys
sys.modules["IPython"] = None
import matplotlib
matplotlib.use("Agg")
import fedlab_core as fl
from matplotlib.figure import Figure
rows = [{"round": t, "accuracy": t / 4} for t in (1, 2, 3)]
picture = fl.History("FedAvg", 0, rows).plot()
assert isinstance(picture.figure, Figure) and "FedAvg 0.75" in picture.alt
picture.save(sys.argv[1])
"""


@pytest.mark.slow
def test_a_picture_needs_matplotlib_and_no_notebook(tmp_path):
    """In a process in which IPython cannot be imported."""
    to = tmp_path / "p.png"
    said = [sys.executable, "-c", ALONE, str(to)]
    done = subprocess.run(said, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert to.read_bytes().startswith(b"\x89PNG")


def test_a_picture_has_the_clients_where_they_have_tests(small_data):
    made = fl.scenario(small_data, "dirichlet", clients=4, alpha=1.0, own_test=0.3)
    h = fl.federate(fl.world_of(made, MAKE), fl.fedavg(LOCAL), rounds=2)
    picture = h.plot()
    assert len(picture.figure.axes) == 2 and "own tests" in picture.alt
    heights = [bar.get_height() for bar in picture.figure.axes[1].patches]
    assert h.clients is not None and heights == sorted(h.clients.tolist())
    assert math.isfinite(sum(heights))
