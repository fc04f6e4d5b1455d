"""A Slurm cluster on this machine: one controller and several nodes, each a slurmd of its own.

Everything lies in one folder and listens on ports that were free; the machine's own Slurm and munge, if any, are not
touched. It runs as whoever starts it, root or not.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

# A daemon that has not answered after this long will not answer.
PATIENCE_SECONDS = 60

CONFIGURATION = """\
ClusterName=straggler
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
# PMIx makes a folder for each job step here; two nodes of one machine must not share it.
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
# One machine plays several nodes: nothing may depend on control groups or on the real number of processors.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
{nodes}
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    """Ports that nobody listens on; all are held until the last is found, so that they differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Cluster:
    def __init__(self, folder, names, cpus, memory_mib):
        self.folder, self.names = Path(folder), names
        self.cpus, self.memory_mib = cpus, memory_mib
        self.daemons = []
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        # munge requires its socket to be reachable by all users.
        self.folder.chmod(0o711)
        self.configure()
        self.start_munge()
        self.launch("slurmctld", [shutil.which("slurmctld"), "-D"])
        for name in self.names:
            (self.folder / f"spool.{name}").mkdir()
            (self.folder / f"tmp.{name}").mkdir()
            self.launch(name, [shutil.which("slurmd"), "-D", "-N", name])
        self.wait_for("nodes that are idle", self.are_idle)

    def configure(self):
        controller_port, *ports = free_ports(1 + len(self.names))
        node = "NodeName={} NodeHostname=localhost NodeAddr=127.0.0.1 Port={} CPUs={} RealMemory={} State=UNKNOWN"
        nodes = "\n".join(
            node.format(name, port, self.cpus, self.memory_mib) for name, port in zip(self.names, ports)
        )
        (self.folder / "state").mkdir()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        text = CONFIGURATION.format(controller_port=controller_port, user=user, folder=self.folder, nodes=nodes)
        (self.folder / "slurm.conf").write_text(text)

    def start_munge(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        socket_path = self.folder / "munge.socket"
        files = {"key-file": key, "socket": socket_path, "pid-file": self.folder / "munge.pid"}
        files |= {"log-file": self.folder / "munge.log", "seed-file": self.folder / "munge.seed"}
        options = [f"--{name}={path}" for name, path in files.items()]
        self.launch("munged", [shutil.which("munged"), "--foreground", *options])
        self.wait_for("munge's socket", socket_path.exists)

    def launch(self, name, command):
        # The daemon gets SIGTERM when this program ends, even if it is killed.
        command = ["setpriv", "--pdeathsig", "TERM", *command]
        with open(self.folder / f"{name}.out", "wb") as out:
            self.daemons.append((name, subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.environment, start_new_session=True
            )))

    def are_idle(self):
        done = self.run("sinfo", "--noheader", "--Node", "--format=%N %t")
        states = dict(line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)
        return set(states) == set(self.names) and set(states.values()) == {"idle"}

    def wait_for(self, what, holds):
        """Ends with an error as soon as a daemon has died, and names it with its last words."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            for name, daemon in self.daemons:
                if daemon.poll() is not None:
                    raise RuntimeError(f"{name} has ended with {daemon.returncode}:\n{self.last_words(name)}")
            if time.monotonic() > end:
                words = "\n".join(self.last_words(name) for name, _ in self.daemons)
                raise RuntimeError(f"no {what} after {PATIENCE_SECONDS} s:\n{words}")
            time.sleep(0.2)

    def last_words(self, name):
        logs = [self.folder / f"{name}.out", self.folder / f"{name}.log", self.folder / f"slurmd.{name}.log"]
        lines = [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()]
        return "\n".join(f"  {name}: {line}" for line in lines[-12:])

    def run(self, *command, cwd=None):
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, env=self.environment, cwd=cwd
        )

    def stop(self):
        """Jobs first, then nodes, the controller and munge: the reverse of how they were started."""
        if (self.folder / "slurm.conf").exists() and len(self.daemons) > 1:
            self.run("scancel", "--state=RUNNING")
            self.run("scancel", "--state=PENDING")
        for _, daemon in reversed(self.daemons):
            end(daemon)
        self.daemons = []


def end(daemon):
    daemon.send_signal(signal.SIGTERM)
    try:
        daemon.wait(timeout=15)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
