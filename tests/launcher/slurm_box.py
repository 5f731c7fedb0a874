"""Debian's Slurm for a test: real munged, slurmctld and several slurmd on this machine, everything they keep in one directory."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from ports import free_ports

SEARCH = "/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", "")
TOOLS = {tool: shutil.which(tool, path=SEARCH) for tool in ("munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch", "scontrol")}

CONFIG = """ClusterName=box
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
TmpFS={dir}/tmp
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/log/slurmctld
SlurmdLogFile={dir}/log/slurmd.%n
SlurmdDebug=debug3
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SlurmdTimeout=10
InactiveLimit=0
KillWait=2
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first_node_port}-{last_node_port}] CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why there can be no Slurm here; empty: there can."""
    absent = [tool for tool, path in TOOLS.items() if not path]
    if absent:
        return f"{absent[0]} is not installed (slurm-wlm, munge)"
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    return ""


class Box:
    def __init__(self, directory, nodes=3, cpus=4):
        self.directory, self.daemons = Path(directory), []
        self.directory.chmod(0o755)
        for name in ("state", "spool", "log", "tmp", "munge"):
            (self.directory / name).mkdir()
        host, port = socket.gethostname().split(".")[0], free_ports(nodes + 1)
        config = self.directory / "slurm.conf"
        config.write_text(CONFIG.format(dir=self.directory, host=host, port=port, first_node_port=port + 1, last_node_port=port + nodes,
                                        last=nodes - 1, cpus=cpus))
        self.environment = {**os.environ, "SLURM_CONF": str(config), "PATH": SEARCH}
        try:
            self.start_munge()
            self.start(TOOLS["slurmctld"], "-D")
            for number in range(nodes):
                self.start(TOOLS["slurmd"], "-D", "-N", f"n{number}")
            self.wait_until_idle(nodes)
        except BaseException:
            self.stop()
            raise

    def start(self, *words, **more):
        self.daemons.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL, start_new_session=True, **more))

    def start_munge(self):
        place, user = self.directory / "munge", pwd.getpwnam("munge")
        key = place / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for path in (place, key):
            os.chown(path, user.pw_uid, user.pw_gid)
        self.start(TOOLS["munged"], "-F", f"--key-file={key}", f"--socket={place}/socket", f"--pid-file={place}/pid",
                   f"--log-file={place}/log", f"--seed-file={place}/seed", user=user.pw_uid, group=user.pw_gid, extra_groups=[])
        place.chmod(0o755)
        self.wait_until(lambda: (place / "socket").exists(), "munged")

    def wait_until(self, condition, what, seconds=40):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                logs = "".join(path.read_text(errors="replace")[-2000:] for path in (self.directory / "log").iterdir())
                raise RuntimeError(f"{what} did not come up: {logs}")
            time.sleep(0.1)

    def run(self, *words, timeout=60, stdin=b"", env=None):
        return subprocess.run([str(word) for word in words], env={**self.environment, **(env or {})}, input=stdin, capture_output=True,
                              timeout=timeout)

    def wait_until_idle(self, nodes):
        self.wait_until(lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == str(nodes).encode(), "Slurm")

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()
