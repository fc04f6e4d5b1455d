"""What `trace show` says of call sites, lengths of messages and pauses, against what the programs know themselves.

    sites.py STRAGGLER FOLDER LAUNCHER...

FOLDER has the programs `call_sites`, `lengths`, `pausing_apart` and those in Fortran; LAUNCHER is what stands before
`-n RANKS PROGRAM`. Prints what is wrong, and ends with 1 if anything is.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

RANKS = 2
POINT_TO_POINT = re.compile(r"MPI_(I?[bsr]?send(_init)?|I?m?recv(_init)?|Sendrecv|Start(all)?)$", re.IGNORECASE)


class Runs:
    def __init__(self, straggler, folder, launcher):
        self.straggler, self.folder, self.launcher = straggler, Path(folder), launcher
        self.scratch = Path(tempfile.mkdtemp(prefix="sites-"))
        self.faults = []

    def run(self, *command, code=0, **environment):
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | environment)
        if done.returncode != code:
            self.faults.append(f"{' '.join(words)} ends with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
        return done

    def record(self, program, *options):
        trace, said = self.scratch / program, self.scratch / f"{program}.said"
        said.mkdir()
        self.run(self.straggler, "--quiet", "trace", "-o", trace, *options, "--", *self.launcher, "-n", RANKS,
                 self.folder / program, CHECK_DIR=str(said))
        return trace, said

    def show(self, trace):
        return json.loads(self.run(self.straggler, "trace", "show", trace, "--json").stdout or "{}")

    def expect(self, what, found, expected):
        if found != expected:
            self.faults.append(f"{what}: {found} instead of {expected}")


def sites_of(answer, program):
    """Calls by function, caller and line, of what lies in the program itself."""
    found = Counter()
    for site in answer["call_sites"]:
        if site["module"].endswith("/" + program):
            found[site["function"], site["caller"], site["line"]] += site["calls"]
    return found


def c_sites(runs):
    trace, said = runs.record("call_sites", "--call-sites")
    expected = Counter()
    for file in said.glob("sites.*"):
        for line in file.read_text().splitlines():
            function, caller, number, count = line.split()
            expected[function, caller, int(number)] += int(count)
    answer = runs.show(trace)
    runs.expect("call sites", sites_of(answer, "call_sites"), expected)
    runs.expect("ranks of a site", {site["ranks"] for site in answer["call_sites"]}, {RANKS})
    # Conversion keeps the call sites.
    copy = runs.scratch / "copy.trace"
    runs.run(runs.straggler, "trace", "convert", trace, "-o", copy)
    runs.expect("call sites of a copy", sites_of(runs.show(copy), "call_sites"), expected)
    plain, _ = runs.record("lengths")
    runs.expect("call sites that nobody asked for", runs.show(plain)["call_sites"], [])
    sent_and_received(runs, plain)


def sent_and_received(runs, trace):
    functions = [one for one in runs.show(trace)["functions"] if POINT_TO_POINT.match(one["function"])]
    sent = sum(one["bytes_sent"] for one in functions)
    runs.expect("bytes received", sum(one["bytes_received"] for one in functions), sent)
    if not sent:
        runs.faults.append("nothing was sent")
    sizes = [one for one in runs.show(trace)["message_sizes"] if one["kind"] == "point-to-point"]
    runs.expect("bytes by size", sum(one["bytes"] for one in sizes), sent)
    for one in sizes:
        low, high = one["least_bytes"] * one["messages"], one["most_bytes"] * one["messages"]
        if not low <= one["bytes"] <= high:
            runs.faults.append(f"{one} is not between its bounds")


def fortran_sites(runs, program):
    if not (runs.folder / program).exists():
        return
    trace, _ = runs.record(program, "--call-sites")
    answer = runs.show(trace)
    callers = Counter()
    for site in answer["call_sites"]:
        callers[site["function"], site["caller"], (site["file"] or "").split("/")[-1].split(".")[0]] += site["calls"]
    runs.expect(f"sites of MPI_Sendrecv in {program}",
                {key: count for key, count in callers.items() if key[0] == "MPI_Sendrecv"},
                {("MPI_Sendrecv", "around", program): 3 * RANKS})
    waits = [key for key in callers if key[0] == "MPI_Waitall"]
    runs.expect(f"sites of MPI_Waitall in {program}", [key[2] for key in waits], [program])
    bytes_of = {one["function"]: (one["bytes_sent"], one["bytes_received"]) for one in answer["functions"]}
    runs.expect(f"bytes of MPI_Sendrecv in {program}", bytes_of["MPI_Sendrecv"], (3 * RANKS * 20, 3 * RANKS * 20))
    if not answer["paused_seconds"] > 0:
        runs.faults.append(f"{program} has no pause")


def f08_sites(runs):
    """Where the library's own Fortran functions call its C functions, the program is further up."""
    if not (runs.folder / "fortran_f08").exists():
        return
    trace, _ = runs.record("fortran_f08", "--call-sites")
    answer = runs.show(trace)
    outside = {site["module"] for site in answer["call_sites"]} - {str((runs.folder / "fortran_f08").resolve())}
    runs.expect("modules that call beside fortran_f08", outside, set())


def apart(runs):
    trace, _ = runs.record("pausing_apart")
    check = runs.run(runs.straggler, "trace", "check", trace)
    if "recording was paused on this rank" not in check.stdout:
        runs.faults.append(f"the check does not tell of the pause:\n{check.stdout}")
    refused = runs.run(runs.straggler, "predict", trace, "--network", "chic", code=3)
    if "recording was paused (MPI_Pcontrol) on rank 0" not in refused.stderr:
        runs.faults.append(f"the refusal does not tell of the pause:\n{refused.stderr}")
    runs.run(runs.straggler, "predict", trace, "--network", "chic", "--drop-unmatched")


def main(straggler, folder, *launcher):
    runs = Runs(straggler, folder, launcher)
    c_sites(runs)
    for program in ("fortran_sites_mpif", "fortran_sites_use"):
        fortran_sites(runs, program)
    f08_sites(runs)
    apart(runs)
    print("\n".join(runs.faults) or "call sites, lengths and pauses are as the programs say")
    return 1 if runs.faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
