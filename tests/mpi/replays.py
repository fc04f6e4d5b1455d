"""Re-enacts traced programs with `straggler mpi` and compares the new runs with the traced ones and with really changed ones.

    replays.py [--quick] STRAGGLER FOLDER LAUNCHER...

FOLDER has the programs of PROGRAMS and `waitany`; LAUNCHER is what stands before `-n RANKS PROGRAM`. Prints a line for each
program and a table for the Waitany benchmark, and ends with 1 if something is wrong. --quick allows for more, for machines that
do other things meanwhile. As other work makes runs longer, the benchmark is repeated up to three times before it counts as failed.
"""

import json
import shutil
import subprocess
import sys

from experiments import Experiments, attempt, metrics, run

# Blocking, nonblocking and persistent messages in all modes, wildcards, probes, tests, all kinds of collectives, communicators,
# and calls that cannot be replayed.
PROGRAMS = ("collectives", "communicators", "completion", "file_io", "halo2d", "master_worker", "nonblocking_collectives",
            "one_sided", "p2p_modes", "persistent", "sendrecv", "wildcards")


class Replays(Experiments):
    def replay(self, trace, name, ranks, *options):
        new = self.scratch / name
        shutil.rmtree(new, ignore_errors=True)
        answer = run(*self.launcher, "-n", ranks, self.straggler, "mpi", "replay", trace, "--compute", "sleep", "-o", new, "--json",
                     "--quiet", *options)
        return new, json.loads(answer)

    def functions(self, trace):
        """How often each rank calls each function, and what `trace check` says."""
        shown = json.loads(run(self.straggler, "trace", "info", trace, "--json", "--quiet"))
        checked = subprocess.run([str(self.straggler), "trace", "check", str(trace)], capture_output=True, text=True, check=False)
        calls = {(rank["rank"], name): one["calls"] for rank in shown["ranks"] for name, one in rank["functions"].items()}
        return calls, checked


def programs(replays):
    wrong = []
    for name in PROGRAMS:
        trace = replays.record(name, 3, name)
        expected, _ = replays.functions(trace)
        for mode in ("recorded", "redecide"):
            new, answer = replays.replay(trace, f"{name}-{mode}", 3, "--mode", mode)
            found, checked = replays.functions(new)
            if checked.returncode != 0:
                wrong.append(f"{name}, {mode}: {checked.stdout}{checked.stderr}")
            # In mode redecide, tests that have become superfluous are not repeated, so calls may differ.
            if mode == "recorded" and found != expected:
                wrong.append(f"{name}: {found} instead of {expected}")
            if mode == "recorded" and "replayed: 0 decisions differ from the trace" not in answer["replayed"]["notes"]:
                wrong.append(f"{name}: {answer['replayed']['notes']}")
            print(f"{name}, {mode}: measured {answer['measured_ps'] * 1e-9:.1f} ms, "
                  f"replayed {answer['replayed']['replayed_ps'] * 1e-9:.1f} ms")
    print("\n".join(wrong))
    return wrong


def waitany(replays):
    """Table 2 of Böhme et al. 2010, with real messages."""
    ranks, scale = 4, "0.25" if replays.quick else "0.5"
    original = replays.record("original", ranks, "waitany", scale)
    modified = replays.record("modified", ranks, "waitany", scale, "balanced")
    truth = replays.whatif(modified, "--scale", "all=1")
    _, identity = replays.replay(original, "identity", ranks)
    _, balanced = replays.replay(original, "balanced", ranks, "--balance", "foo")
    _, recorded = replays.replay(original, "recorded", ranks, "--balance", "foo", "--mode", "recorded")
    before = metrics(identity["measured_ps"] * 1e-12, identity["waits"]["measured"], ranks)
    after = metrics(truth["measured_ps"] * 1e-12, truth["waits"]["measured"], ranks)
    new = {name: metrics(one["replayed"]["replayed_ps"] * 1e-12, one["replayed"]["waits"], ranks)
           for name, one in (("identity", identity), ("balanced", balanced), ("recorded", recorded))}
    off = {"identity": deviation(new["identity"], before), "balanced": deviation(new["balanced"], after),
           "recorded": deviation(new["recorded"], after)}
    print(f"{'metric':16} {'original':>9} {'modified':>9} {'identity':>9} {'re-decided':>11} {'recorded':>9}")
    for name in before:
        print(f"{name:16} {before[name]:7.3f} s {after[name]:7.3f} s {off['identity'][name]:+8.2f}% "
              f"{off['balanced'][name]:+10.2f}% {off['recorded'][name]:+8.2f}%")
    most = 5 if replays.quick else 2
    wrong = [f"{name}: the total is off by more than {most} %" for name in ("identity", "balanced")
             if abs(off[name]["total"]) > most]
    if abs(off["balanced"]["total"]) >= abs(off["recorded"]["total"]):
        wrong.append("deciding again is no better than the recorded order")
    if "replayed: 0 decisions differ from the trace" in balanced["replayed"]["notes"]:
        wrong.append("no decision differs")
    return wrong


def deviation(one, other):
    return {name: 100 * (one[name] - other[name]) / max(other[name], 1e-9) for name in other}


def main():
    words = sys.argv[1:]
    quick = words[0] == "--quick"
    straggler, folder, *launcher = words[quick:]
    replays = Replays(straggler, folder, launcher, quick)
    print("-- programs, re-enacted")
    wrong = programs(replays)
    wrong += attempt("Waitany, re-enacted", lambda: waitany(replays))
    shutil.rmtree(replays.scratch, ignore_errors=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
