"""Jobs of the program orders that lose nodes: run, and looked at when they have ended (what was printed, what is left behind)."""

import json
import os
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path


def digest_of(output, lines=()):
    """What the ranks must have in the end, from the orders that rank 0 printed."""
    digest = told = 14695981039346656037
    rounds = re.findall(r"^round (\d+):((?: \d+)*)$", output, re.M)
    for expected, (number, sources) in enumerate(rounds):
        if int(number) != expected:
            raise AssertionError(f"round {number} printed where {expected} was due")
        values = [int(s) for s in sources.split()]
        if expected < len(lines):
            values += list(lines[expected])
        for value in values:
            digest = ((digest ^ value) * 1099511628211) & (2**64 - 1)
        told = ((told ^ digest) * 1099511628211) & (2**64 - 1)
    return f"{told:016x}"


class OrdersJob(unittest.TestCase):
    """`build` and `orders` (the program) are set by the test."""

    maxDiff = None
    build = orders = None

    def run_orders(self, ranks, nodes, spares, *inject, rounds=150, microseconds=2000, options=(), stdin=b"", early=False, expect=0):
        self.marker = f"node-loss-{os.getpid()}-{time.monotonic_ns()}"
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory) / "report.json"
            command = [self.build / "bin/holdfast", "run", "-n", ranks, "--nodes", nodes, "--spares", spares, "--report", report, *options]
            for words in inject:
                command += ["--inject", words]
            command += [self.orders, rounds, microseconds, *(["stdin"] if stdin else ["early"] if early else [])]
            done = subprocess.run([str(w) for w in command], input=stdin, capture_output=True, timeout=60,
                                  env={**os.environ, "NODE_LOSS_TEST": self.marker})
            self.report = json.loads(report.read_text()) if report.exists() else {}
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, expect, self.err)
        self.expect_nothing_left()
        if expect == 0:
            self.expect_orders(ranks, rounds, stdin.splitlines(keepends=True), early)
        return done

    def expect_orders(self, ranks, rounds, lines, early):
        self.assertEqual(len(re.findall(r"^round ", self.out, re.M)), rounds)
        digests = re.findall(r"^rank (\d+) digest (\w+)$", self.out, re.M)
        self.assertEqual(sorted(int(r) for r, _ in digests), list(range(ranks)))
        for rank, digest in digests:
            whole = not early or int(rank) < ranks // 2
            seen = self.out if whole else re.sub(rf"^round {rounds // 2}:.*", "", self.out, flags=re.M | re.S)
            self.assertEqual(digest, digest_of(seen, lines), f"rank {rank} has another order than was printed")

    def expect_nothing_left(self):
        def left():
            found = []
            for entry in Path("/proc").iterdir():
                try:
                    if entry.name.isdigit() and self.marker.encode() in (entry / "environ").read_bytes():
                        found.append(entry.name)
                except OSError:
                    pass
            return found
        deadline = time.monotonic() + 10
        while left():
            self.assertLess(time.monotonic(), deadline, f"processes {left()} are left behind")
            time.sleep(0.02)
