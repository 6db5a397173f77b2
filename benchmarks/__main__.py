"""Time a round of local training: this package against others.

    python -m benchmarks                # against a plain loop and three simulators
    python -m benchmarks --quick        # against a plain loop, in a minute
    python -m benchmarks --grow         # how it grows with clients and width
    python -m benchmarks --networks     # the papers' small networks, by their limit
    python -m benchmarks --json >> results/speed.jsonl

A case is a network, a number of clients and a mini-batch, on random data. In every turn
each way is timed once, so that a busy machine slows all of them; a ratio is the median
over the turns, its spread the lowest and the highest. `others` is the share of the
cores that other programs had meanwhile: above a tenth, a line is no measurement. The
simulators run in environments of their own, made at the first use.
"""

import argparse
import contextlib
import datetime
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from benchmarks.cases import CASES, GPU_CASES, GROWTH, NETWORKS, Case
from benchmarks.load import Watch, warn
from benchmarks.peers import EARLIER, NAMES, Peer, PeerUnavailable
from benchmarks.timing import Way, alternate, chosen, compare, limit, ours, plain_loop

PLAIN = "plain-loop"


def machine(device: str) -> dict:
    """Machine, versions and commit that a line was measured with."""
    name = platform.machine()
    if device == "cuda":
        name = torch.cuda.get_device_name()
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as info:
        models = [line for line in info if line.startswith("model name")]
        if device == "cpu" and models:
            name = models[0].split(":")[1].strip()
    threads = torch.get_num_threads()
    about = {"machine": name, "threads": threads, "torch": torch.__version__}
    return about | {"date": datetime.date.today().isoformat(), "commit": _commit()}


def _commit() -> str:
    """The commit measured, with a plus if files differ from it."""
    asked = ["git", "describe", "--always", "--dirty=+"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def measure(case: Case, device: str, peers: Sequence[str], quick: bool) -> Iterator:
    """One line a peer: how fast both are on a case."""
    about = {"case": f"{case.name} x {case.clients}", "device": device}
    about |= {"engine": chosen(case, device), "steps": case.steps, **machine(device)}
    watch = Watch(computes=device == "cpu")
    ways: dict[str, Way] = {"ours": watch.over(ours(case, device))}
    network = case in NETWORKS
    if network:
        ways["limit"] = limit(device)
    with contextlib.ExitStack() as stack:
        absent, setups = {}, {}
        for name in peers:
            if name == PLAIN:
                ways[name] = watch.over(plain_loop(case, device))
                continue
            try:
                peer = stack.enter_context(Peer(name, case.name))
            except PeerUnavailable as why:
                absent[name] = str(why)
                continue
            ways[name] = peer.rate
            setups[name] = {"version": peer.version, "setup": peer.setup}
        rates = alternate(ways, 3 if quick else 7, 5 if quick else 60)
    about["others"] = watch.share
    for name in peers:
        line = {**about, "against": name}
        if name in absent:
            yield line | {"absent": absent[name]}
            continue
        line |= compare(rates, "ours", name) | setups.get(name, {})
        if network:
            most = statistics.median(rates["limit"])
            done = line["ours"] * case.operations()
            line |= {"limit": round(most), "share": round(done / most, 4)}
        yield line | {"step_us": round(1e6 * case.total / line["ours"] / case.steps, 1)}


def grow(device: str, quick: bool) -> Iterator[dict]:
    """How both engines and the plain loop do as clients or width grow."""
    for along, value, case in GROWTH:
        if quick and case.clients > 100:
            continue
        watch = Watch(computes=device == "cpu")
        ways = {e: watch.over(ours(case, device, e)) for e in ("looped", "stacked")}
        ways[PLAIN] = watch.over(plain_loop(case, device))
        rates = alternate(ways, 3, 10 if quick else 30)
        middle = {name: statistics.median(r) for name, r in rates.items()}
        line = {"grow": along, "case": case.name, along: value, "device": device}
        line |= {"engine": chosen(case, device), **machine(device)}
        line |= {"others": watch.share}
        line |= {f"{name}_rate": round(rate, 1) for name, rate in middle.items()}
        seconds = {n: case.total / rate / case.steps for n, rate in middle.items()}
        yield line | {f"{n}_step_us": round(1e6 * s, 1) for n, s in seconds.items()}


def show(line: dict) -> str:
    """A line of JSON as a line of the table."""
    if "grow" in line:
        where = f"{line['case']}, {line[line['grow']]} {line['grow']}"
        names = ("plain-loop", "looped", "stacked")
        rates = "".join(f"{line[f'{n}_rate']:12,.0f}" for n in names)
        return f"{where:38}{rates}  {line['engine']}"
    head = f"{line['case']:24}{line['against']:12}"
    if "absent" in line:
        return f"{head}  cannot run: {line['absent']}"
    low, high = line["spread"]
    return (
        f"{head}{line['ours']:11,.0f}{line['theirs']:11,.0f}{line['step_us']:11,.0f}"
        f"  {line['ratio']:.2f} ({low:.2f} to {high:.2f})"
    ) + (f", {line['share']:.0%} of the limit" if "share" in line else "")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is asked for and print it as it comes."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", action="store_true", help="one line of JSON a row")
    parser.add_argument("--quick", action="store_true", help="a minute, not many")
    parser.add_argument("--grow", action="store_true", help="clients and width")
    parser.add_argument(
        "--networks", action="store_true", help="the papers' small ones, by their limit"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--case", help="only the cases whose name contains this")
    parser.add_argument(
        "--against",
        help=f"{PLAIN}, {', '.join(NAMES)}, {EARLIER}COMMIT, several with commas, or "
        f"all (as it is, unless --quick, --networks or on cuda: {PLAIN})",
    )
    given = parser.parse_args(argv)
    known = (PLAIN, *NAMES)
    alone = (
        given.quick or given.networks or given.device == "cuda"
    )  # a card's time is dear
    asked = given.against or (PLAIN if alone else "all")
    against = list(known) if asked == "all" else asked.split(",")
    ours_then = [name for name in against if name.startswith(EARLIER)]
    if strange := [name for name in against if name not in (*known, *ours_then)]:
        parser.error(f"--against {strange[0]}: choose from all, {', '.join(known)}")
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: no CUDA device can be used here")
    all_cases = NETWORKS if given.networks else CASES
    cases = [c for c in all_cases if not given.case or given.case in c.name]
    if given.device == "cuda":
        cases += [c for c in GPU_CASES if not given.case or given.case in c.name]
    if not cases:
        parser.error(f"--case {given.case}: {', '.join(c.name for c in all_cases)}")
    if given.quick and against == [PLAIN]:
        cases = [replace(c, clients=c.few or c.clients) for c in cases]
    if not given.json:
        print(f"samples a second, {torch.get_num_threads()} threads, {given.device}")
        titles = ("plain", "looped", "stacked") if given.grow else ("ours", "theirs")
        print(" " * 38 + "".join(f"{t:>12}" for t in titles), file=sys.stdout)
    if given.grow:
        lines = grow(given.device, given.quick)
    else:
        lines = (
            line
            for case in cases
            for line in measure(case, given.device, against, given.quick)
        )
    warned = False
    for line in lines:
        print(json.dumps(line) if given.json else show(line), flush=True)
        warned = warned or warn(line["others"])


if __name__ == "__main__":
    main()
