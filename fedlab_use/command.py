"""Verbs `train` and `split` of `python -m fedlab_core`."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import fedlab_use
from fedlab_core import BESIDE, METHODS, Proxy, Run, Training, data, models, partition
from fedlab_core.arguments import (
    Count,
    Device,
    Fading,
    Fraction,
    NotNegative,
    Positive,
    Ratio,
    Seed,
    Whole,
    held,
    kind_of,
)
from fedlab_core.arguments.cli import option, plain, set_by
from fedlab_core.atomic_files import replacing, writable
from fedlab_core.engine.cohort import Engine, Precision
from fedlab_core.errors import require
from fedlab_core.methods.combined import WEIGHS, named
from fedlab_core.metrics import discrepancy, mean_interval
from fedlab_core.partition.scenarios import KINDS, Scenario, own_tests, scenario
from fedlab_core.rounds.extensions import brought
from fedlab_core.rounds.groups import everyone, nobody
from fedlab_core.rounds.history import History
from fedlab_core.rounds.method import Method
from fedlab_core.rounds.run import run_all
from fedlab_core.rounds.validate_hooks import on_everybodys
from fedlab_core.rounds.worlds import world_of
from fedlab_use.choices import add_aims, add_presence, aims, outputs, taking_part
from fedlab_use.keep import saved
from fedlab_use.own import named_function, read_dataset
from fedlab_use.settings import each_file, read_settings, write_settings
from fedlab_use.trackers import TRACKERS, tracker
from fedlab_use.watch import Patience, curves, together

VERBS = ("train", "split")
OFFERS = {name: getattr(fedlab_use, name) for name in BESIDE}  # to `fl`


def add_verbs(verbs) -> None:
    """Add both verbs to the command line."""
    _add_split(verbs)
    _add_train(verbs)


def answer(args: argparse.Namespace) -> int:
    """Exit code of the verb in `args`."""
    return (_train if args.verb == "train" else _show_split)(args)


_OPTIMIZERS: dict[str, tuple[float, dict[str, Any]]] = {  # learning rate, and the rest
    "sgd": (0.1, {}),
    "rmsprop": (0.01, {"rmsprop": 0.99}),
    "adam": (0.001, {"adam": (0.9, 0.999)}),
    "adamw": (0.001, {"adam": (0.9, 0.999), "decoupled": True}),
}


def _world_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    own = "a file of your own, mine.npz; or what --toml wrote, run.toml"
    add("dataset", help=f"what is learnt: {', '.join(data.NAMES)}; {own}")
    add("--data", metavar="DIR", help="folder of data files (else $FEDLAB_DATA, cache)")
    add("--noise", type=option(NotNegative), help="letters only: pixel noise (.35)")
    numbers = "a file of your own: its y are numbers to predict, not classes"
    add("--numbers", action="store_true", help=numbers)
    add("--split", default="dirichlet", choices=tuple(KINDS))
    add(
        "--split-set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="the split's other numbers, for instance s=.5",
    )
    add("--clients", type=option(Count), help="number of clients, but niid2's (10)")
    add("--alpha", type=option(Positive), help="dirichlet: small = skewed (.5)")
    add("--no-capacity", action="store_true", help="dirichlet: let sizes run free")
    add("--rho", type=option(Ratio), help="dirichlet: largest / smallest class")
    add("--biased", type=option(Whole), help="niid2: clients with two classes (5)")
    add("--unbiased", type=option(Whole), help="niid2: clients with all classes (1)")


def _add_split(verbs) -> None:
    split = verbs.add_parser("split", help="show who holds what")
    _world_options(split)
    split.add_argument("--seed", type=option(Seed), default=0)
    split.add_argument("--out", metavar="FILE", help="save the split as JSON")
    split.add_argument("--force", action="store_true", help="replace FILE")


def _add_train(verbs) -> None:
    run = verbs.add_parser("train", help="run one method and report its accuracy")
    run.set_defaults(parser=run)
    _world_options(run)
    add = run.add_argument
    known = ", ".join(METHODS)
    add("--method", default="fedavg", help=f"one of {known}; or my.rule:make")
    add("--groups", choices=("everyone", "nobody"), help="who is averaged with whom")
    add(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="the method's own numbers, for instance mu=.1 (see its docstring)",
    )
    add("--weigh", choices=sorted(WEIGHS), help="how much each counts (the method's)")
    add("--proxy", type=option(Count), metavar="N", help="the server's, of a class")
    known = ", ".join(models.MODELS)
    add("--model", default="mlp", help=f"one of {known}; or my.net:make (mlp)")
    add("--own-test", type=option(Fraction), help="share that each client tests on")
    add_aims(add)
    add("--rounds", type=option(Count), default=20)
    add_presence(add)
    add("--epochs", type=option(Whole), default=5, help="local epochs E (5)")
    add("--batch", type=option(Count), default=32, help="mini-batch B (32)")
    rates = ".1; .01 with rmsprop, .001 with adam and adamw"
    add("--lr", type=option(Positive), help=f"local learning rate ({rates})")
    known = "a client's steps, each as PyTorch's (sgd)"
    add("--optimizer", default="sgd", choices=tuple(_OPTIMIZERS), help=known)
    add("--momentum", type=option(Fading), default=0.0, help="of sgd (0)")
    add("--weight-decay", type=option(NotNegative), default=0.0)
    add("--seeds", type=option(Seed), nargs="+", default=[0], help="one run each (0)")
    add("--device", default="cpu", help="cpu or cuda")
    add("--engine", default="auto", help="auto, looped or stacked")
    add("--precision", default="float32", help="float32, bf16 or, on CUDA, tf32")
    _add_files(add)


def _add_files(add) -> None:
    add("--stop", type=option(Count), metavar="N", help="after N tests without a best")
    add("--checkpoint", metavar="FILE", help="keep the runs' place, and go on from it")
    kinds = ", ".join(TRACKERS)
    add("--log", nargs="+", metavar="KIND:PLACE", default=[], help=f"{kinds}")
    add("--out", metavar="FILE", help="write every round of every run as CSV")
    add("--save", metavar="FILE", help="write the models, as safetensors")
    add("--plot", metavar="FILE", help="draw the curves, as .svg, .png or .pdf")
    add("--toml", metavar="FILE", help="write these options, for `train FILE`")
    add("--force", action="store_true", help="replace FILE if it is there")


def _load(args: argparse.Namespace) -> data.Dataset:
    if args.dataset.endswith(".npz"):
        return read_dataset(args.dataset, numbers=args.numbers)
    require(not args.numbers, "--numbers: only with a file of your own, mine.npz")
    options = {} if args.noise is None else {"noise": args.noise}
    return data.load(args.dataset, root=args.data, **options)


_SPLITS = {  # their options, by what the function takes
    "iid": (partition.iid, {"clients": 10}),
    "dirichlet": (partition.dirichlet, {"clients": 10, "alpha": 0.5}),
    "niid2": (partition.niid2, {"biased": 5, "unbiased": 1}),
}


def _split(args: argparse.Namespace, dataset: data.Dataset, seed: int) -> Scenario:
    labels, more = dataset.y_train, dict[str, Any](set_by(args.split_set))
    if args.split not in _SPLITS:
        more |= {} if args.clients is None else {"clients": args.clients}
        return scenario(dataset, args.split, seed=seed, **more)
    make, options = _SPLITS[args.split]
    options = {name: _given(args, name, value) for name, value in options.items()}
    if args.split == "dirichlet":
        options["capacity"] = not args.no_capacity
        if args.rho is not None:
            options["pool"] = partition.long_tail(labels, args.rho, seed=seed)
    require(not more, f"--split-set: not with --split {args.split}")
    return Scenario(dataset, make(labels, **options, seed=seed))


def _given(args: argparse.Namespace, name: str, otherwise: Any) -> Any:
    value = vars(args)[name]
    return otherwise if value is None else value


def _check_world(args: argparse.Namespace) -> None:
    """Refuse options that the split, or the data, would do nothing with."""
    of = {name: [s for s in _SPLITS if name in _SPLITS[s][1]]
          for name in ("clients", "alpha", "biased", "unbiased")}  # fmt: skip
    of |= {"rho": ["dirichlet"], "no_capacity": ["dirichlet"]}
    others = [kind for kind in KINDS if kind not in _SPLITS]
    for name, splits in of.items():
        fits = splits + others * (name == "clients")
        idle = vars(args)[name] in (None, False) or args.split in fits
        only = " or ".join(splits)
        require(idle, f"--{name.replace('_', '-')}: only with --split {only}")
    idle = args.noise is None or args.dataset == "letters"
    require(idle, "--noise: only with letters")
    written = [n for n in ("out", "save", "plot", "toml") if vars(args).get(n)]
    others = ", --save, --plot or --toml" * (args.verb == "train")
    require(bool(written) or not args.force, f"--force: only with --out{others}")


def _method(args: argparse.Namespace) -> Method:
    lr, steps = _OPTIMIZERS[args.optimizer]
    sgd = args.optimizer == "sgd" or not args.momentum
    require(sgd, "--momentum: only with --optimizer sgd")
    more = {"momentum": args.momentum, "weight_decay": args.weight_decay, **steps}
    training = Training(_given(args, "lr", lr), args.epochs, args.batch, **more)
    if ":" in args.method:
        make, own = named_function(args.method, "--method"), set_by(args.set)
        base = make(training, **own)
        kind, text = type(base).__name__, f"--method {args.method} must give a Method"
        require(isinstance(base, Method), f"{text}, not {kind}")
    else:
        known = ", ".join(METHODS)
        good = args.method in METHODS
        require(good, f"unknown method {args.method!r}: choose from {known}")
        base = named(args.method, training, set_by(args.set))
    if args.weigh:
        base = replace(base, weigh=WEIGHS[args.weigh]())
    groups = {"everyone": everyone, "nobody": nobody}.get(args.groups, base.groups)
    said = [f"{n}={v}" for n in ("weigh", "groups") if (v := vars(args)[n])]
    name = ", ".join([base.name, *said])  # not the method's own any more
    return replace(base, groups=groups, name=name)


def _target(args: argparse.Namespace, name: str = "out") -> Path | None:
    """The file for a result, tried before any work is done."""
    to = vars(args)[name]
    return None if to is None else writable(to, f"--{name}", args.force)


def _train(args: argparse.Namespace) -> int:
    if args.dataset.endswith(".toml"):
        args = read_settings(args, args.parser)
    held(args.device, kind_of(Device), {}, "--device")
    held(args.engine, kind_of(Engine), {}, "--engine")
    held(args.precision, kind_of(Precision), {}, "--precision")
    there = args.precision != "tf32" or args.device != "cpu"
    require(there, "--precision tf32 needs a CUDA device: use float32 or bf16 here")
    distinct = len(set(args.seeds)) == len(args.seeds)
    require(distinct, "--seeds: distinct numbers, not one of them twice")
    _check_world(args)
    files = {name: _target(args, name) for name in ("out", "save", "plot", "toml")}
    if drawn := files["plot"]:
        brought("can_draw")(drawn)
    if args.checkpoint is not None:
        writable(args.checkpoint, "--checkpoint", force=True)
    method, judged, who = _method(args), aims(args), taking_part(args)
    dataset = _load(args)
    runs = _runs(args, method, dataset, judged, who)
    with ExitStack() as closing:
        runs = [replace(r, observe=_watched(args, r, closing)) for r in runs]
        how = {"engine": args.engine, "precision": args.precision}
        histories = run_all(runs, checkpoint=args.checkpoint, **how)
    _report(method, histories)
    wrote = _write(files, histories, args, dataset)
    if note := on_everybodys(method, runs[0].world.tests):
        print(f"note: {note}", file=sys.stderr)
    for path in wrote:
        print(f"wrote {plain(path)}")
    return int(any(h.diverged for h in histories))


def _runs(
    args: argparse.Namespace,
    method: Method,
    dataset: data.Dataset,
    judged: dict[str, Any],
    who: Any,
) -> list[Run]:
    """A run a seed, each with its own split; `judged` has loss and metric."""
    proxy = None if args.proxy is None else Proxy(args.proxy)
    make = (
        named_function(args.model, "--model")
        if ":" in args.model
        else models.build(args.model, dataset.shape, outputs(args, dataset))
    )
    runs = []
    for seed in args.seeds:
        made = _split(args, dataset, seed)
        if args.own_test is not None:
            made = own_tests(made, args.own_test, seed=seed)
        place = world_of(made, make, args.device, proxy=proxy, **judged)
        column = place.judged_by
        stop = args.stop and Patience(args.stop, 0, column, column == "loss")
        more = {"participants": who, "stop": stop}
        runs.append(Run(place, method, args.rounds, seed, **more))
    return runs


def _watched(args: argparse.Namespace, run: Run, closing: ExitStack) -> Any:
    """The trackers that --log asks for, joined; None if it asks for none."""
    made = []
    for text in args.log:
        kind, _, place = text.partition(":")
        known = kind in TRACKERS and bool(place)
        require(known, f"--log: KIND:PLACE with {', '.join(TRACKERS)}, not {text!r}")
        if kind == "csv" and len(args.seeds) > 1:
            place = each_file(Path(place), run.seed)
        about = {"method": run.method.name, "seed": run.seed}
        name = f"{run.method.name}-{run.seed}"
        made.append(closing.enter_context(tracker(kind, place, name, about)))
    return together(made) if made else None


def _write(
    files: dict[str, Path | None],
    histories: list[History],
    args: argparse.Namespace,
    dataset: data.Dataset,
) -> list[Path]:
    """Write what was asked for; the files."""
    wrote = [path for name, path in files.items() if path and name != "save"]
    if out := files["out"]:
        with replacing(out) as file:
            curves(histories).to_csv(file, index=False)
    if save := files["save"]:
        wrote += saved(histories, save, dataset)
    if drawn := files["plot"]:
        histories[0].plot(*histories[1:]).save(drawn)
    if said := files["toml"]:
        write_settings(args, said)
    return wrote


_THREE = ("last", "best", "mean")


def _report(method: Method, histories: Sequence[History]) -> None:
    metric = histories[0].metric
    share = metric == "accuracy"
    named = f"test {metric}{' in %' * share}"
    print(f"{method.name}: {named}, last round / best / mean of last 5")
    table, grouped = [], method.groups not in (everyone, nobody)
    kind = ".2f" if share else ".4g"
    for h in histories:
        row = [h.score(which) * (100 if share else 1) for which in _THREE]
        table.append(row)
        note = f"  diverged at round {h.diverged_at}" if h.diverged else ""
        if grouped:
            n = len(set(h.group_of))
            note += f"  in {n} group{'' if n == 1 else 's'}"
        print(f"  seed {h.seed}: " + " / ".join(f"{v:{kind}}" for v in row) + note)
    sound = [row for row, h in zip(table, histories, strict=True) if not h.diverged]
    if len(table) > 1 and sound:
        n, (means, half) = len(sound), mean_interval(np.array(sound), axis=0)
        shown = " / ".join(
            f"{m:{kind}} ± {w:{kind}}" for m, w in zip(means, half, strict=True)
        )
        of = f" of {len(table)}; the others diverged" * (n < len(table))
        print(f"  mean:   {shown}  (95 % t interval, {n} seeds{of})")
    if grouped and all(len(set(h.group_of)) == 1 for h in histories):
        print(f"note: {method.name} ended with all in one group", file=sys.stderr)


def _show_split(args: argparse.Namespace) -> int:
    _check_world(args)
    out, dataset = _target(args), _load(args)
    made = _split(args, dataset, args.seed).train
    counts = made.counts(dataset.y_train, len(dataset.classes))
    far = discrepancy(torch.from_numpy(counts))
    table = pd.DataFrame(counts, columns=list(map(plain, dataset.classes)))
    table["total"], table["KL to uniform"] = counts.sum(1), far.numpy().round(3)
    table.index.name = "client"
    print(table.to_string())
    print(f"{made.kind} {made.asked} digest {made.digest}")
    if out:
        made.save(out)
        print(f"wrote {plain(out)}")
    return 0
