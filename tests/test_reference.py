"""The reference and the gallery say of everything public what is so, and each once."""

import inspect
import re
from types import SimpleNamespace

import pytest
import yaml

import fedlab_core as fl
from fedlab_book import advice
from fedlab_core.arguments import kind_of
from fedlab_core.errors import InputError
from fedlab_core.methods import METHODS
from tests.once import each
from tests.test_surface import SURFACE
from tools import examples, gallery, paths, reference, surface

PAGES = reference.pages()
TEXT = "\n".join(text for name, text in PAGES.items() if name != "api")
NAMES = surface.public()
every_name = each(NAMES, lambda name: name.full)


def test_whatever_is_public_is_found_once():
    found = [name.thing for name in NAMES]
    assert len({id(thing) for thing in found}) == len(found)
    for where, thing in SURFACE.items():
        assert any(thing is known for known in found), where
    assert len({name.full for name in NAMES}) == len(NAMES)


@every_name
def test_it_can_be_imported_by_the_name_it_is_given(name):
    for full in (name.full, *name.others):
        room, _, short = full.rpartition(".")
        assert getattr(__import__(room, fromlist=[short]), short) is name.thing


@pytest.mark.slow
@every_name
def test_it_stands_on_one_page_and_says_something(name):
    head = rf"^:+\{{py:{name.kind}\}} {re.escape(name.full)}(?=[(\n])"
    (at,) = re.finditer(head, TEXT, re.MULTILINE)
    text = reference.described(name)
    assert text.splitlines()[0] == TEXT[at.start() :].split("\n", 1)[0]
    _, said, *_ = text.split("\n")
    assert said.strip(" :.") and not said.startswith((":", "<"))
    assert f"`{name.full.rpartition('.')[2]} <{name.full}>`" in PAGES["api"]


@pytest.mark.slow
@each((n for n in NAMES if n.kind in ("class", "function")), lambda name: name.full)
def test_its_arguments_are_all_there_in_the_words_that_refuse(name):
    text, hints = reference.described(name), surface.hints(name.called)
    for argument, p in surface.arguments(name.called).items():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            continue
        (line,) = re.findall(rf"^:param {argument}: (.+)$", text, re.M)[:1]
        plain = re.sub(r"\{py:obj\}`(\w+) <[\w.]+>`", r"\1", line).replace("\\", "")
        said = kind_of(hints[argument]).words if argument in hints else "anything"
        assert plain.startswith(said)


def _asked():
    """Every call with arguments: its name, what says it, and what is called."""
    for name in NAMES:
        if name.kind in ("class", "function"):
            yield name.short, name.thing, name.called
        for kind, member, plain in (
            surface.members(name.thing) if name.kind == "class" else ()
        ):
            if kind != "property":
                yield f"{name.short}.{member}", plain, plain
    for entry in METHODS.values():
        if owner := surface.owner_of(entry.make):
            yield owner.__name__, owner, owner


@pytest.mark.slow
def test_every_argument_has_a_meaning_and_no_meaning_is_left_over():
    used, without, common = set(), [], surface.common()
    for where, thing, called in _asked():
        said = surface.meanings(thing, called, where)
        beside = surface.told(thing)[1] | surface.remarks(thing)
        for name, p in surface.arguments(called).items():
            if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
                continue
            without += [] if name in said else [f"{where}.{name}"]
            used.add(f"{where}.{name}")
            if f"{where}.{name}" not in common and name not in beside:
                used.add(name)
    assert without == []
    assert set(common) - used == set()


SHOWN = examples.examples()


