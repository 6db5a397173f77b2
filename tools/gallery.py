"""Every method on a card: a page made from the registry, the modules and the results.

Nothing on it is typed here: the five choices are a method's own, an equation is the
docstring of what runs, options are the maker's, agreement is `results/agreement.csv`,
and where the book uses a method is read from the chapters and the ledger's tables.
"""

import csv
import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import nbformat

from fedlab_book import advice
from fedlab_core.methods import METHODS, Entry, named_rule
from fedlab_core.rounds import Method
from fedlab_core.rounds.groups import nobody
from fedlab_flower.lost import if_lost
from fedlab_ledger.model.describe import methods
from fedlab_ledger.papers import TABLES
from fedlab_ledger.report.book import opened
from tools import paths, reference, surface
from tools.reference import escaped, link, linked

FIELD = "08_everyone_on_one_field"  # the chapter that the ledger's table `field` is for
CHOICES = {
    "rule": "client's rule",
    "weigh": "weights",
    "server": "server",
    "groups": "groups",
    "personal": "personal",
}
# A card stands under the first of these that its method changes.
SECTIONS = {
    "personal": "What a client keeps for itself",
    "groups": "Who is averaged with whom",
    "rule": "What a client minimises",
    "server": "What the server makes of the models",
    "weigh": "How much a client counts",
    "": "The starting point",
}
_INTRO = """\
# Every method, on a card

{many} methods: what each changes of the five choices, the line of its paper that says
how, its options, how closely it agrees with the program its authors published, and
where this book uses it. What a card leaves out is as in FedAvg. Any choice goes with
any other that makes sense: {compose} puts them together, and
{{doc}}`../notebooks/your_own_method` adds one of your own.

```python
import fedlab_core as fl

method = fl.METHODS["feddisco"](fl.Training(lr=0.1, epochs=5), a=0.4)
```

A name in {methods} is also what the command line takes, as in
`python -m fedlab_core train letters --method feddisco`. A number under *agreement* is
the largest difference from the published program's numbers, with the same draws; what
was compared, and at which commit, is in {{doc}}`how_this_book_is_made`.

{table}
"""


def maker(entry: Entry) -> Callable[..., Method]:
    """The function that makes a method, without what was given to it beforehand."""
    return getattr(entry.make, "func", entry.make)


def sentence(thing: Any) -> str:
    """The first paragraph of what a thing says of itself."""
    text = (inspect.getdoc(thing) or "").split("\n\n")[0]
    text = re.sub(r"[;.]?\s*`options`\s+are(\s+those)?\s+of\s+`\w+`", "", text)
    called = getattr(thing, "__init__", thing) if inspect.isclass(thing) else thing
    return linked(" ".join(text.split()), set(surface.arguments(called)))


def changed(made: Method) -> list[str]:
    """The choices in which a method is not FedAvg."""
    usual = METHODS["fedavg"].make()
    return [c for c in CHOICES if getattr(made, c) != getattr(usual, c)]


def said(entry: Entry, made: Method, choice: str) -> str:
    """A method's choice: its name, and what runs in its own words."""
    name, how = _chosen(made, choice), ""
    if choice == "rule":
        hooks = (made.rule.loss, made.rule.gradient, made.rule.push)
        own = [h for h in hooks if h and h is not METHODS["fedavg"].make().rule.loss]
        told = [_hook(h) for h in own]
        if made.rule.exchange:
            told.append(f"Reported besides: {_hook(made.rule.exchange.of)}")
        how = " ".join(told)
    elif choice == "weigh":
        how = sentence(type(made.weigh))
    elif choice == "server":
        how = _hook(made.server.step)
    elif choice == "groups":
        how = _grouped(entry, made)
    elif made.personal.own_model:
        how = "A model of the client's own trains beside the group's."
    elif made.personal.kept:
        how = f"Judged is the {made.personal.kept} that the client keeps."
    elif made.personal.adapt:
        how = "A copy of the group's model trains before it is judged."
    return f"**{escaped(name)}**. {how}" if how else f"**{escaped(name)}**"


def _hook(hook: Any) -> str:
    """Sentence on a part of a method: a function, or a record called like one."""
    return sentence(hook if inspect.isroutine(hook) else type(hook))


def _grouped(entry: Entry, made: Method) -> str:
    hooks = (made.groups.pick, made.groups.regroup)
    if own := [hook for hook in hooks if hook]:
        return " ".join(map(_hook, own))
    for name, thing in vars(_module(entry)).items():  # the maker of the groups
        like = name.lower() == made.groups.name and thing is not maker(entry)
        if like and hasattr(thing, "__name__"):
            return sentence(thing)
    return ""


