"""Runs simulations and studies with `straggler mpi` and compares them with those of one process, number by number.

    cluster.py [--quick | --full] STRAGGLER LAUNCHER...

--quick only runs simulations, on two ranks; --full runs them on 1, 2, 3 and 5 ranks instead of 2 and 3.
Prints a line for each check that fails, and ends with 1 if there is one.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
NOISE = "poisson:rate=10kHz,duration=exponential(mean=20us)"

# Graphs, implicit collectives, those of the redundant butterfly, applications, traces; noise, rendezvous, random latencies.
RUNS = {
    "collective": "--collective allreduce --processes 1500 --size 8 --network chic",
    "noise": f"--collective barrier --processes 400 --cycles 3 --compute 50us --network chic --noise {NOISE} --compare-quiet",
    "replicas": f"--collective bcast --processes 200 --size 8 --network chic --replicas 4 --noise {NOISE}",
    "rendezvous": "--collective allreduce:ring --processes 20 --size 16MiB --network chic",
    "nonblocking": "--workload pop --processes 16 --network chic",
    "graph": f"{FIXTURES}/conformance/eager-00.goal --network L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0ns,S=65535",
    "trace": f"{FIXTURES}/traces/halo --copies 2 --network chic --noise signature:name=chic",
    "latencies": f"--collective barrier --processes 100 --network chic --latency-distribution {FIXTURES}/latency/synthetic.txt",
    "one process": "--collective barrier --processes 1 --network chic",
}


def told_once(stderr, words):
    """One error; a wrong option of several processes is also named in a line by each of the others."""
    others = [line for line in stderr.splitlines() if line.startswith("error: rank 1: ")]
    return stderr.count("error:") == 1 + len(others) and len(others) <= 1 and all(words in line for line in others)


class Job:
    def __init__(self, straggler, launcher, sizes):
        self.straggler, self.launcher, self.sizes = str(Path(straggler).resolve()), launcher, sizes
        self.faults = 0
        self.folder = Path(tempfile.mkdtemp(prefix="cluster-"))
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def command(self, ranks, *arguments):
        return [*self.launcher, "-n", str(ranks), self.straggler, "mpi", *map(str, arguments)]

    def run(self, ranks, *arguments):
        """With so many ranks, or without MPI where there are 0."""
        command = self.command(ranks, *arguments) if ranks else [self.straggler, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def check(self, name, holds, what=""):
        if not holds:
            self.faults += 1
            print(f"{name}: failed {what}")
        return holds

    def simulate(self, name, ranks, line, *more, ending="csv"):
        """The answer and the bytes of the finish times."""
        path = self.folder / f"{name}-{ranks}.{ending}"
        done = self.run(ranks, "simulate", *line.split(), "--json", "--finish-times", path, *more)
        if not self.check(name, done.returncode == 0, f"on {ranks} ranks with {done.returncode}: {done.stderr}"):
            return None, None
        return json.loads(done.stdout), path.read_bytes()


def figures(answer):
    keys = ("processes", "messages", "makespan_ps", "finish_ps", "quiet_makespan_ps", "replica_makespan_ps", "replicas", "stuck")
    return {key: answer.get(key) for key in keys}


def simulations(job):
    for name, line in RUNS.items():
        answer, finish = job.simulate(name, 0, line)
        if answer is None:
            continue
        for ranks in job.sizes:
            threads = ("--threads", 2 if ranks == 3 else 1)
            shared, times = job.simulate(name, ranks, line, *threads)
            if shared is not None:
                job.check(name, times == finish, f"other finish times on {ranks} ranks")
                job.check(name, figures(shared) == figures(answer), f"{ranks} ranks: {figures(shared)} {figures(answer)}")
    line = RUNS["noise"]
    _, alone = job.simulate("parquet", 0, line, ending="parquet")
    _, shared = job.simulate("parquet", 3, line, ending="parquet")
    job.check("parquet", alone is not None and alone == shared, "other bytes on 3 ranks")


def divided(job):
    """A schedule whose ranks talk to those half of all ranks away: who talks to each other comes together."""
    ranks, rounds = 64, 5
    schedule = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        lines, peer = [], (rank + ranks // 2) % ranks
        for step in range(rounds):
            lines.append(f"a{step}: send {100 * (rank + 1)}b to {peer} tag {step}")
            lines.append(f"b{step}: recv {100 * (peer + 1)}b from {peer} tag {step}")
            lines += [f"a{step} requires b{step - 1}"] if step else []
        schedule.append("rank %d {\n%s\n}" % (rank, "\n".join(lines)))
    text, binary = job.folder / "pairs.goal", job.folder / "pairs.bin"
    text.write_text("\n".join(schedule))
    done = job.run(0, "schedule", "convert", text, "-o", binary)
    job.check("divided", done.returncode == 0, done.stderr)
    line = f"{binary} --network chic"
    _, finish = job.simulate("divided", 0, line)
    for members in (2, 3, 5):
        shared, times = job.simulate("divided", members, line, "--threads", 1)
        if shared is not None:
            cut = shared["cluster"]["crossing"]
            job.check("divided", times == finish, f"other finish times on {members} ranks")
            job.check("divided", cut["share"] < cut["of_neighbours"] / 4, f"{cut}")


def observed(job):
    """What one rank finds out alone, and the redundant butterfly."""
    line = f"--collective barrier --processes 200 --network chic --noise {NOISE} --explain"
    timelines = [job.folder / f"timeline-{ranks}.json" for ranks in (0, 3)]
    alone, shared = (job.simulate("explain", ranks, line, "--timeline", path)[0] for ranks, path in zip((0, 3), timelines))
    if alone is not None and shared is not None:
        job.check("explain", alone["critical_path"] == shared["critical_path"])
        events = [json.loads(path.read_text())["traceEvents"] for path in timelines]
        job.check("timeline", events[0] == events[1])
    words = ("redundancy", "--processes", 256, "--cycles", 3, "--compute", "50us", "--network", "chic", "--noise", NOISE, "--replicas", 3)
    answers = []
    for ranks in (0, *job.sizes):
        done = job.run(ranks, *words, "--json", "--threads", 1)
        if job.check("redundancy", done.returncode == 0, f"on {ranks} ranks: {done.stderr}"):
            answers.append({key: value for key, value in json.loads(done.stdout).items() if key != "wall_seconds"})
    job.check("redundancy", all(answer == answers[0] for answer in answers), f"{answers}")


def studies(job):
    study = job.folder / "study.toml"
    study.write_text(
        "name = 'spread'\nreplicas = 20\nuntil-ci = '2%'\nprocesses = [16, 300, 20000]\n"
        f"collective = 'barrier'\nnetwork = 'chic'\nnoise = ['none', '{NOISE}']\n"
    )
    results = {}
    for ranks in (0, 1, 3):
        folder = job.folder / f"study-{ranks}"
        words = ("study", study) if ranks else ("study", "run", study)
        done = job.run(ranks, *words, "-o", folder, "--threads", 1, "--quiet")
        if job.check("study", done.returncode == 0, f"on {ranks} ranks with {done.returncode}: {done.stderr}"):
            results[ranks] = (folder / "results.parquet").read_bytes()
    job.check("study", len(set(results.values())) == 1, f"other results: {sorted(results)}")


def running(command):
    """The processes whose command has these words in it, but for launchers."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words and words[0].decode(errors="replace") == command[0] and command[1].encode() in words:
            found.append(int(entry.name))
    return sorted(found)


