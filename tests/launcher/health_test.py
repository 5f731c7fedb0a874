"""Nodes that cannot do their part: found out by their agents, at the start and before they take ranks over, and said with the reason."""

import ctypes
import errno
import os
import re
import resource
import signal
import stat
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness
from harness import Case
from lines_job import LinesJob

FEW_FILES = 60
HOST = re.escape(os.uname().nodename)


class Health(Case):
    def limited(self, limit, *words):
        """`holdfast run` under an ulimit."""
        command = ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *self.command(*words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.code, self.err = done.returncode, done.stderr
        return done

    def expect_one_line(self, pattern, code=1):
        self.assertEqual(self.code, code, self.err)
        lines = [line for line in self.err.splitlines() if " ranks on " not in line]
        self.assertEqual(len(lines), 1, self.err)
        self.assertRegex(lines[0], pattern)

    def test_addresses_that_cannot_be_kept(self):
        def forbid_personality():
            """As the system call filters of containers do: EPERM, but for the question what it is."""
            class Filter(ctypes.Structure):
                _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

            load, equal, result, personality, asked = 0x20, 0x15, 0x06, 135, 0xFFFFFFFF
            allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
            code = b"".join(struct.pack("HBBI", *line) for line in (
                (load, 0, 0, 0), (equal, 0, 2, personality), (load, 0, 0, 16), (equal, 0, 1, asked), (result, 0, 0, allow), (result, 0, 0, refuse)))
            kept = ctypes.create_string_buffer(code)
            libc = ctypes.CDLL(None)
            libc.prctl(38, 1, 0, 0, 0)  # no new privileges
            libc.prctl(22, 2, ctypes.byref(Filter(len(code) // 8, ctypes.cast(kept, ctypes.c_void_p))), 0, 0)

        said = "the system does not let programs have the same addresses in each run"
        for forbidden in (forbid_personality, None):
            done = subprocess.run(self.command("-n", 2, "true"), capture_output=True, text=True, timeout=60, preexec_fn=forbidden)
            self.assertEqual((done.returncode, said in done.stderr), (0, forbidden is not None), done.stderr)

    def test_too_few_open_files(self):
        self.limited(f"-n {FEW_FILES}", "-n", 4, "--nodes", 2, "true")
        self.expect_one_line(rf"^holdfast: node [01] \({HOST}-node[01]\): \d+ more files can be opened there, \d+ are needed: "
                             r"raise ulimit -n; the job ends$")

    def test_too_small_files(self):
        self.limited("-f 100", "-n", 1, "true")
        self.expect_one_line(r"segments of \d+ MiB are needed: raise ulimit -f; the job ends$")

    def test_too_little_address_space(self):
        self.limited("-v 180000", "-n", 1, "--log-ready", "300M", "--log-memory", "400M", "true")
        self.expect_one_line(r"a rank's message log takes \d+ MiB: raise ulimit -v, or lower --log-ready; the job ends$")

    def test_no_directory_for_logs(self):
        self.expect(2, "-n", 2, "--log-dir", "/no/such/place", "true")
        self.expect_one_line(r"cannot use the log directory /no/such/place: No such file or directory \(--log-dir, or --log-disk 0\); "
                             r"the job ends$", code=2)
        self.expect(0, "-n", 2, "--log-dir", "/no/such/place", "--log-disk", 0, "true")

    @unittest.skipIf(os.geteuid() != 0, "mounting needs root")
    def test_a_full_directory_for_logs(self):
        with tempfile.TemporaryDirectory() as place:
            if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True).returncode != 0:
                self.skipTest("mounting is not allowed here")
            try:
                self.expect(1, "-n", 1, "--log-dir", place, "--log-disk", "1G", "true")
                self.expect_one_line(rf"the log directory {place} is full: 0 MiB are free \(--log-dir, or --log-disk 0\); the job ends$")
                self.expect(0, "-n", 1, "--log-dir", place, "true")  # as much as there is
            finally:
                subprocess.run(["umount", place], check=True)

    def ssh(self, directory):
        """Reaches every host in this one; there are few files for agents on the host `poor`."""
        script = Path(directory) / "ssh"
        script.write_text(f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\n[ "$2" = poor ] && ulimit -n {FEW_FILES}\nexec sh -c "$3"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return ["--launcher", "ssh", "--launcher-exec", script]

    def test_a_spare_host_that_is_unfit_is_not_used(self):
        with tempfile.TemporaryDirectory() as directory:
            ssh = self.ssh(directory)
            job = LinesJob(self, *ssh, "--hosts", "a:2,b:2,poor:2,d:2", "-n", 4, "--spares", 2, "--inject", "node:1,at=10ms")
            job.say("one")
            job.say("two")
            _, err = job.end()
            self.assertRegex(err, r"holdfast: node 2 \(poor\): \d+ more files .*: raise ulimit -n; it is not used as a spare\n")
            self.assertRegex(err, r"node 1 is lost: .*; its 2 ranks start again on node 3\n")
            self.expect(1, *ssh, "--hosts", "a:2,poor:2", "-n", 4, "true")
            self.expect_one_line(r"node 1 \(poor\): .*; the job ends")

    def lose_a_node_when_spares_are_poor(self, poor, *words):
        job = LinesJob(self, "-n", 4, "--nodes", 2, "--spares", 2, *words)
        job.say("before")
        agents = job.agents()
        self.assertEqual(len(agents), 4)
        for spare in agents[2:2 + poor]:
            resource.prlimit(spare, resource.RLIMIT_NOFILE, (20, 20))
        os.kill(agents[1], signal.SIGKILL)
        return job

    def test_a_spare_node_that_has_become_unfit(self):
        job = self.lose_a_node_when_spares_are_poor(1)
        job.say("after")
        _, err = job.end()
        self.assertRegex(err, rf"node 2 \({HOST}-node2\) cannot take ranks over: \d+ more files .*: raise ulimit -n; they start on node 3\n")

    def test_no_spare_node_is_fit_any_more(self):
        job = self.lose_a_node_when_spares_are_poor(2)
        job.say("after")
        _, err = job.end()
        self.assertRegex(err, r"node 3 \(.*\) cannot take ranks over: .*; they start on node 0\n")
        _, err = self.lose_a_node_when_spares_are_poor(2, "--on-node-loss", "spare").end(1)
        self.assertRegex(err, r"node 3 \(.*\) cannot take ranks over: .*; there is no spare node left \(--spares\); the job ends\n")


if __name__ == "__main__":
    harness.main()
