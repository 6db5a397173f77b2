"""Building a run from a setting, plain data: data, scenario, network, method."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from fedlab_core import models
from fedlab_core.client import Cosine, CropFlip, Decay, Training
from fedlab_core.data import Dataset, load
from fedlab_core.data.sampling import resized, thinned
from fedlab_core.errors import require
from fedlab_core.methods.collab_distance import pooled_pixels
from fedlab_core.methods.combined import CHOICES, compose
from fedlab_core.models import Shape, Split
from fedlab_core.partition import hold_out
from fedlab_core.partition.scenarios import Scenario, pooled, scenario, tailed
from fedlab_core.rounds import Method
from fedlab_core.rounds.records import Round, Run
from fedlab_core.rounds.worlds import Proxy, world_of
from fedlab_ledger.model.cells import Setting


def data_of(s: Setting) -> Dataset:
    """Data set of a setting; settings on the same data share one."""
    if s.sample is not None:
        require(s.sample >= 1, f"sample must be 1 or more, not {s.sample}")
    scale = None if s.normalise is None else tuple(s.normalise)
    options = json.dumps(s.data, sort_keys=True)
    tail = None if s.tail is None else tuple(s.tail)
    return _data(s.dataset, options, s.sample, tail, s.pooled, s.resize, scale)


@lru_cache(maxsize=4)
def _data(
    name: str,
    options: str,
    sample: int | None,
    tail: tuple[float, ...] | None,
    all_in_one: bool,
    side: int | None,
    scale: tuple[float, ...] | None,
) -> Dataset:
    data = load(name, **json.loads(options))
    if sample is not None:
        data = thinned(data, sample)
    if tail is not None:
        require(
            len(tail) == 2, f"tail: rho of training and of test classes, not {tail}"
        )
        data = tailed(data, *tail)
    if all_in_one:
        data = pooled(data)
    if side is not None:
        data = resized(data, side)
    if scale is not None:
        channels = len(data.mean)
        mean, std = ((v,) * channels for v in scale)
        data = replace(data, mean=mean, std=std)
    return data


def scenario_of(s: Setting, data: Dataset, seed: int) -> Scenario:
    """Scenario of a setting, for a seed."""
    made = scenario(data, s.kind, seed=seed, **_tuples(s.scenario))
    if s.held:
        kept, _ = hold_out(made.train, made.data.y_train, s.held, seed=seed)
        made = replace(made, train=kept)
    return made


def training_of(s: Setting, data: Dataset) -> Training:
    """Local training of a setting."""
    options = _tuples(s.local)
    known = {f.name for f in fields(Training)} | {"decay", "cosine", "crop"}
    strange = ", ".join(sorted(set(options) - known))
    require(not strange, f"local has no {strange}")
    decay, cosine = options.pop("decay", None), options.pop("cosine", None)
    crop = options.pop("crop", None)
    if decay is not None:
        options["schedule"] = Decay(decay)
    if cosine is not None:
        options["schedule"] = Cosine(cosine)
    if crop is not None:
        black = tuple(-m / d for m, d in zip(data.mean, data.std, strict=True))
        options["augment"] = CropFlip(crop, fill=black)
    return Training(**options)


def method_of(s: Setting, data: Dataset) -> Method:
    """The method, with other methods' choices and weights if they are not its own."""
    options, chosen = {"rule": _tuples(s.options)}, {}
    for choice, how in s.parts.items():
        known = choice in CHOICES and "of" in how
        require(known, f"parts: {', '.join(CHOICES)}, each of a method, not {choice!r}")
        options[choice] = _tuples(how)
        chosen[choice] = options[choice].pop("of")
    for given in options.values():
        if "pooled" in given:
            given["features"] = pooled_pixels(given.pop("pooled"))
    if s.weigh is not None:
        options["weigh"] = _tuples(s.weigh)
        chosen["weigh"] = options["weigh"].pop("name")
    return compose(training_of(s, data), rule=s.method, options=options, **chosen)


def maker_of(s: Setting, data: Dataset) -> Callable[[], Split]:
    """Function that draws a new network."""
    return network_of(s, data.shape, len(data.classes))


def network_of(s: Setting, shape: Shape, classes: int) -> Callable[[], Split]:
    """Function that draws a new network, for samples of a shape."""
    return models.build(s.model, shape, classes, **_tuples(s.network))


def run_of(
    s: Setting,
    seed: int,
    device: str = "cpu",
    observe: Callable[[Round], dict] | None = None,
) -> Run:
    """The run of a setting and a seed, ready to be played."""
    data = data_of(s)
    asked: dict[str, Any] = {**(s.proxy or {}), "seed": seed}
    proxy = None if s.proxy is None else Proxy(**asked)
    where = scenario_of(s, data, seed)
    place = world_of(where, maker_of(s, data), device, proxy=proxy)
    method = method_of(s, data)
    return Run(place, method, s.rounds, seed, s.participants, observe)


def _tuples(options: dict[str, Any]) -> dict[str, Any]:
    """Options as functions want them: tuples, not lists."""

    def fixed(value: Any) -> Any:
        return tuple(map(fixed, value)) if isinstance(value, list) else value

    return {name: fixed(value) for name, value in options.items()}