def checkpoints(job):
    line = f"--collective barrier --processes 20000 --cycles 40 --compute 20us --network chic --noise {NOISE}"
    _, finish = job.simulate("killed", 0, line)
    state = job.folder / "state"
    keep = ("--checkpoint", state, "--checkpoint-every", "100ms", "--threads", 1)
    path = job.folder / "killed.csv"
    command = job.command(3, "simulate", *line.split(), *keep, "--finish-times", path)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as launched:
        while launched.poll() is None and not (state / "checkpoint.json").exists():
            time.sleep(0.05)
        victims = running([job.straggler, str(state)])
        if victims:
            os.kill(victims[-1], signal.SIGKILL)
        code = launched.wait(timeout=60)
    # Fails if the job finished before a rank could be killed.
    if not job.check("killed", victims and code != 0 and (state / "checkpoint.json").exists(), f"{victims} {code}"):
        return
    again = job.run(2, "simulate", *line.split(), *keep)
    job.check("killed", again.returncode == 2 and "--resume" in again.stderr, again.stderr)
    other = job.run(2, "simulate", *line.split(), *keep, "--resume", "--seed", 2)
    job.check("killed", other.returncode == 3 and "another simulation" in other.stderr, other.stderr)
    again = job.run(2, "simulate", *line.split(), *keep, "--resume", "--finish-times", path)
    if job.check("killed", again.returncode == 0, again.stderr):
        job.check("killed", "resuming from the checkpoint" in again.stderr, again.stderr)
        job.check("killed", path.read_bytes() == finish, "other finish times")
        job.check("killed", not state.exists(), "checkpoints are left")