def _module(entry: Entry) -> Any:
    return sys.modules[inspect.unwrap(maker(entry)).__module__]


def citation(entry: Entry) -> str:
    """The paper as the method's module cites it, if that is its paper."""
    text = _module(entry).__doc__ or ""
    cited = re.search(r"Citation: (.*?)\.?(?=\s+Agreement|\n\n|\Z)", text, re.DOTALL)
    author = entry.paper.split()[0]
    if cited and (author in cited[1] or "without a paper" in cited[1]):
        return escaped(" ".join(cited[1].split()))
    return escaped(entry.paper)


def agreement(made: Method) -> str:
    """How closely it agreed with its published program, if that was asked."""
    names = {entry.make().name for entry in METHODS.values()}
    found = []
    with (paths.ROOT / "results" / "agreement.csv").open() as file:
        for row in csv.DictReader(file):
            parts = row["compared"].split(", ")
            code, gap = row["with the code of"], row["largest difference"]
            gap = "no difference" if gap == "none" else gap
            if made.name in parts:
                found.append(f"{gap} ({code}'s program)")
            elif made.name == code and not names & set(parts):
                found.append(f"{gap} ({row['compared']}; {code}'s program)")
    return "; ".join(found)


@cache
def _titles() -> dict[str, str]:
    """The keys of the bibliography, by title."""
    text = (paths.ROOT / "book" / "references.bib").read_text()
    found = re.findall(r"@\w+\{([\w-]+),.*?\btitle\s*=\s*\{(.*?)\},\n", text, re.DOTALL)
    return {re.sub(r"[{}]", "", title): key for key, title in found}


def reference_of(cited: str) -> str:
    """The mark that leads from a citation to the bibliography, if it is there."""
    plain = cited.replace("\\", "")
    keys = [key for title, key in _titles().items() if f'"{title}"' in plain]
    return f" {{cite}}`{keys[0]}`" if keys else ""


@cache
def _needs() -> dict[str, str]:
    """The rows of the table of “Your own data”, which a test holds, by method."""
    cells = nbformat.read(paths.ROOT / "notebooks/your_own_data.ipynb", 4).cells
    (table,) = (c.source for c in cells if c.id == "needs")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", table, re.M)[1:]
    return {
        name: f"{what} ({how.replace('{doc}`', '{doc}`../notebooks/')})"
        for names, what, how in rows
        for name in names.split(", ")
    }


def needs(name: str) -> list[str]:
    """A line on what a method needs besides samples, and how it is given, or none."""
    return [_needs()[name]] if name in _needs() else []


def sent(made: Method) -> str:
    """The names of what a client sends in a round, and of what it is sent."""
    up, n = [f"`{name}`" for name in made.rule.sends], made.weigh.scalars
    up += ["means over its samples"] if made.rule.exchange and not up else []
    up += [f"{n} number{'s' * (n > 1)} to be weighed by"] if n else []
    down = [f"`{name}`" for name in made.rule.needs]
    if made.groups is nobody:
        return "nothing: it trains alone"
    said = f"its model{''.join(f', {part}' for part in up)}"
    return f"{said}; it is sent {', '.join(down)} besides" if down else said


@cache
def _fields() -> advice.Fields:
    return advice.Fields(opened())


def found_here(name: str) -> list[str]:
    """How often a method was ahead of FedAvg or behind it, for each goal."""
    told, page = [], "{doc}`../notebooks/which_method`"
    for goal in advice.GOALS:
        gains = [
            advice.gain(_fields().lines, name, who, goal)
            for who in (advice.CLIENTS if name != advice.BASE else ())
        ]
        if ran := [g.side for g in gains if g.n]:
            up, down = (ran.count(side) for side in (1, -1))
            told.append(f"{goal}: gains on {up} of {len(ran)}, loses on {down}")
    by = f"by all seeds; {page} asks more of what it recommends"
    return [f"{'; '.join(told)} ({by})"] if told else []


def options(entry: Entry) -> dict[str, str]:
    """A method's own options, and their defaults."""
    asked = surface.arguments(entry.make)
    given = {
        name: surface.default(p.default)
        for name, p in asked.items()
        if p.default is not p.empty and name not in ("training", "name", *CHOICES)
    }
    return given | surface.options_of(entry.make)


@cache
def _chapters() -> dict[str, set[str]]:
    """Names in chapters and below: `fl.NAME`, or so imported; `METHODS[NAME]`."""
    found: dict[str, set[str]] = {}
    for path in paths.chapters(paths.ROOT):
        names = found.setdefault(path.stem, set())
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            names |= set(re.findall(r"\bfl\.\w+|METHODS\[\"[\w-]+\"\]", cell.source))
            for module, inside in re.findall(
                r"from fedlab_core\.methods\.(\w+) import (\([^)]*\)|.*)", cell.source
            ):
                names |= {
                    f"fl.{name}" for name in (module, *re.findall(r"\w+", inside))
                }
    return found


