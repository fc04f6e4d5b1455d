#!/usr/bin/env python3
"""The model of docs/scaling.md: fits it to runs.csv, and writes what straggler mpi itself does on a cluster as a schedule.

    docs/scaling/model.py fit
    docs/scaling/model.py predict --processes 1000000000 --nodes 1024
    docs/scaling/model.py schedule --processes 1000000000 --nodes 1024 -o own.goal
    straggler simulate own.goal --network slingshot-11
"""

import argparse
import csv
import math
from pathlib import Path

MESSAGE = 28  # bytes of a simulated message between ranks
RUNS = Path(__file__).parent / "runs.csv"


def runs():
    with open(RUNS, encoding="utf-8") as file:
        return [{key: value if key == "kind" else float(value or 0) for key, value in row.items()} for row in csv.DictReader(file)]


def terms(run):
    """What the parameters are multiplied by: messages of a rank; the same for every further rank that shares the memory; windows;
    windows times the rounds of the reduction; bytes that a rank sends."""
    ranks, share = run["ranks"], run["messages"] / run["ranks"]
    rounds = math.log2(ranks)
    return [share, share * (ranks - 1), run["windows"], run["windows"] * rounds, run["bytes"] / ranks]


def solve(matrix, right):
    """Gaussian elimination with pivots."""
    size = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for place in range(size):
        pivot = max(range(place, size), key=lambda row: abs(rows[row][place]))
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for row in range(place + 1, size):
            factor = rows[row][place] / rows[place][place]
            rows[row] = [one - factor * other for one, other in zip(rows[row], rows[place])]
    found = [0.0] * size
    for place in reversed(range(size)):
        rest = sum(rows[place][column] * found[column] for column in range(place + 1, size))
        found[place] = (rows[place][size] - rest) / rows[place][place]
    return found


def fit():
    """Least squares of the relative error. What comes out negative is left out."""
    cases = [run for run in runs() if run["kind"] in ("strong", "weak", "small", "tiny")]
    scaled = [[term / run["seconds"] for term in terms(run)] for run in cases]
    used = list(range(5))
    while True:
        matrix = [[sum(row[a] * row[b] for row in scaled) for b in used] for a in used]
        found = dict(zip(used, solve(matrix, [sum(row[a] for row in scaled) for a in used])))
        if all(value >= 0 for value in found.values()):
            return [found.get(place, 0.0) for place in range(5)], cases
        used.remove(min(found, key=found.get))


def windows_of(processes):
    """Windows of a barrier by dissemination on chic. Fitted: the runs of 2^20 to 2^28 processes have these, larger ones are assumed to."""
    return math.ceil(math.log2(processes)) + 6


def crossing(processes, ranks, round_):
    """Simulated messages that leave each rank in a round."""
    return min(2**round_, processes / ranks) if ranks > 1 else 0


def tell_fit():
    parameters, cases = fit()
    names = ("ns a message", "ns a message and further rank on the node", "ns a window", "ns a window and doubling of ranks", "ns a byte sent")
    for name, value in zip(names, parameters):
        print(f"{value * 1e9:12.3f} {name}")
    print(f"{'runs':8} {'ranks':>5} {'measured':>10} {'model':>10} {'error':>8}")
    for run in cases:
        model = sum(a * b for a, b in zip(parameters, terms(run)))
        print(f"{run['kind']:8} {run['ranks']:5.0f} {run['seconds']:9.3f}s {model:9.3f}s {model / run['seconds'] - 1:+8.1%}")


def node():
    """Seconds of a node of 16 cores for a message, and for a byte that leaves it, which all threads pack and unpack: from a large run on
    16 threads, and the same on two ranks of 8 threads."""
    large = {run["ranks"]: run for run in runs() if run["kind"] == "large"}
    alone, shared = large[1], large[2]
    return alone["seconds"] / alone["messages"], (shared["seconds"] - alone["seconds"]) / (shared["bytes"] / 2)


def predict(processes, nodes, latency=2e-6, bandwidth=25e9):
    """A barrier on nodes with one rank of 16 threads each, which share a network."""
    parameters, _ = fit()
    rounds, windows = math.ceil(math.log2(processes)), windows_of(processes)
    a_message, a_byte = node()
    work = a_message * processes / nodes * rounds
    sent = sum(crossing(processes, nodes, round_) for round_ in range(rounds)) * MESSAGE
    copying = a_byte * sent
    network = sent / bandwidth + windows * 2 * latency * math.log2(nodes)
    agreeing = windows * (parameters[2] + parameters[3] * math.log2(nodes))
    return {"work": work, "copying": copying, "network": network, "agreeing": agreeing}


def schedule(processes, nodes, out):
    """One rank a node. In every window it works and packs as long as the formula says, sends what leaves it to two others at most,
    and agrees on the next window."""
    parameters, _ = fit()
    each, (a_message, a_byte) = processes / nodes, node()
    rounds = math.ceil(math.log2(processes))
    agreement = range(math.ceil(math.log2(nodes)))
    print(f"num_ranks {nodes}", file=out)
    for rank in range(nodes):
        print(f"rank {rank} {{", file=out)
        number, last = 0, []

        def operation(text, after):
            nonlocal number
            number += 1
            print(f"l{number}: {text}", file=out)
            for before in after:
                print(f"l{number} requires l{before}", file=out)
            return number

        for window in range(windows_of(processes)):
            leaves = crossing(processes, nodes, window) if window < rounds else 0
            work = each * a_message if window < rounds else 0
            work += leaves * MESSAGE * a_byte + parameters[2]
            last = [operation(f"calc {max(round(work * 1e9), 1)}", last)]
            distance = max(round(2**window / each), 1) % nodes if window < rounds else 0
            if leaves and distance:
                size = max(round(leaves * MESSAGE), 1)
                sent = operation(f"send {size}b to {(rank + distance) % nodes} tag {window}", last)
                came = operation(f"recv {size}b from {(rank - distance) % nodes} tag {window}", last)
                last = [sent, came]
            for step in agreement:
                tag = 1000 + window * 100 + step
                sent = operation(f"send 16b to {(rank + 2**step) % nodes} tag {tag}", last)
                came = operation(f"recv 16b from {(rank - 2**step) % nodes} tag {tag}", last)
                last = [sent, came]
        print("}", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fit", "predict", "schedule"))
    parser.add_argument("--processes", type=int, default=10**9)
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("-o", "--output")
    given = parser.parse_args()
    if given.what == "fit":
        tell_fit()
    elif given.what == "predict":
        parts = predict(given.processes, given.nodes)
        for name, seconds in parts.items():
            print(f"{name:10} {seconds * 1e3:10.3f} ms")
        print(f"{'all':10} {sum(parts.values()) * 1e3:10.3f} ms")
    else:
        with open(given.output, "w", encoding="utf-8") as out:
            schedule(given.processes, given.nodes, out)


if __name__ == "__main__":
    main()