def mistakes(job):
    barrier = "--collective barrier --processes 8 --network chic".split()
    for name, arguments, code, words in (
        ("no file", ("nothing.goal", "--network", "chic"), 3, "nothing.goal"),
        ("no lookahead", ("--collective", "barrier", "--processes", "8", "--network", "L=0ns,o=0ns,g=0ns,G=0ns,O=0ns,S=9"), 3, "lookahead"),
        ("no file there", (*barrier, "--finish-times", "/proc/f.parquet"), 3, "/proc"),
        ("no folder", (*barrier, "--finish-times", "/nonexistent/f.csv"), 3, "/nonexistent"),
        ("unknown option", (*barrier, "--no-such"), 2, "--no-such"),
    ):
        done = job.run(2, "simulate", *arguments, "-v")
        job.check(name, done.returncode == code and words in done.stderr, f"{done.returncode}: {done.stderr}")
        job.check(name, told_once(done.stderr, words), f"said several times: {done.stderr}")
        job.check(name, "simulated in" not in done.stderr, f"it ran: {done.stderr}")
    # Ranks started with different options.
    one = [job.straggler, "mpi", "simulate", *barrier, "--seed"]
    mixed = [*job.launcher, "-n", "1", *one, "1", ":", "-n", "1", *one, "2"]
    done = subprocess.run(mixed, capture_output=True, text=True, timeout=60, check=False)
    job.check("other options", done.returncode == 2 and "different options" in done.stderr, f"{done.returncode}: {done.stderr}")
    # Each rank reads a different file of the same name.
    for rank, folder in enumerate(("a", "b")):
        (job.folder / folder).mkdir()
        (job.folder / folder / "net.toml").write_text((FIXTURES / "networks/shared-memory.toml").read_text() + "\n" * rank)
    script = job.folder / "apart.sh"
    rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    script.write_text(f'#!/bin/sh\ncase {rank} in 0) cd "{job.folder}/a";; *) cd "{job.folder}/b";; esac\nexec "$@"\n')
    script.chmod(0o755)
    words = ("simulate", "--collective", "barrier", "--processes", "8", "--network", "net.toml")
    apart = [*job.launcher, "-n", "2", str(script), job.straggler, "mpi", *words]
    done = subprocess.run(apart, capture_output=True, text=True, timeout=60, check=False)
    job.check("other files", done.returncode == 3 and "a different file" in done.stderr, f"{done.returncode}: {done.stderr}")


def main():
    option = sys.argv[1] if sys.argv[1].startswith("--") else None
    quick = option == "--quick"
    straggler, *launcher = sys.argv[1 + (option is not None):]
    job = Job(straggler, launcher, (1, 2, 3, 5) if option == "--full" else (2,) if quick else (2, 3))
    for part in (simulations,) if quick else (simulations, divided, observed, studies, checkpoints, mistakes):
        part(job)
    print("clusters agree" if job.faults == 0 else f"{job.faults} checks failed; files are in {job.folder}")
    sys.exit(job.faults > 0)


main()
