"""A reader's own method in the playground: what the page calls it, and what it runs."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import fedlab_core as fl
from fedlab_browser.playground import export, own, page_file
from fedlab_browser.playground import state as can
from fedlab_browser.playground.own import MINE, chosen, playground
from fedlab_core.errors import InputError
from fedlab_core.rounds import extensions
from tests.playground.states import BySizeRoot, halved, one_by_one

TEN = [0] * 10


ROOT = fl.fedavg(weigh=BySizeRoot(), name="Root")
HALF = fl.fedavg(server=fl.Server("half way", halved), name="Half")
HEAVY = fl.fedavg(fl.Training(momentum=0.9, weight_decay=1e-3), name="Heavy")


@pytest.mark.parametrize(
    "state", one_by_one("rule", "weigh", "server", "personal"), ids=can.said
)
def test_what_the_page_has_is_called_as_it_is_there(state):
    found = chosen(can.method_of(state, TEN))
    assert MINE not in found.values()
    again = can.method_of({**can.USUAL, **found}, TEN)
    assert again == can.method_of(state, TEN)


def test_a_number_is_found_on_its_slider_and_another_is_ones_own():
    paged = fl.Training(batch_size=can.BATCH)
    found = chosen(fl.fedprox(paged, mu=0.3))
    assert (found["rule"], found["fedprox.mu"]) == ("fedprox", 0.3)
    assert chosen(fl.fedprox(paged, mu=0.2))["rule"] == MINE


@pytest.mark.parametrize(
    "method, mine", [(ROOT, ["weigh"]), (HALF, ["server"]), (HEAVY, ["rule"])]
)
def test_only_what_is_ones_own_is(method, mine):
    found = chosen(own._with(method, batch_size=can.BATCH))
    assert [row for row, at in found.items() if at == MINE] == mine


@pytest.mark.parametrize(
    "method, says",
    [
        (fl.fedavg(fl.Training(drop_last=True)), "does not train with drop_last=True"),
        (fl.fedavg(fl.Training(iterations=3)), "does not train with iterations=3"),
        (fl.ifca(), "cannot find its groups"),
        (
            fl.fedavg(groups=fl.Groups.fixed([[0, 1], [2, 3]])),
            "give it groups=fl.everyone",
        ),
        (fl.ditto(begin="group"), "own models begin as the run's first"),
        ("fedavg", "method"),
    ],
)
def test_what_cannot_be_played_is_refused_in_a_line(method, says):
    with pytest.raises(InputError, match=says):
        playground(method)


class Fickle:
    """Weights that are decided by a number."""

    name, scalars = "fickle", 0

    def __call__(self, members):
        return members.sizes.double() / (1 if members.sizes.sum() > 3 else 2)


@pytest.mark.slow
def test_a_choice_that_decides_by_a_number_is_named(files):
    with pytest.raises(InputError, match="Fickle cannot be played in a browser"):
        playground(fl.fedavg(weigh=Fickle(), name="Fickle"))


@cache
def little() -> dict[str, bytes]:
    """The files that the page asks for, without the minute that its rules take."""
    made = export.Rules()
    rules = {n: {} for n in ("rule", "weigh", "server", "personal")}
    rules["rule"]["fedavg"] = made.rule(fl.fedavg(export.PLAIN), {})
    return {
        "rules.json": export.text({**rules, "programs": made.programs}).encode(),
        "task.json": export.text(export.task()).encode(),
    }


@pytest.fixture
def files(monkeypatch) -> dict[str, bytes]:
    monkeypatch.setattr(own, "kept", lambda: dict(little()))
    return little()


@pytest.mark.slow
@pytest.mark.parametrize("method, row", [(ROOT, "weigh"), (HALF, "server")])
def test_its_programs_are_added_and_nothing_else_changes(files, method, row):
    page = playground(method)
    before, after = (json.loads(d["rules.json"]) for d in (files, page.data))
    known = len(before["programs"])
    assert after["programs"][:known] == before["programs"]
    assert len(after["programs"]) > known
    assert MINE in after[row] and after["rule"] == before["rule"]
    task = json.loads(page.data["task.json"])
    assert task["choices"][row][MINE] == getattr(method, row).name
    assert page.options["full"] and f"{row}={MINE}" in page.options["state"]


def test_what_does_not_go_with_it_is_said(files):
    """A server that needs what only SCAFFOLD's clients send."""
    same = {n: getattr(fl.scaffold().server, n) for n in ("sends", "needs")}
    method = replace(fl.scaffold(), server=fl.Server("needy", halved, **same))
    rule: can.State = {"rule": MINE}
    pairs = dict(own._refused(method, rule, "rule"))
    assert any("server=fednova" in pair for pair in pairs)
    assert all(text for text in pairs.values())


@pytest.mark.slow
def test_hostile_names_stay_names(files):
    method = replace(ROOT, name="</script><b>", weigh=BySizeRoot("</script><i>"))
    text = playground(method).html()
    assert "<b>" not in text and "<i>" not in text
    assert text.count("</script>") == 2


@pytest.mark.slow
def test_a_page_is_saved_whole_or_not_at_all(files, tmp_path):
    page = playground(ROOT)
    to = page.save(tmp_path / "root.html")
    assert to.read_text() == page.html()
    with pytest.raises(InputError, match="exists: use --force"):
        page.save(to)
    page.save(to, force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["root.html"]


@pytest.mark.slow
def test_a_notebook_shows_it_in_a_frame(files):
    markup = playground(ROOT)._repr_html_()
    assert markup.startswith("<iframe") and markup.count("<") == 2


@pytest.mark.slow
def test_the_core_finds_who_shows_it(files):
    assert fl.playground is extensions.playground
    assert isinstance(fl.playground(ROOT), page_file.Page)


def test_without_the_book_the_core_says_what_to_install(monkeypatch):
    monkeypatch.setattr(extensions, "installed", tuple)
    with pytest.raises(InputError, match=r"pip install '\.\[book\]'"):
        fl.playground(ROOT)


def test_another_script_of_the_page_traces_nothing_anew(monkeypatch):
    read = Path.read_bytes

    def outside(path: Path) -> bytes:
        assert export.PAGE not in path.parents
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", outside)
    assert page_file.fingerprint.__wrapped__() == page_file.fingerprint()


def test_what_is_exported_is_kept(tmp_path, monkeypatch):
    made = []

    def write(folder, say):
        folder.mkdir(exist_ok=True)
        for name in export.names():
            (folder / name).write_bytes(name.encode())
            say(name)
        made.append(folder)

    monkeypatch.setattr(export, "write", write)
    for _ in range(2):
        assert page_file.kept(tmp_path)["task.json"] == b"task.json"
    assert len(made) == 1 and page_file.fingerprint()[:16] in made[0].name
    (made[0] / "rules.json").unlink()  # interrupted, or tidied away
    assert page_file.kept(tmp_path)["rules.json"] == b"rules.json"
    assert made[0] == made[1]


@pytest.mark.slow
def test_a_velocity_is_an_input_of_the_step(files):
    """The page sets it to zero as a round begins."""
    rules = json.loads(playground(HEAVY).data["rules.json"])
    step = rules["programs"][rules["rule"][MINE]["step"]]
    assert [n for n in step["inputs"] if n.startswith("velocity.")]


def test_weights_that_do_not_sum_to_one_are_refused_as_in_a_run():
    class Many(fl.Equal):
        def __call__(self, members):
            return 4 * super().__call__(members)

    with pytest.raises(InputError, match="weigh=equal must give weights .* sum 1"):
        playground(replace(fl.fedavg(), weigh=Many()))
