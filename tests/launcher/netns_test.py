"""Hosts with a network between them: network namespaces on one bridge, whose links are taken down and up again. Needs root."""

import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import harness
from harness import Case, commands_of, processes_of

HEAD_ADDRESS = "10.79.0.1"


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True)


class Network:
    """A namespace for the head, with a bridge, and one for each host."""

    def __init__(self, directory, hosts):
        self.tag, self.hosts = f"hf{os.getpid()}", hosts
        self.launcher = Path(directory) / "in-namespace"
        self.launcher.write_text(f"""#!{sys.executable}
import os, sys
host, command = sys.argv[sys.argv.index("--") + 1:]
os.execvp("ip", ["ip", "netns", "exec", "{self.tag}" + host, "sh", "-c", command])
""")
        self.launcher.chmod(0o755)
        ip("netns", "add", self.tag)
        ip("-n", self.tag, "link", "set", "lo", "up")
        ip("-n", self.tag, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.tag, "addr", "add", f"{HEAD_ADDRESS}/24", "dev", "bridge")
        ip("-n", self.tag, "link", "set", "bridge", "up")
        for number, host in enumerate(hosts):
            ip("netns", "add", self.tag + host)
            ip("-n", self.tag, "link", "add", host, "type", "veth", "peer", "name", "wire", "netns", self.tag + host)
            ip("-n", self.tag, "link", "set", host, "master", "bridge", "up")
            ip("-n", self.tag + host, "addr", "add", f"10.79.0.{10 + number}/24", "dev", "wire")
            for device in ("lo", "wire"):
                ip("-n", self.tag + host, "link", "set", device, "up")

    def link(self, host, state):
        ip("-n", self.tag, "link", "set", host, state)

    def stop(self):
        for name in [self.tag] + [self.tag + host for host in self.hosts]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


class Netns(Case):
    def command(self, *words, name=None):
        return ["ip", "netns", "exec", NETWORK.tag, *super().command(*words, name=name)]

    def on(self, hosts, *words):
        return ["--launcher", "ssh", "--launcher-exec", NETWORK.launcher, "--head-address", HEAD_ADDRESS, "--hosts", hosts, *words]

    def quiet(self, steps=1500):
        return self.run_job("-n", 6, PROGRAM, "--steps", steps).stdout

    def run_with(self, links, *options, steps=1500):
        """The job while links go down and up: [(seconds after all ranks have started, host, state)]."""
        marker = uuid.uuid4().hex
        job = self.start(*self.on("n1:2,n2:2,n3:2,n4:2", "-n", 6, "-x", f"MARK={marker}", *options), PROGRAM, "--steps", steps, marker=marker)
        self.wait_for_ranks(job, marker)
        started = time.monotonic()
        for after, host, state in links:
            time.sleep(max(0.0, started + after - time.monotonic()))
            NETWORK.link(host, state)
        return job, marker

    def wait_for_ranks(self, job, marker):
        deadline = time.monotonic() + 20
        while self.ranks(marker) < 6:
            if job.poll() is not None or time.monotonic() > deadline:
                running = sorted(commands_of(processes_of(marker)).values())
                job.kill()
                self.fail(f"six ranks did not start; exit code {job.returncode}, running: {running}\n{job.communicate()[1].decode()}")
            time.sleep(0.01)

    def ranks(self, marker):
        return sum(str(PROGRAM) in c and "holdfast" not in c.split()[0] for c in commands_of(processes_of(marker)).values())

    def finish(self, job, quiet):
        out, err = job.communicate(timeout=100)
        self.err = err.decode()
        for host in NETWORK.hosts:
            NETWORK.link(host, "up")
        self.assertEqual(job.returncode, 0, self.err)
        self.assertEqual(out, quiet, self.err)

    def test_a_job_on_four_hosts(self):
        quiet = self.quiet()
        job, marker = self.run_with([])
        self.finish(job, quiet)
        self.expect_nothing_left(marker)

    def test_a_link_that_is_down(self):
        """Nothing says so but silence. What is left on that host ends when the job does, here since its stdin ends."""
        quiet = self.quiet()
        job, marker = self.run_with([(0.3, "n2", "down")], "--spares", 1)
        self.finish(job, quiet)
        self.assertRegex(self.err, r"node 1 is lost: nothing was heard of it for \d+ ms .* start again on node 3")
        self.expect_nothing_left(marker)

    def test_a_link_that_is_down_for_a_moment(self):
        quiet = self.quiet()
        job, marker = self.run_with([(0.3, "n2", "down"), (0.5, "n2", "up")], "--spares", 1, "--node-timeout", "3000")
        self.finish(job, quiet)
        self.assertNotIn("is lost", self.err)
        self.expect_nothing_left(marker)

    def test_a_host_that_comes_back(self):
        """It was declared lost meanwhile: it is refused, and its ranks end while the job goes on."""
        quiet = self.quiet(15000)
        job, marker = self.run_with([(0.3, "n2", "down"), (1.6, "n2", "up")], "--spares", 1, steps=15000)
        self.wait_until(lambda: self.ranks(marker) == 6 or job.poll() is not None, "the cut off ranks' end", seconds=20)
        self.assertIsNone(job.poll(), "the job was too short for this to be a test")
        self.finish(job, quiet)
        self.assertRegex(self.err, r"node 1 is lost: nothing was heard")
        self.expect_nothing_left(marker)


def missing():
    if os.geteuid() != 0:
        return "network namespaces are made by root"
    name = f"hf{os.getpid()}probe"
    try:
        if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
            return "no network namespaces here"
    except FileNotFoundError:
        return "iproute2 is not installed"
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None


if __name__ == "__main__":
    if why := missing():
        print(f"skipped: {why}")
        sys.exit(77)
    at = sys.argv.index("--program")
    PROGRAM = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    with tempfile.TemporaryDirectory(prefix="holdfast-netns-") as DIRECTORY:
        NETWORK = Network(DIRECTORY, ["n1", "n2", "n3", "n4"])
        try:
            harness.main()
        finally:
            NETWORK.stop()
