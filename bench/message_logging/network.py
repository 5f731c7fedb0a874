"""Hosts with a slow network between them: network namespaces joined by `delay`, a user-space network that keeps each packet for a while.
Needs root, iproute2 and /dev/net/tun."""

import os
import subprocess
import sys
from pathlib import Path

import commands

HOSTS = ("a", "b", "c", "d")  # with ranks
LOGGERS = ("e", "f", "g", "h")  # for event loggers
SUBNET = "10.79.1"
MTU = 9000
HERE = Path(__file__).resolve().parent


class Unavailable(Exception):
    """Why there is no such network."""


def ip(*words):
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")


class Network:
    """A namespace for `holdfast run`, and one for each host, all with `delay_us` between any two of them, one way."""

    def __init__(self, work, delay_us):
        self.work, self.delay_us, self.process = work, delay_us, None
        self.tag = f"hfml{os.getpid()}"
        self.names = [self.tag, *(self.tag + host for host in (*HOSTS, *LOGGERS))]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def start(self):
        if why := missing():
            raise Unavailable(why)
        program = self.work / "programs" / "delay"
        program.parent.mkdir(parents=True, exist_ok=True)
        done = commands.run(("cc", "-O2", HERE / "delay.c", "-o", program), commands.clean_environment(), 60)
        if done.code != 0:
            raise Unavailable(f"delay.c cannot be compiled: {done.why()}")
        for name in self.names:
            ip("netns", "add", name)
        self.process = subprocess.Popen([program, str(self.delay_us), *self.names], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise Unavailable("the delaying network does not start")
        for number, name in enumerate(self.names, 1):
            ip("-n", name, "addr", "add", f"{SUBNET}.{number}/24", "dev", "wire")
            ip("-n", name, "link", "set", "wire", "mtu", MTU, "up")
            ip("-n", name, "link", "set", "lo", "up")
        self.launcher = self.work / "in-namespace"
        self.launcher.write_text(f"""#!{sys.executable}
import os, sys
host, command = sys.argv[sys.argv.index("--") + 1:]
os.execvp("ip", ["ip", "netns", "exec", "{self.tag}" + host, "sh", "-c", command])
""")
        self.launcher.chmod(0o755)

    def prefix(self):
        return ["ip", "netns", "exec", self.tag]

    def options(self, loggers=0):
        hosts = ",".join(f"{host}:1" for host in (*HOSTS, *LOGGERS[:loggers]))
        return ["--launcher", "ssh", "--launcher-exec", self.launcher, "--head-address", f"{SUBNET}.1", "--hosts", hosts]


def missing():
    if os.geteuid() != 0:
        return "network namespaces are made by root"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun here"
    try:
        subprocess.run(["ip", "-V"], capture_output=True)
    except FileNotFoundError:
        return "iproute2 is not installed"
    return None