def test_everything_has_an_example():
    assert set(SHOWN) == {n.short for n in NAMES if n.kind in ("class", "function")}
    assert "```python\nfl.iid(data.y_train" in reference.described(_of("iid"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs_and_gives_what_it_says(name, monkeypatch):
    monkeypatch.setenv("FEDLAB_PROGRESS", "0")
    gives = examples.run(name)
    assert examples.given(name) in ("", gives)


def test_the_words_are_those_of_the_error():
    (lr,) = re.findall(
        r":param lr: (a number.*?):", reference.described(_of("Training"))
    )
    with pytest.raises(InputError, match=f"lr must be {lr}, not 0"):
        fl.Training(lr=0)


def _of(short: str) -> surface.Name:
    (name,) = (name for name in NAMES if name.full == f"fedlab_core.{short}")
    return name


def test_a_remark_beside_a_field_goes_with_it():
    text = reference.described(_of("Training"))
    assert "or None: the largest norm of a step's gradient" in text


@pytest.mark.slow
def test_nothing_of_this_run_or_this_machine_is_on_a_page():
    for text in (*PAGES.values(), gallery.page()):
        assert not re.search(r"0x[0-9a-f]{6}|<function|object at|\.py:\d", text)
        assert str(paths.ROOT) not in text
    assert reference.pages() == PAGES


@each((n for n in NAMES if n.kind != "data"), lambda name: name.full)
def test_its_source_is_where_it_says(name):
    file, line = surface.source_of(name.thing)
    lines = (paths.ROOT / file).read_text().splitlines()[line - 1 :]
    named = inspect.unwrap(name.thing).__name__
    head = next(text for text in lines if not text.startswith(("@", " ", ")")))
    assert re.match(rf"(class|def) {named}\b", head)


@pytest.mark.slow
def test_links_are_made_of_public_names_and_of_nothing_else():
    full = {name.full for name in NAMES}
    linked = re.findall(r"\{py:obj\}`[^<`]*<([\w.]+)>`", TEXT + gallery.page())
    assert set(linked) <= full and len(linked) > 200
    assert reference.linked("`Disco`, not `nothing_of_ours`") == (
        "{py:obj}`Disco <fedlab_core.Disco>`, not `nothing_of_ours`"
    )
    assert reference.linked("if `spread`", {"spread"}) == "if `spread`"
    assert reference.linked("a < b, c * d") == r"a \< b, c \* d"
    assert reference.linked("Like\n\n    x = `y` * 2") == "Like\n\n    x = `y` * 2"


def test_every_page_is_in_the_table_of_contents():
    contents = yaml.safe_load((paths.ROOT / "book" / "_toc.yml").read_text())
    for name in (*PAGES, "methods"):
        assert f"'book/{name}'" in str(contents), name


# -- the gallery ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("key", METHODS)
def test_every_method_has_a_card(key):
    made, text = METHODS[key].make(), gallery.card(key)
    assert gallery.page().count(text) == 1
    assert f"### {made.name}\n" in text
    said = ("made by", "a client sends", "paper", "held against a plain version by")
    for field in said:
        assert re.search(rf"^:{field}: .+", text, re.M), field
    for choice in gallery.changed(made):
        assert re.search(rf"^:{gallery.CHOICES[choice]}: \*\*.+\*\*", text, re.M)
    assert (paths.ROOT / METHODS[key].proof).is_file()


@pytest.mark.slow
def test_a_card_names_a_chapter_once_and_then_the_pages_below_it():
    (pages,) = re.findall(r"^:in the book: (.+)", gallery.card("fedlaw"), re.M)
    said = re.findall(r"`([^`<]+) <", pages)
    four = [text for text in said if text.startswith("chapter 5")]
    assert four == ["chapter 5", "chapter 5, when clinics are wrong"]


@pytest.mark.parametrize("key", METHODS)
def test_the_options_on_a_card_are_taken(key):
    given = gallery.options(METHODS[key])
    typed = ", ".join(f"{name}={value}" for name, value in given.items())
    assert eval(f"make({typed})", {"make": METHODS[key].make}).name  # noqa: S307


def test_a_card_says_what_is_known_of_its_method():
    assert gallery.agreement(METHODS["feddisco"].make()).startswith("3e-15")
    assert gallery.agreement(METHODS["rfedavg"].make()) == ""
    assert "02_is_size_the_right_weight" in gallery.used("feddisco")
    assert "ledger_fedcollab" in gallery.used("ifca")
    assert gallery.used("fedadam") == []
    assert "proxy=fl.Proxy" in gallery.card("feddf") and gallery.needs("FedAvg") == []
    assert gallery.sent(fl.scaffold()) == "its model, `change`; it is sent `c` besides"
    assert gallery.sent(fl.feddisco()) == "its model, 1 number to be weighed by"
    assert gallery.sent(fl.local_only()) == "nothing: it trains alone"
    assert gallery.reference_of(gallery.citation(METHODS["fedlaw"])).endswith(
        "{cite}`li2023fedlaw`"
    )
    assert gallery.found_here("FedAvg") == []


def test_a_card_counts_where_its_method_is_ahead_and_behind(monkeypatch):
    """Ahead on the first field, behind on the second, the same on the others."""
    apart = dict(zip(advice.CLIENTS, (1.0, -1.0), strict=False))

    def lines(arm, who, goal):
        more = 0.0 if arm == advice.BASE else apart.get(who, 0.0)
        return {seed: {"value": 50 + more + seed / 100} for seed in range(4)}

    monkeypatch.setattr(gallery, "_fields", lambda: SimpleNamespace(lines=lines))
    (told,) = gallery.found_here("SCAFFOLD")
    assert told.count("gains on 1 of 6, loses on 1") == len(advice.GOALS) == 2
    assert "learn" not in surface.options_of(fl.gws)
    assert surface.options_of(fl.feddisco)["a"] == "0.5"
    assert gallery.changed(METHODS["scaffold"].make()) == ["rule", "weigh", "server"]


def test_no_default_is_shown_as_python_prints_it():
    assert TEXT.count("clock=time.monotonic") == 1 and "=<" not in TEXT
