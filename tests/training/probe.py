"""Trains small models with torch.distributed (gloo, CPU, random data) under the probe, and checks the tables it writes.

    python3 tests/training/probe.py [--straggler PROGRAM] [--keep FOLDER]

One rank of each job is slow on purpose, from a known step on and by a known factor. With --straggler, the program must name
this rank. This file is also the program of each rank: it starts itself with --rank.
"""

import argparse
import csv
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "probe"))
import straggler_probe

STEPS, SLOW_FROM, FACTOR = 30, 10, 3
FORWARD_S, BACKWARD_S = 0.020, 0.040  # computation of a healthy rank; slept, so that busy cores do not change it
HANG_S = 300  # a job that takes longer than this hangs
COMPUTE = ("forward-compute", "backward-compute")
TYPES = COMPUTE + ("dataload", "grads-reduce-scatter", "params-all-gather", "gc", "optimizer-clip-main-grad", "optimizer")


# ---- one rank

def stalled_layer(torch):
    """A layer without parameters that takes a given time forward and backward."""

    class Stall(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, forward_s, backward_s):
            time.sleep(forward_s)
            ctx.backward_s = backward_s
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            time.sleep(ctx.backward_s)
            return gradient, None, None

    class Layer(torch.nn.Module):
        factor = 1

        def forward(self, x):
            return Stall.apply(x, FORWARD_S * self.factor, BACKWARD_S * self.factor)

    return Layer()


def gradients_of(model):
    return [parameter.grad.detach().clone() for parameter in model.parameters()]


def distributed_model(torch, seed, buckets_mb, stall):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), stall, torch.nn.Linear(512, 8)]
    return torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=buckets_mb)


def batches_of(torch, rank, count):
    generator = torch.Generator().manual_seed(1000 + rank)
    return [torch.randn(16, 64, generator=generator) for _ in range(count)]


def join(torch, options):
    torch.set_num_threads(1)
    where = "file://" + os.path.join(options.folder, "meeting")
    torch.distributed.init_process_group("gloo", init_method=where, rank=options.rank, world_size=options.world)


def train(torch, options):
    """A job of STEPS steps, or fewer if this rank is to fail."""
    join(torch, options)
    stall = stalled_layer(torch)
    model = distributed_model(torch, 1, 0.5, stall)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    probe = straggler_probe.Probe(options.folder, model=model, optimizer=optimizer, flush_steps=5)
    for step, batch in enumerate(probe.steps(batches_of(torch, options.rank, STEPS))):
        stall.factor = FACTOR if options.rank == options.slow and step >= SLOW_FROM else 1
        if options.fail and step == 12:
            fail(options.fail)
        optimizer.zero_grad()
        with probe.forward():
            loss = model(batch).pow(2).mean()
        with probe.backward():
            loss.backward()
        with probe.clip():
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with probe.optimizer():
            optimizer.step()
    probe.close()


def fail(how):
    if how == "raise":
        raise RuntimeError("on purpose")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "probe":  # The probe itself fails, for example because the disk is full.
        straggler_probe._seconds = None


def accumulate(torch, options):
    """Two microbatches a step; the gradients of the first stay on the rank."""
    join(torch, options)
    model = distributed_model(torch, 1, 25, torch.nn.Identity())
    with straggler_probe.Probe(options.folder, model=model) as probe:
        for number, batch in enumerate(probe.steps(batches_of(torch, options.rank, 10), microbatches=2)):
            model.require_backward_grad_sync = number % 2 == 1
            with probe.forward():
                loss = model(batch).pow(2).mean()
            with probe.backward():
                loss.backward()