@cache
def _tables() -> dict[str, set[str]]:
    """The papers in whose tables of the ledger a method, or a choice of it, stands."""
    found: dict[str, set[str]] = {}
    for table in TABLES.values():
        for cell in table.cells:
            for s in cell.settings.values():
                for name in methods(s):
                    found.setdefault(name, set()).add(table.paper)
    return found


def used(key: str) -> list[str]:
    """The pages of the book that use a method: chapters, and the ledger's."""
    made, names = METHODS[key].make, {f'METHODS["{key}"]'}
    if made is maker(METHODS[key]):  # else it is another method's, with an option
        names.add(f"fl.{made.__name__}")
    papers = _tables().get(key, set())
    found = [page for page, said in _chapters().items()
             if names & said or (page == FIELD and "field" in papers)]  # fmt: skip
    pages = [f"ledger_{paper}" for paper in sorted(papers)]
    return found + [p for p in pages if (paths.ROOT / f"notebooks/{p}.ipynb").exists()]


def _linked_page(page: str) -> str:
    named = paths.chapters(paths.ROOT).get(paths.ROOT / f"notebooks/{page}.ipynb")
    said = named or f"ledger of {_name(page.removeprefix('ledger_'))}"
    return f"{{doc}}`{said} <../notebooks/{page}>`"


def _name(key: str) -> str:
    return METHODS[key].make().name


def card(key: str) -> str:
    """A method's card: a section of its own, so that it can be linked to."""
    entry = METHODS[key]
    made, make = entry.make(), maker(entry)
    full = next(n.full for n in surface.public() if n.thing is make)
    own = changed(made) or list(CHOICES)
    lines = [sentence(make) if make is entry.make else sentence(type(made.weigh))]
    by = link(full, full.replace("fedlab_core", "fl"))
    lines += ["", f':made by: {by}, or `METHODS["{key}"]`']
    lines += [f":{CHOICES[c]}: {said(entry, made, c)}" for c in own]
    lines += [f":needs: {need}" for need in needs(made.name)]
    lines.append(f":a client sends: {sent(made)}")
    if given := options(entry):
        told = reference.options(entry.make, given)
        lines += [":options:", *(f"    {line}" for line in told)]
    lines.append(f":if a client is lost: {if_lost(made)}")
    lines.append(f":paper: {citation(entry)}{reference_of(citation(entry))}")
    lines += [f":over FedAvg, on our fields: {told}" for told in found_here(made.name)]
    if gap := agreement(made):
        lines.append(f":agreement: {gap}")
    if pages := used(key):
        lines.append(f":in the book: {', '.join(map(_linked_page, pages))}")
    lines.append(f":held against a plain version by: `{entry.proof}`")
    inside = "\n".join(lines)
    head = f"(method-{key})=\n### {escaped(made.name)}"
    return f"{head}\n\n:::{{div}} fl-method\n{inside}\n:::\n"


def at_a_glance() -> str:
    """One row a method: the choices that it changes."""
    rows = ["| method | what it changes | paper |", "|---|---|---|"]
    for key, entry in METHODS.items():
        made = entry.make()
        said = [f"{CHOICES[c]}: {escaped(_chosen(made, c))}" for c in changed(made)]
        what = "; ".join(said) or "nothing: here the others begin"
        to = f"[{escaped(made.name)}](#method-{key})"
        rows.append(f"| {to} | {what} | {escaped(entry.paper)} |")
    return "\n".join(rows)


def _chosen(made: Method, choice: str) -> str:
    """A choice in a word or two."""
    if choice == "rule":
        return named_rule(made.rule)
    return str(getattr(getattr(made, choice), "name"))  # noqa: B009


def page() -> str:
    """The gallery, as Markdown."""
    compose = link("fedlab_core.compose", "fl.compose")
    methods = link("fedlab_core.METHODS", "fl.METHODS")
    parts = [
        _INTRO.format(
            many=len(METHODS), compose=compose, methods=methods, table=at_a_glance()
        )
    ]
    under: dict[str, list[str]] = {section: [] for section in reversed(SECTIONS)}
    for key, entry in METHODS.items():
        own = changed(entry.make())
        under[next((s for s in SECTIONS if s in own), "")].append(key)
    for section, keys in under.items():
        parts.append(f"## {SECTIONS[section]}\n")
        parts += [card(key) for key in keys]
    return "\n".join(parts)
