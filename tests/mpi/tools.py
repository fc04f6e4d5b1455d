"""Runs `straggler mpi` as a job of a few processes and looks at what it writes.

    tools.py [--quick] STRAGGLER LAUNCHER...

--quick leaves out what no MPI library does in a way of its own: how loggp, assess, replay and validate go on with what
they measured.
Prints a line for each check that fails, and ends with 1 if there is one. Times are not looked at: what matters is that
every pair is there, that counts are right, and what happens when something is wrong.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def told_once(stderr, words):
    """One error; a wrong option of several processes is also named in a line by each of the others."""
    others = [line for line in stderr.splitlines() if line.startswith("error: rank 1: ")]
    return stderr.count("error:") == 1 + len(others) and len(others) <= 1 and all(words in line for line in others)


class Job:
    def __init__(self, straggler, launcher):
        self.straggler, self.launcher = straggler, launcher
        self.faults = 0
        self.folder = Path(tempfile.mkdtemp(prefix="tools-"))
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def command(self, processes, *arguments):
        return [*self.launcher, "-n", str(processes), self.straggler, "mpi", *map(str, arguments)]

    def run(self, processes, *arguments, library=None):
        command = self.command(processes, *arguments)
        environment = dict(os.environ, STRAGGLER_MPI=str(library)) if library else None
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)

    def check(self, name, holds, what=""):
        if not holds:
            self.faults += 1
            print(f"{name}: failed {what}")

    def latency(self, name, processes, *arguments, may_be_empty=False):
        path = self.folder / f"{name}.lat"
        done = self.run(processes, "latency", "-o", path, "--json", "--quiet", *arguments)
        if may_be_empty and done.returncode == 3:
            said = "Not a single trial" in done.stderr or "was late" in done.stderr
            self.check(name, said, f"ended with 3: {done.stdout}{done.stderr}")
            return None, None
        self.check(name, done.returncode == 0, f"with {done.returncode}: {done.stdout}{done.stderr}")
        if done.returncode != 0:
            return None, None
        return json.loads(done.stdout), json.loads(path.read_text())["measurement"]


def pairs_of(measurement, kind):
    of_kind = [one for one in measurement["series"] if one["labels"]["kind"] == kind and "pair" in one["labels"]]
    return {(one["labels"]["pair"]["from"], one["labels"]["pair"]["to"]): one for one in of_kind}


def exchanges(job):
    for processes in (2, 3):
        name = f"exchange of {processes}"
        answer, measurement = job.latency(name, processes, "--trials", 50, "--cycles", 3)
        if answer is None:
            continue
        ordered = {(a, b) for a in range(processes) for b in range(processes) if a != b}
        one_sided, pairwise = pairs_of(measurement, "one-sided"), pairs_of(measurement, "pairwise")
        job.check(name, set(one_sided) == ordered, f"one-sided: {sorted(one_sided)}")
        job.check(name, set(pairwise) == {(a, b) for a, b in ordered if a < b}, f"pairwise: {sorted(pairwise)}")
        for pair, one in {**one_sided, **pairwise}.items():
            counts = (one["trials"]["count"], len(one["minima_ps"]), len(one["cycles"]))
            job.check(name, counts == (150, 3, 3), f"{pair}: {counts}")
        classes = sum(one["count"] for one in answer["series"] if one["labels"]["kind"] == "one-sided")
        job.check(name, classes == 150 * len(ordered), f"classes hold {classes}")
        job.check(name, len(measurement["processes"]) == processes)
        # Series with cycles of several processes name the process of each.
        together = [one for one in measurement["series"] if "pair" not in one["labels"]]
        recorded = {cycle.get("process") for one in together for cycle in one["cycles"]}
        job.check(name, recorded == set(range(processes)), f"cycles were recorded by {recorded}")
        job.check(name, answer["finished"])


def kernels(job):
    for kernel in ("ping-pong", "nonblocking"):
        answer, measurement = job.latency(kernel, 2, "--kernel", kernel, "--trials", 20, "--cycles", 2, "--sizes", "1,64KiB")
        if answer is not None:
            sizes = {one["labels"]["size"] for one in answer["series"]}
            job.check(kernel, sizes == {1, 65536}, f"sizes {sizes}")
            kind = "round-trip" if kernel == "ping-pong" else "pairwise"
            job.check(kernel, set(pairs_of(measurement, kind)) == {(0, 1)})
    for kernel in ("barrier", "bcast", "allreduce", "alltoall"):
        # On a busy machine, a rank may be late for every trial: then the job reports that and exits with 3.
        answer, measurement = job.latency(
            kernel, 2, "--kernel", kernel, "--trials", 20, "--cycles", 2, "--sizes", "8", may_be_empty=True
        )
        if answer is not None:
            # No timer cost is subtracted, and the clock error is known.
            for one in measurement["series"]:
                kept = (one["timer"]["subtracted"], one.get("clock_error_ps", 0) > 0)
                job.check(kernel, kept == (None, True), f"{one['labels']}: {kept}")
            # Trials for which a rank is late are discarded; on a busy machine, that may be any of them.
            counts = {one["labels"]["kind"]: one["count"] for one in answer["series"]}
            late = any("discarded" in note for note in answer["notes"])
            expected = counts.get("all-ranks", 0) * 2 == counts.get("per-rank", 0)
            # A series for each rank, and one for all together.
            ranks = {}
            for one in measurement["series"]:
                if one["labels"]["kind"] == "per-rank":
                    ranks[one["labels"].get("rank")] = one["trials"]["count"]
            own = counts.get("all-ranks", 0)
            job.check(kernel, own == 0 or ranks == {None: 2 * own, 0: own, 1: own}, f"ranks: {ranks}")
            job.check(kernel, expected and (late or counts.get("all-ranks") == 40), f"{counts} {answer['notes']}")


def switches(job):
    """What Slurm tells each process; launchers on one host hand their environment on."""
    os.environ.update(SLURM_TOPOLOGY_ADDR="spine.leaf1.n001", SLURM_TOPOLOGY_ADDR_PATTERN="switch.switch.node")
    _, measurement = job.latency("switches", 2, "--trials", 5, "--cycles", 1)
    del os.environ["SLURM_TOPOLOGY_ADDR"], os.environ["SLURM_TOPOLOGY_ADDR_PATTERN"]
    if measurement is not None:
        found = [process.get("switch") for process in measurement["processes"]]
        job.check("switches", found == ["spine/leaf1"] * 2, f"{found}")


def sweep(job):
    answer, _ = job.latency("sweep", 4, "--sweep", "--trials", 5, "--cycles", 1)
    if answer is not None:
        labels = {(one["labels"]["processes_per_node"], one["labels"]["peers"]) for one in answer["series"]}
        job.check("sweep", labels == {(2, 1), (4, 1), (4, 2), (4, 3)}, f"{sorted(labels)}")


def loggp(job):
    path = job.folder / "net.toml"
    short = ("--batches", 6, "--repetitions", 2, "--largest", "64KiB", "--quiet")
    for processes in (2, 3):
        name = f"loggp of {processes}"
        done = job.run(processes, "loggp", "-o", path, "--json", *short)
        job.check(name, done.returncode == 0, f"with {done.returncode}: {done.stdout}{done.stderr}")
        if done.returncode != 0:
            continue
        found = json.loads(done.stdout)["parameters"]
        for key in ("latency", "send_overhead", "recv_overhead", "gap_per_byte"):
            low, value, high = (found[key][part] for part in ("low_ps", "ps", "high_ps"))
            job.check(name, 0 <= low <= value <= high, f"{key}: {low} {value} {high}")
        job.check(name, found["send_overhead"]["ps"] > 0 and found["recv_overhead"]["ps"] > 0, "no overheads")
        sizes = [(line["from_bytes"], line["to_bytes"]) for line in found["protocols"]]
        job.check(name, sizes and sizes[0][0] == 1 and sizes[-1][1] == 65536, f"{sizes}")
        barrier = ("simulate", "--collective", "barrier", "--processes", "8", "--network", path)
        used = subprocess.run([job.straggler, *barrier], capture_output=True, text=True, check=False)
        job.check(name, used.returncode == 0, f"the file cannot be used: {used.stderr}")
    # On one node there are levels only if ranks are bound to different sockets or NUMA domains.
    done = job.run(3, "loggp", "--levels", "-o", path, "--json", *short)
    job.check("levels", done.returncode == 0, f"with {done.returncode}: {done.stdout}{done.stderr}")
    if done.returncode == 0:
        answer = json.loads(done.stdout)
        told = any("no levels to measure" in doubt for doubt in answer["parameters"]["doubts"])
        job.check("levels", told == (answer["levels"] == []), f"{answer['levels']} {answer['parameters']['doubts']}")
    for name, processes, arguments, code, words in (
        ("loggp of one", 1, (), 3, "mpirun -n 2"),
        ("too large", 2, ("--largest", "8GiB"), 3, "--largest 8 GiB"),
        ("too few batches", 2, ("--batches", "2"), 2, "at least 6"),
        ("no folder for loggp", 2, ("-o", "/nonexistent/net.toml"), 3, "/nonexistent"),
    ):
        done = job.run(processes, "loggp", *arguments)
        job.check(name, done.returncode == code and words in done.stderr, f"{done.returncode}: {done.stderr}")


def assess(job):
    short = ("--time", "200ms", "--scale", "16", "--network", "chic", "--quiet")
    first = job.folder / "cluster-2"
    for processes in (1, 2, 3):
        name, folder = f"assess of {processes}", job.folder / f"cluster-{processes}"
        done = job.run(processes, "assess", *short, "--json", "-o", folder)
        job.check(name, done.returncode == 0, f"with {done.returncode}: {done.stdout}{done.stderr}")
        if done.returncode != 0:
            return
        answer = json.loads(done.stdout)
        names = [node["name"] for node in answer["nodes"]]
        cores = os.sched_getaffinity(0)
        job.check(name, answer["unit"] == "core" and len(answer["hosts"]) == 1, answer["hosts"])
        # Launchers may bind processes; every core available to them is measured once.
        job.check(name, names and len(set(names)) == len(names) and len(names) <= len(cores), names)
        scales = [scale["processes"] for scale in answer["scales"]]
        job.check(name, scales == sorted({max(len(names), 2), 16}), f"scales {scales}")
        waits = {len(scale["waits_ps"]) for scale in answer["scales"]}
        job.check(name, waits == {len(names)}, f"waits {waits}")
        alone = any("Only one" in line for line in answer["verdict"])
        job.check(name, alone, answer["verdict"])
        for file in ("assess.json", "assess.page", "report.html", "measurement.json"):
            job.check(name, (folder / file).is_file(), f"{file} is missing")
        for recording in (folder / "nodes").iterdir():
            shown = subprocess.run([job.straggler, "noise", "show", recording], capture_output=True, text=True, check=False)
            job.check(name, shown.returncode == 0, f"{recording}: {shown.stderr}")

    # Assessing the same measurement again gives the same numbers, and no regression against itself.
    again = job.folder / "cluster-again"
    options = ("--from", first, *short[2:], "--baseline", first / "assess.json", "-o", again, "--json")
    done = job.run(1, "assess", *options)
    job.check("assess again", done.returncode == 0, f"with {done.returncode}: {done.stderr}")
    before = json.loads((first / "assess.json").read_text())
    if done.returncode == 0:
        now = json.loads(done.stdout)
        job.check("assess again", now["scales"] == before["scales"] and now["nodes"] == before["nodes"])
        job.check("assess again", now["compared"]["worse"] == [], now["compared"])

    # Compared with a faster baseline, it is worse.
    for node in before["nodes"]:
        node["iteration_ps"] /= 2
    faster = job.folder / "faster.json"
    faster.write_text(json.dumps(before))
    done = job.run(1, "assess", "--from", first, *short[2:], "--baseline", faster, "-o", again)
    worse = "worse than in" in done.stderr and "is slower (50 %)" in done.stdout
    job.check("assess worse", done.returncode == 5 and worse, f"{done.returncode}: {done.stdout}{done.stderr}")

    for name, arguments, code, words in (
        ("unknown network", ("--network", "nonsense"), 2, "unknown network"),
        ("no baseline", ("--baseline", "/nonexistent/a.json"), 3, "/nonexistent/a.json"),
        ("another baseline", ("--baseline", first / "measurement.json"), 3, "not an assess.json"),
        ("no measurement", ("--from", "/nonexistent"), 3, "/nonexistent"),
        ("no folder", ("-o", first / "assess.json" / "x"), 3, "is not a folder"),
        ("scale of one", ("--scale", "1"), 2, "--scale"),
        ("too short", ("--time", "1us"), 2, "--time"),
    ):
        done = job.run(2, "assess", *arguments)
        good = done.returncode == code and words in done.stderr and told_once(done.stderr, words)
        job.check(f"assess: {name}", good, f"{done.returncode}: {done.stderr}")


def replays(job):
    trace, new = "fixtures/traces/halo", job.folder / "replayed"
    done = job.run(4, "replay", trace, "--compute", "sleep", "--scale", "all=0.5", "-o", new, "--json", "--quiet")
    job.check("replay", done.returncode == 0, f"with {done.returncode}: {done.stdout}{done.stderr}")
    if done.returncode == 0:
        answer = json.loads(done.stdout)
        computed = answer["replayed"]["waits"]["computation_seconds"]
        simulated = answer["waits"]["hypothesis"]["computation_seconds"]
        job.check("replay", computed >= 0.999 * simulated, f"computes {computed} s instead of {simulated} s")
        command = [job.straggler, "whatif", trace, "--scale", "all=0.5", "--replayed", str(new), "--json", "--quiet"]
        again = subprocess.run(command, capture_output=True, text=True, check=False)
        job.check("replay", json.loads(again.stdout)["replayed"] == answer["replayed"], f"{again.stdout}{again.stderr}")
        checked = subprocess.run([job.straggler, "trace", "check", str(new)], capture_output=True, text=True, check=False)
        job.check("replay", checked.returncode == 0, checked.stdout + checked.stderr)
    for name, processes, arguments, code, words in (
        ("too few ranks", 2, (trace,), 2, "mpirun -n 4"),
        ("no trace", 2, ("nowhere",), 3, "nowhere"),
        ("another network", 4, (trace, "--network", "chic"), 2, "--network cannot be replayed"),
        ("a full folder", 4, (trace, "-o", "fixtures"), 3, "fixtures already exists"),
        ("no folder", 4, (trace, "-o", "/nonexistent/new"), 3, "/nonexistent"),
        ("no patience", 4, (trace, "--scale", "all@0=100000", "--patience", "200ms", "-o", job.folder / "hung"), None, "--patience"),
    ):
        output = () if "-o" in arguments else ("-o", job.folder / "other")
        done = job.run(processes, "replay", *arguments, *output, "--compute", "sleep")
        # Launchers replace the exit code of an aborting rank by their own.
        ended = done.returncode == code or code is None and done.returncode != 0
        job.check(name, ended and words in done.stderr, f"{done.returncode}: {done.stderr}")


def validation(job):
    path = job.folder / "validation.json"
    short = ("--length", "2ms", "--repetitions", 2, "--detours", "50us", "--period", "500us", "--work", "0s,20us", "--quiet")
    for processes in (2, 3):
        name = f"validation of {processes}"
        done = job.run(processes, "validate", *short, "-o", path, "--json")
        job.check(name, done.returncode == 0, f"with {done.returncode}: {done.stdout}{done.stderr}")
        if done.returncode != 0:
            continue
        answer = json.loads(done.stdout)
        job.check(name, answer == json.loads(path.read_text()), "the file says something else")
        cases = [(case["collective"], round(case["work_seconds"] * 1e6)) for case in answer["cases"]]
        expected = [(kind, work) for kind in ("barrier", "allreduce", "bcast") for work in (0, 20)]
        job.check(name, cases == expected and answer["processes"] == processes, f"{cases}")
        for case in answer["cases"]:
            # On a busy machine, some pairs cannot be predicted; each is reported.
            job.check(name, len(case["pairs"]) + len(case["doubts"]) == 2, f"{case}")
            for pair in case["pairs"]:
                least = case["collectives"] * case["work_seconds"]
                times = [pair[key] for key in pair if key.endswith(("quiet_seconds", "noisy_seconds"))]
                job.check(name, len(times) == 4 and min(times) >= least and min(times) > 0, f"{least}: {pair}")
                # Where other work takes much of a core, its own variation is larger than the injected detours.
                slower = pair["predicted_noisy_seconds"] >= pair["predicted_quiet_seconds"] or pair["own_noise"] > 0.3
                job.check(name, slower, f"detours make the prediction shorter: {pair}")
    for name, processes, arguments, code, words in (
        ("validation of one", 1, (), 3, "mpirun -n 2"),
        ("detours without end", 2, ("--detours", "2ms"), 3, "--period"),
        ("a short run", 2, ("--length", "100us"), 3, "--length"),
        ("no folder for the answer", 2, ("-o", "/nonexistent/v.json"), 3, "/nonexistent"),
    ):
        done = job.run(processes, "validate", *arguments)
        job.check(name, done.returncode == code and words in done.stderr, f"{done.returncode}: {done.stderr}")


def mistakes(job):
    for name, processes, arguments, code, words in (
        ("one process", 1, (), 3, "needs two processes"),
        ("too many peers", 2, ("--peers", "7"), 3, "each has at most 1 peer"),
        ("too large", 2, ("--sizes", "4GiB"), 3, "at most"),
        ("unknown kernel", 2, ("--kernel", "gossip"), 2, "possible values"),
        ("no such folder", 2, ("--trials", "5", "--cycles", "1", "-o", "/nonexistent/x.lat"), 3, "/nonexistent"),
    ):
        done = job.run(processes, "latency", *arguments)
        job.check(name, done.returncode == code and words in done.stderr, f"{done.returncode}: {done.stderr}")


def unlike(job):
    """Processes with different options, and an option that only one of them has."""
    own = [job.straggler, "mpi"]
    latency = ["latency", "--trials", "5", "--cycles", "1", "-o", str(job.folder / "unlike.lat")]
    for name, first, other, words in (
        ("other trials", latency, [*latency, "--peers", "1"], "was started with different options than"),
        ("other sizes of loggp", ["loggp", "--largest", "1KiB"], ["loggp", "--largest", "2KiB"], "different options than"),
        ("an unknown option of one", latency, [*latency, "--sweeep"], "rank 1: unexpected argument '--sweeep'"),
    ):
        command = [*job.launcher, "-n", "1", *own, *first, ":", "-n", "1", *own, *other]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        job.check(name, done.returncode != 0 and words in done.stderr, f"{done.returncode}: {done.stderr}")


def libraries(job):
    """What is said about a library that cannot be used."""
    text, empty = job.folder / "libmpi.so", job.folder / "empty"
    text.write_text("not a library")
    empty.mkdir()
    for name, library, words in (
        ("no such library", "/nonexistent/libmpi.so.40", "/nonexistent/libmpi.so.40"),
        ("no MPI", "libm.so.6", "it is no MPI library"),
        ("a text file", text, "cannot be loaded"),
        ("an empty folder", empty, "no MPI library was found"),
    ):
        done = job.run(2, "latency", "--trials", 5, "-o", job.folder / "none.lat", library=library)
        good = done.returncode != 0 and words in done.stderr and "STRAGGLER_MPI" in done.stderr
        job.check(name, good and done.stderr.count("error:") == 1, f"{done.returncode}: {done.stderr}")
    # The former name of the program.
    former = Path(job.straggler).with_name("straggler-mpi")
    done = subprocess.run([*job.launcher, "-n", "2", former, "latency", "--peers", "7"], capture_output=True, text=True, check=False)
    job.check("former name", done.returncode == 3 and "each has at most 1 peer" in done.stderr, f"{done.returncode}: {done.stderr}")


def interruption(job):
    path = job.folder / "stopped.lat"
    command = job.command(2, "latency", "--trials", 100_000_000, "--quiet", "-o", path)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(4)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    # Not every launcher lets processes shut down cleanly; a time limit always does.
    if path.exists():
        job.check("stopped", json.loads(path.read_text())["measurement"]["interruptions"])
    answer, measurement = job.latency("time limit", 2, "--trials", 100_000_000, "--time-limit", 1)
    if answer is not None:
        job.check("time limit", not answer["finished"] and measurement["interruptions"])
        job.check("time limit", pairs_of(measurement, "pairwise")[(0, 1)]["trials"]["count"] > 0)


def main():
    quick = sys.argv[1] == "--quick"
    straggler, *launcher = sys.argv[1 + quick:]
    job = Job(straggler, launcher)
    for part in (exchanges, kernels, libraries):
        part(job)
    for part in () if quick else (switches, sweep, loggp, assess, replays, validation, mistakes, unlike, interruption):
        part(job)
    print("straggler mpi does as it should" if job.faults == 0 else f"{job.faults} checks failed; files are in {job.folder}")
    sys.exit(job.faults > 0)


main()
