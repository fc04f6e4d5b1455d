"""Submits the scripts of `straggler tools slurm-script` to a Slurm cluster on this machine and looks at what the jobs leave.

    jobs.py STRAGGLER [LIBRARY...]

LIBRARY is openmpi or mpich. Prints a line for each check that fails, and ends with 1 if there is one. Files of a run without
faults are removed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import Cluster

NODES = ["n1", "n2", "n3"]
CPUS, MEMORY_MIB = 4, 4000
# Jobs of this test take seconds; one that takes longer than this hangs.
PATIENCE_SECONDS = 180
SIMULATION = (
    "--collective allreduce --processes 3000 --size 8 --network chic "
    "--noise periodic:period=1ms,duration=50us --seed 7 --finish-times"
).split()
STUDY = """\
name = "Small"
replicas = 3
processes = "2..64"
collective = "allreduce"
size = "8"
network = "chic"
noise = "chic"
"""
# Both ranks wait for the other's message.
DEADLOCK = "num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n" \
    "rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n"


class Test:
    def __init__(self, cluster, folder, straggler):
        self.cluster, self.folder, self.straggler = cluster, folder, straggler
        self.faults = 0

    def check(self, name, holds, what=""):
        if not holds:
            self.faults += 1
            print(f"{name}: failed {what}", flush=True)

    def here(self, *arguments):
        """Runs straggler here, without Slurm."""
        command = [self.straggler, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)

    def submit(self, name, kind, *arguments, path=""):
        """Writes a script, submits it and waits: what is known of the job, and its output."""
        script = self.folder / f"{name}.sh"
        written = self.here("tools", "slurm-script", kind, "-o", script, "--json", *arguments)
        self.check(name, written.returncode == 0 and os.access(script, os.X_OK), f"no script: {written.stderr}")
        if written.returncode != 0:
            return None, ""
        told = json.loads(written.stdout)
        self.check(name, told["script"] == script.read_text(), "the file differs from the JSON")
        environment = {**self.cluster.environment, "PATH": f"{path}:{os.environ['PATH']}"}
        sent = subprocess.run(
            ["sbatch", "--parsable", script], capture_output=True, text=True, check=False, cwd=self.folder, env=environment
        )
        self.check(name, sent.returncode == 0, f"sbatch: {sent.stderr}")
        if sent.returncode != 0:
            return None, ""
        job = self.wait(sent.stdout.strip())
        if job["JobState"] in ("PENDING", "RUNNING"):
            self.check(name, False, f"not over after {PATIENCE_SECONDS} s")
            self.cluster.run("scancel", job["JobId"])
        log = Path(job["StdOut"])
        output = log.read_text() if log.exists() else ""
        self.compare(name, told, job)
        return job, output

    def wait(self, number):
        """What Slurm knows of the job when it is over, or when patience is."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            shown = self.cluster.run("scontrol", "show", "job", "--oneliner", number).stdout
            job = dict(pair.split("=", 1) for pair in shown.split() if "=" in pair)
            goes_on = job.get("JobState") in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
            if not goes_on or time.monotonic() > end:
                return job
            time.sleep(0.5)

    def compare(self, name, told, job):
        """Slurm gave the job what the script was said to ask for."""
        found = tuple(int(job[key]) for key in ("NumNodes", "NumTasks"))
        self.check(name, found == (told["nodes"], told["tasks"]), f"nodes and tasks {found}")
        memory = told["memory_per_node_bytes"]
        if memory is not None:
            asked = job["MinMemoryNode"]
            self.check(name, asked in (f"{memory >> 20}M", f"{memory >> 30}G"), f"memory {asked} of {memory}")

    def good(self, name, kind, *arguments, path=""):
        """The output of a job that must succeed, or nothing."""
        job, output = self.submit(name, kind, *arguments, path=path)
        if job is None:
            return None
        went_well = (job["JobState"], job["ExitCode"]) == ("COMPLETED", "0:0")
        self.check(name, went_well, f"{job['JobState']} {job['ExitCode']}: {output}")
        return output if went_well else None


def programs(folder, name, **links):
    """A folder of programs under the names that a script calls them by."""
    place = folder / name
    place.mkdir()
    for link, target in links.items():
        (place / link.replace("_", "-")).symlink_to(Path(target).resolve())
    return place


def alone(test):
    """One task: straggler itself, no MPI."""
    place = programs(test.folder, "it's a folder", straggler=test.straggler)
    expected = test.here("simulate", *SIMULATION, "here.csv")
    test.check("simulate", expected.returncode == 0, expected.stderr)
    finish = "finish times of $USER's job.csv"
    if test.good("simulate", "simulate", "--programs", place, "--cpus-per-task", 2, "--", *SIMULATION, finish) is not None:
        same = (test.folder / "here.csv").read_bytes() == (test.folder / finish).read_bytes()
        test.check("simulate", same, "finish times differ from those of a run without Slurm")
    (test.folder / "study.toml").write_text(STUDY)
    expected = test.here("study", "run", "study.toml", "-o", "here")
    test.check("study", expected.returncode == 0, expected.stderr)
    if test.good("study", "study", "study.toml", "--", "-o", "there", path=place) is not None:
        same = (test.folder / "here/results.parquet").read_bytes() == (test.folder / "there/results.parquet").read_bytes()
        test.check("study", same, "results differ from those of a run without Slurm")


