"""Levels `disk`, `node+disk`, `process+disk` (docs/event-files.md): nodes lost one by one and together, disks that are full or stand still, directories
that are not there or not shared, what is left behind.

    disk_level_test.py BUILD ORDERS
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import jobs
from node_mutations import wrong
from some import some

BUILD, ORDERS = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
PESSIMIST, OPTIMIST = ("--protocol", "pessimist"), ("--protocol", "optimist")


class DiskLevel(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-disk-level-"))

    def tearDown(self):
        shutil.rmtree(self.directory)

    def run_orders(self, *inject, ranks=5, nodes=3, spares=1, level="disk", options=(), rounds=150, microseconds=2000, expect=0):
        words = ["-v", "--spares", str(spares), "--log-level", level, "--event-dir", str(self.directory), *map(str, options)]
        outcome = jobs.run(BUILD, ranks, [ORDERS, rounds, microseconds], nodes=nodes, inject=inject, options=words)
        self.assertEqual(outcome.exit_code, expect, outcome.stderr)
        self.assertEqual(list(self.directory.iterdir()), [], "is left behind")
        self.assertIn(f"log level {level}: ", outcome.stderr)
        if expect == 0:
            self.assertEqual(outcome.report["log_level"], level)
            if any(words.startswith("node:") for words in inject):
                self.assertIsNone(wrong(0, outcome.stdout, outcome.stderr))
        return outcome

    def test_nothing_happens(self):
        for level, options in some((("disk", PESSIMIST), ("disk", OPTIMIST), ("node+disk", PESSIMIST), ("process+disk", ()), ("process+node+disk", ())), 2):
            with self.subTest(level=level, options=options):
                self.run_orders(level=level, options=options, rounds=50)

    def test_a_node(self):
        for node, options in some(((0, PESSIMIST), (1, PESSIMIST), (2, PESSIMIST), (0, OPTIMIST), (1, OPTIMIST)), 2):
            with self.subTest(node=node, options=options):
                outcome = self.run_orders(f"node:{node},at=150ms", options=options)
                self.assertRegex(outcome.stderr, rf"node {node} is lost: its connection ended; its \d ranks? starts? again on node 3")

    def test_all_nodes_with_ranks_at_once(self):
        for level, options in some((("disk", PESSIMIST), ("disk", OPTIMIST), ("node+disk", PESSIMIST)), 2):
            with self.subTest(level=level, options=options):
                outcome = self.run_orders("node:0,at=150ms", "node:1,at=150ms", "node:2,at=150ms", level=level, options=options)
                self.assertEqual(outcome.stderr.count("is lost"), 3, outcome.stderr)

    def test_one_after_the_other_and_the_spare(self):
        for level in some(("disk", "node+disk"), 1):
            with self.subTest(level=level):
                outcome = self.run_orders("node:1,at=100ms", "node:3,at=400ms", "node:0,at=700ms", spares=2, rounds=400, level=level)
                self.assertEqual(outcome.stderr.count("is lost"), 3, outcome.stderr)

    def test_the_spare_while_it_takes_over(self):
        for after_us in some((100, 1000, 3000, 8000, 20000), 2):
            with self.subTest(after_us=after_us):
                self.run_orders("node:0,at=150ms", f"node:3,at={150000 + after_us}us", spares=2)

    def test_down_to_one_node(self):
        self.run_orders("node:1,at=100ms", "node:0,at=300ms", nodes=2, spares=1, rounds=300)

    def test_a_node_that_comes_back(self):
        outcome = self.run_orders("pause:node=1,at=100ms,for=2s", rounds=200, microseconds=10000)
        self.assertIn("node 1 is lost: nothing was heard", outcome.stderr)

    def test_ranks_that_die_alone(self):
        for options in some((PESSIMIST, OPTIMIST), 1):
            with self.subTest(options=options):
                outcome = self.run_orders("kill:rank=0,at=80ms", "kill:rank=2,at=120ms", "node:1,at=200ms", "kill:rank=2,at=350ms", rounds=300, options=options)
                self.assertGreaterEqual(len(outcome.report["failures"]), 4)

    def test_a_full_disk_ends_the_job_by_name(self):
        outcome = self.run_orders("disk:node=0,at=100ms", rounds=1000, expect=1)
        lines = [line for line in outcome.stderr.splitlines() if "No space left" in line]
        self.assertEqual(len(lines), 1, outcome.stderr)
        self.assertRegex(lines[0], r"node 0 .*determinants cannot be kept in .*: make room there, or give another directory \(--event-dir\); the job ends")

    def test_a_file_system_that_is_really_full(self):
        inside = " ".join(f"'{word}'" for word in (BUILD / "bin/holdfast", "run", "-n", 4, "--nodes", 2, "--log-level", "disk", "--event-dir", self.directory, ORDERS,
                                                    20000, 0))
        if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", self.directory], capture_output=True).returncode != 0:
            self.skipTest("file systems cannot be mounted here")
        done = subprocess.run(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=128k none '{self.directory}' && {inside}"], capture_output=True,
                              timeout=120, env=jobs.environment())
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"No space left on device: make room there", done.stderr)

    def test_a_disk_that_stands_still_makes_nobody_lost(self):
        begin = time.monotonic()
        outcome = self.run_orders("disk:node=0,at=100ms,for=3s", "disk:node=1,at=100ms,for=3s", rounds=100, options=("--node-timeout", 500))
        self.assertGreater(time.monotonic() - begin, 3)
        self.assertNotIn("is lost", outcome.stderr)

    def test_a_directory_that_cannot_be_made(self):
        for directory in (self.directory / "none", "/proc"):
            done = subprocess.run([BUILD / "bin/holdfast", "run", "-n", "2", "--nodes", "2", "--log-level", "disk", "--event-dir", directory, "true"],
                                  capture_output=True, text=True, timeout=60, env=jobs.environment())
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, r"cannot make \S+/holdfast-events-\w{16}: .* \(--event-dir\)")

    def test_a_directory_that_is_not_shared(self):
        hidden = self.directory / "hidden"
        if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", self.directory], capture_output=True).returncode != 0:
            self.skipTest("file systems cannot be mounted here")
        hidden.mkdir()
        remote = self.directory / "remote"  # as ssh; the host `apart` has another directory of that name
        remote.write_text(f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\n[ "$2" = apart ] || exec sh -c "$3"\n'
                          f'export COMMAND="$3"\nexec unshare -rm sh -c \'mount -t tmpfs none {hidden} && exec sh -c "$COMMAND"\'\n')
        remote.chmod(stat.S_IRWXU)
        words = [BUILD / "bin/holdfast", "run", "--launcher", "ssh", "--launcher-exec", remote, "--log-level", "disk", "--event-dir", hidden]
        why = r"node \d \(apart\): does not see \S+holdfast-events-\w{16}, which the head has made .*--event-dir must name a directory that all nodes share; "
        done = subprocess.run([*words, "-n", "2", "--hosts", "a,apart", "true"], capture_output=True, text=True, timeout=60, env=jobs.environment())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, why + "the job ends")
        self.assertEqual(done.stderr.count("does not see"), 1)
        done = subprocess.run([*words, "-n", "2", "--hosts", "a,b,apart", "--spares", "1", "true"], capture_output=True, text=True, timeout=60, env=jobs.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, why + "it is not used as a spare")
        self.assertEqual(list(hidden.iterdir()), [])

    def test_what_a_killed_job_leaves(self):
        job = subprocess.Popen([BUILD / "bin/holdfast", "run", "-n", "2", "--nodes", "2", "--log-level", "disk", "--event-dir", self.directory, ORDERS, "20", "1000000"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=jobs.environment())
        job.stdout.readline()
        os.kill(job.pid, signal.SIGKILL)
        job.communicate()
        left, = self.directory.iterdir()
        self.assertRegex(left.name, r"^holdfast-events-[0-9a-f]{16}$")
        self.assertEqual(sorted(path.name for path in left.iterdir()), ["node-0", "node-1", "terms"])


if __name__ == "__main__":
    unittest.main()
