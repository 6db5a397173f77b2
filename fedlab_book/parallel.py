"""Work in processes of its own, so that a comparison takes every core.

A round is partly Python, of which one process does one line at a time; two processes of
one thread each are sooner through many runs than one of two threads.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import torch

import fedlab_core as fl

Item = TypeVar("Item")
Made = TypeVar("Made")


def run_apart(runs: Sequence[fl.Run]) -> list[fl.History]:
    """Play runs as `fl.run_all` does, a part of them in a process for each thread.

    One process plays them all where runs are on a GPU. What an observer keeps for
    itself is lost: only what it returns comes back.
    """
    if any(run.world.x.is_cuda for run in runs):
        return fl.run_all(runs)
    return [
        replace(history, states={n: torch.from_numpy(v) for n, v in model.items()})
        for history, model in spread(_played, runs)
    ]


def _played(runs: Sequence[fl.Run]) -> list[tuple[fl.History, dict[str, Any]]]:
    return [(replace(h, states={}), arrays(h.states)) for h in fl.run_all(runs)]


def arrays(value: Any) -> Any:
    """The same with arrays for tensors, in dicts, lists and tuples, too.

    Between processes a tensor is memory that they share, and that one's end takes.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {name: arrays(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(arrays(v) for v in value)
    return value


def spread(
    work: Callable[[Sequence[Item]], list[Made]], items: Sequence[Item]
) -> list[Made]:
    """Do `work` on all items, a part of them in a process for each thread.

    One process does it all where there is one thread, or where a system cannot fork
    one. What the work leaves behind elsewhere than in its answer is lost, and that has
    to be without tensors: see `arrays`.
    """
    many = min(torch.get_num_threads(), len(items) // 2)
    if sys.platform != "linux" or many < 2:
        return work(items)
    context = multiprocessing.get_context("fork")
    parts = [items[first::many] for first in range(many)]
    others = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of this process, and of those that begin as its copies
    try:
        for part in parts[1:]:
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_do, args=(work, part, there), daemon=True)
            process.start()
            there.close()
            others.append((process, here))
        found = [work(parts[0])]
        for process, here in others:
            found.append(_received(here))
            process.join()
    finally:
        torch.set_num_threads(threads)
        for process, here in others:
            process.kill()
            process.join()
            here.close()
    return [found[i % many][i // many] for i in range(len(items))]


def _do(work: Callable, items: Sequence, there: Connection) -> None:
    os.environ["FEDLAB_PROGRESS"] = "0"  # one bar is enough
    try:
        answer = work(items)
    except Exception as fault:
        answer = fault
    there.send(answer)


def _received(here: Connection) -> list:
    try:
        came = here.recv()
    except EOFError:
        raise RuntimeError("a process at work ended without an answer") from None
    if isinstance(came, Exception):
        raise came
    return came