def gathering_layer(torch, layer):
    """A layer that gathers its parameters from all ranks before each pass, and sums its gradients after it: by hand, as FSDP."""
    dist = torch.distributed

    def gather():
        dist.all_gather([torch.zeros(4) for _ in range(dist.get_world_size())], torch.zeros(4))

    class Pass(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            gather()
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            gather()
            return gradient

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return Pass.apply(self.layer(Pass.apply(x)))

    return Layer()


def fsdp1(torch, layers, stall, world):
    from torch.distributed.fsdp import FullyShardedDataParallel as Sharded
    layers = [Sharded(layer, device_id=torch.device("cpu")) for layer in layers]
    return Sharded(torch.nn.Sequential(layers[0], layers[1], stall, layers[2]), device_id=torch.device("cpu"))


def fsdp2(torch, layers, stall, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (world,))
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(torch.nn.Sequential(layers[0], layers[1], stall, layers[2]), mesh=mesh)


def tensor_parallel(torch, layers, stall, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model = torch.nn.Sequential(layers[0], layers[1], stall, layers[2])
    plan = {"0": ColwiseParallel(), "1": RowwiseParallel(), "3": ColwiseParallel(output_layouts=Replicate())}
    return parallelize_module(model, init_device_mesh("cpu", (world,)), plan)


def by_hand(torch, layers, stall, world):
    layers = [gathering_layer(torch, layer) for layer in layers]
    return torch.nn.Sequential(layers[0], layers[1], stall, layers[2])


SHARDED = {"by hand": by_hand, "FSDP1": fsdp1, "FSDP2": fsdp2, "tensor parallelism": tensor_parallel}


def sharded(torch, options):
    """A job whose layers wait for other ranks within forward and backward, as --fail says."""
    join(torch, options)
    torch.manual_seed(1)
    stall = stalled_layer(torch)
    layers = [torch.nn.Linear(64, 64) for _ in range(3)]
    model = SHARDED[options.fail](torch, layers, stall, options.world)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    probe = straggler_probe.Probe(options.folder, model=model, optimizer=optimizer, flush_steps=5)
    for step, batch in enumerate(probe.steps(batches_of(torch, options.rank, STEPS))):
        stall.factor = FACTOR if options.rank == options.slow and step >= SLOW_FROM else 1
        optimizer.zero_grad()
        with probe.forward():
            loss = model(batch).pow(2).mean()
        with probe.backward():
            loss.backward()
        optimizer.step()
    wait = torch.distributed.Work.wait
    probe.close()
    assert torch.distributed.Work.wait is not wait


def same_gradients(torch, options):
    """Gradients with the probe equal those without, to the bit."""
    join(torch, options)
    plain = distributed_model(torch, 2, 0.5, torch.nn.Identity())
    probed = distributed_model(torch, 2, 0.5, torch.nn.Identity())
    probe = straggler_probe.Probe(options.folder, model=probed)
    for batch in probe.steps(batches_of(torch, options.rank, 5)):
        for model in (plain, probed):
            model.zero_grad()
            loss = model(batch).pow(2).mean()
            with probe.backward():
                loss.backward()
        assert all(map(torch.equal, gradients_of(plain), gradients_of(probed)))
        assert any(gradient.abs().sum() > 0 for gradient in gradients_of(probed))
    probe.close()


def cost_of_hook(torch, options):
    """Prints what the probe adds to a backward pass: processor time of this thread, the median over steps, in ns."""
    join(torch, options)
    plain = distributed_model(torch, 2, 0.5, torch.nn.Identity())
    probed = distributed_model(torch, 2, 0.5, torch.nn.Identity())
    probe = straggler_probe.Probe(options.folder, model=probed, rank=0, world_size=2)  # the second rank does not exist
    times = {plain: [], probed: []}
    for batch in probe.steps(batches_of(torch, options.rank, 400)):
        for model in (plain, probed):
            loss = model(batch).pow(2).mean()
            begun = time.thread_time_ns()
            if model is plain:
                loss.backward()
            else:
                with probe.backward():
                    loss.backward()
            times[model].append(time.thread_time_ns() - begun)
    probe.close()
    if options.rank == 0:
        print(int(statistics.median(times[probed][100:]) - statistics.median(times[plain][100:])))


# ---- the checks

def start(mode, folder, world, slow=-1, failing=None, fail="", all_fail=False, program=os.path.abspath(__file__)):
    """Runs all ranks of a job; the exit codes, outputs and errors by rank."""
    os.makedirs(folder, exist_ok=True)
    environment = dict(os.environ, GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    ranks = []
    for rank in range(world):
        command = [sys.executable, program, "--mode", mode, "--folder", folder, "--rank", str(rank),
                   "--world", str(world), "--slow", str(slow), "--fail", fail if all_fail or rank == failing else ""]
        ranks.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    try:
        said = [process.communicate(timeout=HANG_S) for process in ranks]
    finally:
        [process.kill() for process in ranks]
    return [process.returncode for process in ranks], [out for out, _ in said], [err for _, err in said]


def start_well(mode, folder, world, **more):
    codes, outputs, errors = start(mode, folder, world, **more)
    assert codes == [0] * world, errors
    return outputs, errors


def read(folder, world):
    """All rows of all ranks, as types, checked one by one."""
    rows = []
    for rank in range(world):
        with open(os.path.join(folder, "rank-%05d.csv" % rank)) as file:
            text = file.read()
        assert text.endswith("\n")
        lines = text.splitlines()
        assert lines[0] + "\n" == straggler_probe.COLUMNS, lines[0]
        for row in csv.DictReader(lines):
            assert None not in row and None not in row.values(), row
            for column in ("start_ts", "duration"):
                assert len(row[column].split(".")[1]) == 9, row
                row[column] = float(row[column])
            for column in ("step", "rank", "dp_rank", "stage", "seq_id", "mc", "gmc", "mb_id"):
                row[column] = int(row[column])
            assert row["optype"] in TYPES and row["duration"] >= 0, row
            assert row["rank"] == row["dp_rank"] == rank and row["stage"] == 0, row
            computes = row["optype"] in COMPUTE
            assert (row["mb_id"] >= 0) == computes and (row["gmc"] >= 0) == computes, row
            rows.append(row)
    return rows


def per_step(rows, rank, optypes):
    """Seconds that a rank spent in these types, by step."""
    sums = {}
    for row in rows:
        if row["rank"] == rank and row["optype"] in optypes:
            sums[row["step"]] = sums.get(row["step"], 0) + row["duration"]
    return sums


def median_from(sums, first, last):
    return statistics.median(sums[step] for step in range(first, last))


def fastest_from(sums, first, last):
    return min(sums[step] for step in range(first, last))


def check_slow_rank(folder, world, slow):
    _, errors = start_well("train", folder, world, slow=slow)
    assert errors == [""] * world, errors
    rows = read(folder, world)
    healthy = FORWARD_S + BACKWARD_S
    for rank in range(world):
        for optype in ("dataload", "forward-compute", "backward-compute", "grads-reduce-scatter",
                       "optimizer-clip-main-grad", "optimizer"):
            steps = per_step(rows, rank, [optype])
            assert sorted(steps) == list(range(STEPS)), (rank, optype, sorted(steps))
        compute, sync = per_step(rows, rank, COMPUTE), per_step(rows, rank, ["grads-reduce-scatter"])
        before, after = fastest_from(compute, 0, SLOW_FROM), fastest_from(compute, SLOW_FROM, STEPS)
        waited = median_from(sync, SLOW_FROM, STEPS)
        print("  rank %d: computes %.1f ms at least before step %d, %.1f ms after; synchronises %.1f ms"
              % (rank, before * 1e3, SLOW_FROM, after * 1e3, waited * 1e3))
        # Sleeps last at least as long as requested; the rest of a step takes a few ms, more on busy cores.
        assert healthy <= before < healthy * 2, before
        if rank == slow:
            assert healthy * FACTOR <= after < healthy * (FACTOR + 1), after
        else:
            assert healthy <= after < healthy * 2, after
            assert waited > healthy * (FACTOR - 1) * 0.8, waited
    check_order(rows, world)
    with open(os.path.join(folder, "meta.yaml")) as file:
        meta = dict(line.strip().split(": ") for line in file)
    sizes = {"dp_size": str(world), "pp_size": "1", "tp_size": "1", "world_size": str(world)}
    assert meta == dict(sizes, trial_name="training"), meta


def check_order(rows, world):
    """Phases of a rank follow each other; gradients are summed when the last of them is there; ranks share a clock."""
    for step in range(STEPS):
        ends = []
        for rank in range(world):
            own = [row for row in rows if row["rank"] == rank and row["step"] == step]
            keys = [(row["optype"], row["seq_id"]) for row in own]
            assert keys == sorted(set(keys)), keys
            pieces = [row for row in own if row["optype"] == "backward-compute"]
            buckets = [row for row in own if row["optype"] == "grads-reduce-scatter"]
            assert len(pieces) == len(buckets) == 1, (pieces, buckets)
            assert pieces[0]["mc"] == pieces[0]["gmc"] == buckets[0]["mc"] == buckets[0]["seq_id"] == 0, (pieces, buckets)
            # The same instant: as doubles, times since 1970 would be off by 120 ns.
            assert abs(pieces[0]["start_ts"] + pieces[0]["duration"] - buckets[0]["start_ts"]) < 5e-8
            chain = [row for row in own if row["optype"] not in ("grads-reduce-scatter", "gc")]
            chain.sort(key=lambda row: row["start_ts"])
            for first, second in zip(chain, chain[1:]):
                assert first["start_ts"] + first["duration"] <= second["start_ts"] + 1e-6, (first, second)
            ends.append((max(bucket["start_ts"] for bucket in buckets), max(b["start_ts"] + b["duration"] for b in buckets)))
        # No rank has the sum before the last rank has contributed.
        assert min(end for _, end in ends) >= max(begun for begun, _ in ends), ends


def check_accumulation(folder):
    start_well("accumulate", folder, 2)
    rows = read(folder, 2)
    for optype in COMPUTE:
        own = [row["mb_id"] for row in rows if row["optype"] == optype and row["rank"] == 0 and row["step"] == 3]
        assert sorted(set(own)) == [0, 1], own
    assert sorted(per_step(rows, 0, ["dataload"])) == list(range(5))
    syncs = [row for row in rows if row["optype"] == "grads-reduce-scatter" and row["rank"] == 0 and row["step"] == 3]
    # The first microbatch does not synchronise gradients.
    pieces = [(row["mb_id"], row["mc"]) for row in rows
              if row["optype"] == "backward-compute" and row["rank"] == 0 and row["step"] == 3]
    assert pieces == [(0, 0), (1, 0)] and len(syncs) == 1, (pieces, syncs)


def check_sharded(folder, world, slow, how):
    """Waits within passes are told from computing, whatever waits."""
    codes, _, errors = start("sharded", folder, world, slow=slow, failing=None, fail=how, all_fail=True)
    assert codes == [0] * world and not any("straggler_probe" in text for text in errors), errors
    rows = read(folder, world)
    healthy = FORWARD_S + BACKWARD_S
    for rank in range(world):
        compute, sync = per_step(rows, rank, COMPUTE), per_step(rows, rank, ["grads-reduce-scatter"])
        after, waited = fastest_from(compute, SLOW_FROM, STEPS), median_from(sync, SLOW_FROM, STEPS)
        print("  %s, rank %d: computes %.1f ms, waits %.1f ms" % (how, rank, after * 1e3, waited * 1e3))
        if rank == slow:
            assert healthy * FACTOR <= after < healthy * (FACTOR + 1), after
        else:
            assert healthy <= after < healthy * 2 and waited > healthy * (FACTOR - 1) * 0.8, (after, waited)
        with open(os.path.join(folder, "rank-%05d.clock" % rank)) as file:
            assert "caveat" not in file.read()


def can_shard(torch, options):
    """One pass without the probe: ends well if this PyTorch has this kind of job on CPUs."""
    join(torch, options)
    layers = [torch.nn.Linear(64, 64) for _ in range(3)]
    model = SHARDED[options.fail](torch, layers, torch.nn.Identity(), options.world)
    model(torch.ones(4, 64)).pow(2).mean().backward()


def check_sharded_job(folder, how, attempts=3):
    codes, _, errors = start("can_shard", os.path.join(folder, "alone"), 2, fail=how, all_fail=True)
    if any(codes):
        return print("skipped: %s, as this PyTorch has none on CPUs: %s" % (how, errors[0].strip().splitlines()[-1:]))
    for attempt in range(attempts):
        try:
            return check_sharded(os.path.join(folder, "attempt-%d" % attempt), 2, 1, how)
        except AssertionError as error:
            if attempt + 1 == attempts:
                raise
            print("  once more, as the cores may be busy: %s" % str(error)[:200])


def check_failures(folder):
    """Whatever a rank dies of, its file is whole and has all that was flushed."""
    for how, at_least in (("raise", 12), ("kill", 10)):
        codes, _, errors = start("train", os.path.join(folder, how), 2, failing=1, fail=how)
        assert codes[1] != 0, codes
        assert ("on purpose" in errors[1]) == (how == "raise"), errors[1]
        steps = {row["step"] for row in read(os.path.join(folder, how), 2) if row["rank"] == 1}
        assert steps == set(range(at_least)), (how, steps)
    _, errors = start_well("train", os.path.join(folder, "probe"), 2, failing=1, fail="probe")
    assert errors[0] == "" and errors[1].count("\n") == 1 and "recording ends here" in errors[1], errors
    steps = {row["step"] for row in read(os.path.join(folder, "probe"), 2) if row["rank"] == 1}
    assert steps == set(range(12)), steps


def check_without_torch(folder):
    """The probe alone: bad options, a folder that cannot be made, garbage collection, an earlier file."""
    code = """if True:
        import gc, sys, straggler_probe
        assert "torch" not in sys.modules
        for folder, options in ((sys.argv[1] + "/a", {"tp_size": 3}), ("/proc/none", {}), (sys.argv[1], {"nonsense": 1})):
            probe = straggler_probe.Probe(folder, **options)
            for batch in probe.steps([1, 2]):
                with probe.forward(): pass
            probe.close()
        for first_step in (0, 7):
            probe = straggler_probe.Probe(sys.argv[1], first_step=first_step)
            for batch in probe.steps([1, 2]):
                with probe.forward():
                    with probe.clip(): pass
                garbage = [[i] for i in range(200000)]
                gc.collect()
            with probe.forward(): pass
            probe.close()
            probe.close()
        straggler_probe.Probe(sys.argv[1] + "/b", rank=0, world_size=2).close()
        assert "torch" not in sys.modules"""
    environment = dict(os.environ, PYTHONPATH=os.path.dirname(straggler_probe.__file__))
    done = subprocess.run([sys.executable, "-c", code, folder], env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("recording ends here") == 3, done.stderr
    assert done.stderr.count("inside forward-compute") == 2 and done.stderr.count("outside of steps") == 2, done.stderr
    assert done.stderr.count("no model was given: pass the DistributedDataParallel module") == 1, done.stderr
    with open(os.path.join(folder, "b", "rank-00000.clock")) as file:
        assert "caveat: backward includes waits for other ranks: no model was given" in file.read()
    rows = read(folder, 1)
    assert {row["step"] for row in rows} == {7, 8}
    assert all(per_step(rows, 0, ["gc"])[step] > 0 for step in (7, 8))
    assert os.path.exists(os.path.join(folder, "rank-00000.csv.old"))


def check_cost(folder):
    """What the probe itself takes, in a loop that does nothing else, and its hook in a backward pass."""
    steps = 10_000
    probe = straggler_probe.Probe(os.path.join(folder, "empty"), rank=0, world_size=1)
    begun = time.process_time_ns()
    for _ in probe.steps(range(steps)):
        with probe.forward():
            pass
        with probe.backward():
            pass
        with probe.clip():
            pass
        with probe.optimizer():
            pass
    probe.close()
    empty = (time.process_time_ns() - begun) / steps
    outputs, _ = start_well("cost_of_hook", os.path.join(folder, "hook"), 1)
    hook = int(outputs[0])
    share = (empty + max(hook, 0)) / 100e6
    print("  %.1f µs a step of five rows, writing included, and %.1f µs in a backward pass: %.3f %% of a step of 100 ms"
          % (empty / 1e3, hook / 1e3, share * 100))
    assert share < 0.005, share


def check_verdict(straggler, folder, slow):
    command = [straggler, "training", "show", folder, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    worst = max(answer["workers"], key=lambda worker: worker["s_w"])
    assert worst["rank"] == slow, answer["workers"]
    first = answer["causes"][0]
    assert first["kind"] == "workers" and first["ranks"] == [slow], answer["causes"]
    assert abs(first["since_step"] - SLOW_FROM) <= 1, first
    words = subprocess.run(command[:-1], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "Rank %d is slow from step %d on" % (slow, first["since_step"]) in words.splitlines()[0], words
    print("  " + words.splitlines()[0])


def check_slow_job(folder, world, slow, straggler, attempts=3):
    """Other programs that take the cores make other ranks slow, too: then it is tried again."""
    for attempt in range(attempts):
        job = os.path.join(folder, "attempt-%d" % attempt)
        try:
            check_slow_rank(job, world, slow)
            return straggler and check_verdict(straggler, job, slow)
        except AssertionError as error:
            if attempt + 1 == attempts:
                raise
            print("  once more, as the cores may be busy: %s" % str(error)[:200])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--straggler", help="the program whose verdict is checked")
    parser.add_argument("--keep", help="a folder for the tables, which stay there")
    for name in ("--mode", "--folder", "--fail"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    for name in ("--rank", "--world", "--slow"):
        parser.add_argument(name, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.mode:
        import torch
        import torch.distributed
        return globals()[options.mode](torch, options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        at = lambda name: os.path.join(folder, name)
        jobs = [(at("two"), 2, 1), (at("four"), 4, 2)]
        for job, world, slow in jobs:
            print("%d ranks, rank %d slowed by %d from step %d" % (world, slow, FACTOR, SLOW_FROM))
            check_slow_job(job, world, slow, options.straggler)
        print("gradients, accumulation, failures, no torch")
        for world in (2, 3):
            start_well("same_gradients", at("gradients-%d" % world), world)
        check_accumulation(at("accumulation"))
        print("waits within passes")
        for how in SHARDED:
            check_sharded_job(at("sharded, " + how), how)
        check_failures(at("failures"))
        check_without_torch(at("alone"))
        print("cost")
        check_cost(at("cost"))
        print("the probe is fine" + ("" if options.straggler else "; no verdict was asked for"))


if __name__ == "__main__":
    main()
