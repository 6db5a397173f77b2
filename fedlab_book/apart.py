"""Runs in processes of their own, so that a comparison takes every core.

A round is partly Python, of which one process does one line at a time; two processes of
one thread each are sooner through many runs than one of two threads.
"""

import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection

import torch

import fedlab_core as fl


def run_apart(runs: Sequence[fl.Run]) -> list[fl.History]:
    """What `fl.run_all` returns, a part of the runs in a process for each thread.

    One process plays them all where there is one thread, where runs are on a GPU, and
    where a system cannot fork one. What an observer keeps for itself is lost: only what
    it returns comes back.
    """
    many = min(torch.get_num_threads(), len(runs) // 2)
    alone = sys.platform != "linux" or any(r.world.x.is_cuda for r in runs)
    if alone or many < 2:
        return fl.run_all(runs)
    context = multiprocessing.get_context("fork")
    parts = [runs[first::many] for first in range(many)]
    others = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # of this process, and of those that begin as its copies
    try:
        for part in parts[1:]:
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_play, args=(part, there), daemon=True)
            process.start()
            there.close()
            others.append((process, here))
        found = [fl.run_all(parts[0])]
        for process, here in others:
            found.append(_received(here))
            process.join()
    finally:
        torch.set_num_threads(threads)
        for process, here in others:
            process.kill()
            process.join()
            here.close()
    return [found[i % many][i // many] for i in range(len(runs))]


def _play(runs: Sequence[fl.Run], there: Connection) -> None:
    # Models as arrays: tensors would be the shared memory of a process that ends now.
    try:
        played = fl.run_all(runs, progress=False)
        models = [{n: v.numpy() for n, v in h.states.items()} for h in played]
        there.send(([replace(h, states={}) for h in played], models))
    except Exception as fault:
        there.send(fault)


def _received(here: Connection) -> list[fl.History]:
    try:
        came = here.recv()
    except EOFError:
        raise RuntimeError(
            "a process that played runs ended without an answer"
        ) from None
    if isinstance(came, Exception):
        raise came
    states = [{n: torch.from_numpy(v) for n, v in m.items()} for m in came[1]]
    return [replace(h, states=s) for h, s in zip(came[0], states, strict=True)]
