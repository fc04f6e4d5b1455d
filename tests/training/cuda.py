"""Trains on one GPU with two processes under the probe, and checks that the tables have the times of the GPU.

    python3 tests/training/cuda.py

One rank multiplies larger batches from a known step on. Its phases are timed by CUDA events beside the probe's own, and both
must agree. This file is also the program of each rank: it starts itself with --rank. Without a GPU nothing is tested.
"""

import argparse
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import probe as cpu

STEPS, SLOW_FROM, SLOW, WORLD, WIDTH = 40, 15, 1, 2, 4096
ROWS, SLOW_ROWS = 8192, 24576


def train(torch, options):
    """Prints the seconds of each forward pass, as events around it say."""
    cpu.join(torch, options)
    torch.manual_seed(1)
    layers = [torch.nn.Linear(WIDTH, WIDTH, device="cuda") for _ in range(4)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    slow = options.rank == SLOW
    sizes = [SLOW_ROWS if slow and step >= SLOW_FROM else ROWS for step in range(STEPS)]
    batches = [torch.randn(rows, WIDTH, device="cuda") for rows in (ROWS, SLOW_ROWS)]
    recorder = cpu.straggler_probe.Probe(options.folder, model=model, optimizer=optimizer, flush_steps=5)
    marks = []
    for rows in recorder.steps(sizes):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        optimizer.zero_grad()
        begin.record()
        with recorder.forward():
            loss = model(batches[rows == SLOW_ROWS]).pow(2).mean()
        end.record()
        with recorder.backward():
            loss.backward()
        optimizer.step()
        marks.append((begin, end))
    recorder.close()
    torch.cuda.synchronize()
    print(*(begin.elapsed_time(end) / 1000 for begin, end in marks))


def check(folder):
    outputs, errors = cpu.start_well("cuda", folder, WORLD, program=os.path.abspath(__file__))
    assert not any("straggler_probe" in line for text in errors for line in text.splitlines()), errors
    rows = cpu.read(folder, WORLD)
    for rank in range(WORLD):
        timed = [float(seconds) for seconds in outputs[rank].split()]
        own = {row["step"]: row["duration"] for row in rows if (row["rank"], row["optype"]) == (rank, "forward-compute")}
        assert sorted(own) == list(range(STEPS)), sorted(own)
        # The test's events enclose a little more than the probe's, and the processes take turns on the GPU.
        off = [abs(own[step] / timed[step] - 1) for step in range(2, STEPS)]
        assert statistics.median(off) < 0.05, (rank, off)
        print("rank %d: forward %.2f ms, off by %.2f %% in the median" % (
            rank, 1000 * statistics.median(timed), 100 * statistics.median(off)))
    kinds = {row["optype"] for row in rows}
    assert {"forward-compute", "backward-compute", "grads-reduce-scatter", "optimizer"} <= kinds, kinds
    for rank in range(WORLD):
        for step in range(STEPS):
            own = sorted((row for row in rows if (row["rank"], row["step"]) == (rank, step) and row["optype"] != "gc"),
                         key=lambda row: row["start_ts"])
            names = [row["optype"] for row in own if row["optype"] in cpu.COMPUTE + ("optimizer",)]
            assert names == list(cpu.COMPUTE) + ["optimizer"], names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int)
    for name in ("--mode", "--folder", "--world", "--slow", "--fail"):
        parser.add_argument(name, type=int if name in ("--world", "--slow") else str)
    options = parser.parse_args()
    import torch
    if not torch.cuda.is_available():
        return print("skipped: the training probe on a GPU, as there is none")
    if options.rank is not None:
        return train(torch, options)
    with tempfile.TemporaryDirectory() as folder:
        check(os.path.join(folder, "job"))
    print("the probe records what the GPU does (PyTorch %s)" % torch.__version__)


if __name__ == "__main__":
    main()
