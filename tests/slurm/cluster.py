# SPDX-License-Identifier: MIT
"""A real Slurm on loopback: munged, slurmctld and some slurmd in a directory of their own, started in seconds, killed at will."""
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo")

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={top}/munge.sock,cred_expire=5
CryptoType=crypto/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool.%n
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd.%n.pid
SlurmctldLogFile={top}/slurmctld.log
SlurmdLogFile={top}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=5
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
RequeueExit=99
MaxArraySize={max_array}
MinJobAge=300
KillWait=2
SlurmctldTimeout=10
SlurmdTimeout=10
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
"""


def missing():
    """What is not installed."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [program for program in PROGRAMS if shutil.which(program, path=path) is None]


class Cluster:
    def __init__(self, top, nodes=4, max_array=1001):
        self.top = top
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        os.environ["SLURM_CONF"] = os.path.join(top, "slurm.conf")
        for name in ("state", *(f"spool.{node}" for node in self.nodes)):
            os.mkdir(os.path.join(top, name))
        key = os.path.join(top, "munge.key")
        with open(key, "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(key, 0o400)
        os.chmod(top, 0o755)
        port = 20000 + os.getpid() % 20000
        host = socket.gethostname().split(".")[0]
        with open(os.environ["SLURM_CONF"], "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=host, port=port, top=top, user=getpass.getuser(), max_array=max_array))
            for i, node in enumerate(self.nodes):
                file.write(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port + 1 + i} CPUs=1 RealMemory=1000 State=UNKNOWN\n")
            file.write(f"PartitionName=test Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP\n")
        self.processes = {}
        self.start_munged()
        self.start("slurmctld", "slurmctld", "-D", "-c")
        for node in self.nodes:
            self.start_node(node)
        deadline = time.monotonic() + 60
        while self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").strip() != str(nodes):
            if time.monotonic() > deadline:
                raise RuntimeError("the nodes do not come up: " + self.ask("sinfo", "-N", "-l"))
            time.sleep(0.2)

    def start(self, name, *words):
        with open(os.path.join(self.top, f"{name}.out"), "ab") as log:
            self.processes[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_munged(self):
        socket_name = os.path.join(self.top, "munge.sock")
        if os.path.exists(socket_name):
            os.remove(socket_name)
        self.start("munged", "munged", "--foreground", "--force", f"--key-file={self.top}/munge.key", f"--socket={socket_name}",
                   f"--pid-file={self.top}/munged.pid", f"--log-file={self.top}/munged.log", f"--seed-file={self.top}/munged.seed")
        while not os.path.exists(socket_name):
            time.sleep(0.05)

    def start_node(self, node):
        self.start(node, "slurmd", "-D", "-N", node)

    def ask(self, *words):
        return subprocess.run(words, capture_output=True, text=True, timeout=60).stdout

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def kill_controller(self):
        self.kill("slurmctld")
        self.start("slurmctld", "slurmctld", "-D")

    def kill_node(self, node):
        """slurmd and all it started, as when the power goes; then it comes back."""
        self.switch_off(node)
        self.start_node(node)

    def switch_off(self, node):
        self.kill(node)
        victims = [pid for pid in all_processes() if f"SLURMD_NODENAME={node}".encode() in environment(pid) or b"slurmstepd: " in command(pid) and
                   self.step_is_of(pid, node)]
        for pid in victims:
            kill(pid)

    def power_cut(self):
        """Everything at once; then all of it comes back."""
        self.kill("slurmctld")
        for node in self.nodes:
            self.switch_off(node)
        self.kill("munged")
        self.start_munged()
        self.start("slurmctld", "slurmctld", "-D")
        for node in self.nodes:
            self.start_node(node)

    def step_is_of(self, pid, node):
        """A step's daemon has its work on a node as its child."""
        return any(f"SLURMD_NODENAME={node}".encode() in environment(child) for child in all_processes() if parent(child) == pid)

    def jobs(self):
        """Tasks of arrays and jobs that are not over: (id, state). Those of a node that was killed are COMPLETING for minutes; nothing runs then."""
        jobs = [tuple(line.split()) for line in self.ask("squeue", "-h", "-r", "-o", "%i %T").splitlines()]
        return [job for job in jobs if job[1] != "COMPLETING"]

    def tidy(self, all_jobs):
        """What an administrator does after a crash: nodes that were taken out come back; jobs that can never start go."""
        for line in self.ask("sinfo", "-h", "-N", "-o", "%n %t").splitlines():
            node, state = line.split()
            if "drain" in state or "drng" in state or "down" in state:
                self.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")
        if all_jobs:
            self.ask("scancel", "--user", getpass.getuser())

    def stop(self):
        for name in [*self.nodes, "slurmctld", "munged"]:
            if name in self.processes:
                self.processes[name].terminate()
                try:
                    self.processes[name].wait(10)
                except subprocess.TimeoutExpired:
                    self.kill(name)
        for pid in all_processes():  # steps that no one looks after
            if os.environ["SLURM_CONF"].encode() in environment(pid) and pid != os.getpid() and b"SLURM_JOB_ID=" in environment(pid):
                kill(pid)


def all_processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def environment(pid):
    return read(f"/proc/{pid}/environ")


def command(pid):
    return read(f"/proc/{pid}/cmdline").replace(b"\0", b" ")


def parent(pid):
    fields = read(f"/proc/{pid}/stat").rsplit(b")", 1)[-1].split()
    return int(fields[1]) if len(fields) > 1 else 0


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