def failures(test):
    place = programs(test.folder, "programs", straggler=test.straggler)
    (test.folder / "deadlock.goal").write_text(DEADLOCK)
    job, output = test.submit("deadlock", "simulate", "--", "deadlock.goal", "--network", "chic", path=place)
    if job is not None:
        ended = (job["JobState"], job["ExitCode"])
        test.check("deadlock", ended == ("FAILED", "4:0") and "rank 0" in output, f"{ended}: {output}")
    # Slurm knows the time limit, output file, name and comment that the script asks for.
    options = ("--time", "00:07:00", "--log", "log.%j", "--job-name", "named", "--sbatch=--comment=hello")
    job, _ = test.submit("named", "simulate", *options, "--", *SIMULATION, "named.csv", path=place)
    if job is not None:
        found = (job["TimeLimit"], Path(job["StdOut"]).name, job["JobName"], job.get("Comment"))
        test.check("named", found == ("00:07:00", f"log.{job['JobId']}", "named", "hello"), f"{found}")


def on_two_nodes(test, library):
    """Ranks on two nodes, by each launcher."""
    place = programs(test.folder, library, straggler=test.straggler)
    # A script instead of a link: MPICH's mpirun looks for its helpers next to the name it is called by.
    mpirun = place / "mpirun"
    mpirun.write_text(f'#!/bin/sh\nexec {shutil.which(f"mpirun.{library}")} "$@"\n')
    mpirun.chmod(0o755)
    for launcher in ("srun", "mpirun"):
        name = f"latency-{library}-{launcher}"
        options = ("--nodes", 2, "--mpi", library, "--launcher", launcher)
        lat = test.folder / f"{name}.lat"
        measured = ("--trials", 20, "--cycles", 2, "--quiet", "-o", lat.name)
        output = test.good(name, "latency", *options, "--", *measured, path=place)
        test.check(name, lat.exists(), f"nothing was measured: {output}")
        if not lat.exists():
            continue
        measurement = json.loads(lat.read_text())["measurement"]
        series = measurement["series"]
        pairs = [one["labels"]["pair"] for one in series if one["labels"]["kind"] == "pairwise" and "pair" in one["labels"]]
        test.check(name, pairs == [{"from": 0, "to": 1}], f"{pairs}")
        test.check(name, len(measurement["processes"]) == 2, "not two ranks")
    simulated(test, library, place)
    studied(test, library, place)
    name = f"assess-{library}"
    test.good(name, "assess", "--nodes", 2, "--mpi", library, "--", "--time", "200ms", "-o", name, path=place)


def simulated(test, library, place):
    name = f"simulate-{library}"
    finish = f"{name}.csv"
    options = ("--nodes", 2, "--tasks-per-node", 2, "--mpi", library, "--", *SIMULATION, finish)
    if test.good(name, "simulate", *options, path=place) is not None:
        same = (test.folder / "here.csv").read_bytes() == (test.folder / finish).read_bytes()
        test.check(name, same, "finish times differ from those of a run without Slurm")


def studied(test, library, place):
    name = f"study-{library}"
    options = ("study.toml", "--nodes", 2, "--mpi", library, "--", "-o", name)
    if test.good(name, "study", *options, path=place) is not None:
        same = (test.folder / "here/results.parquet").read_bytes() == (test.folder / name / "results.parquet").read_bytes()
        test.check(name, same, "results differ from those of a run without Slurm")


def main():
    # All nodes are on this host, so only the loopback interface is useful. Shared memory is off because Open MPI names it by host and
    # local rank, so that ranks of two nodes would write to the same segment.
    os.environ.update(OMPI_MCA_btl="self,tcp", OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo")
    straggler, *libraries = sys.argv[1:]
    straggler = str(Path(straggler).resolve())
    # Exit through an exception, so that the cluster is stopped on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # Must not be below a folder that only its owner may enter: the daemons check that.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    (folder / "jobs").mkdir()
    with Cluster(folder, NODES, CPUS, MEMORY_MIB) as cluster:
        test = Test(cluster, folder / "jobs", straggler)
        alone(test)
        failures(test)
        for library in libraries:
            on_two_nodes(test, library)
    if test.faults == 0:
        shutil.rmtree(folder)
        print("scripts for Slurm do as they should")
    else:
        print(f"{test.faults} checks failed; files are in {folder}")
    sys.exit(test.faults > 0)


if __name__ == "__main__":
    main()
