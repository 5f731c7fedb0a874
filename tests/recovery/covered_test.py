"""covered_test.py BUILD PROGRAM: what a checkpoint of the receiver covers leaves the sender's log, and nothing else does (design rule 6). The checkpoints
are those of `--inject covered:`, which do not exist: only the log is real."""

import sys
import unittest
from pathlib import Path

import jobs

BUILD, PROGRAM = (Path(word).resolve() for word in sys.argv[1:3])
ROUNDS, RANKS = 40, 3
SMALL_LOG = ["--log-memory", "16M", "--log-disk", "0", "--log-ready", "4M"]  # a rank sends 48 MB
WAYS = [(1, "pessimist"), (1, "optimist"), (3, "pessimist"), (3, "optimist")]
PRINTED = f"late: {ROUNDS} rounds\n".encode()


class Covered(unittest.TestCase):
    def job(self, nodes, protocol, inject=(), options=SMALL_LOG):
        return jobs.run(BUILD, RANKS, [PROGRAM, ROUNDS], nodes=nodes, inject=inject, options=["--protocol", protocol, *options], timeout_s=20)

    def expect(self, outcome):
        self.assertIsNone(jobs.complaint(outcome, PRINTED), f"{jobs.complaint(outcome, PRINTED)}\n{outcome.shell_line()}\n{outcome.stderr}")

    def test_the_log_stays_small(self):
        for nodes, protocol in WAYS:
            with self.subTest(nodes=nodes, protocol=protocol):
                full = self.job(nodes, protocol)
                self.expect(full)
                self.assertGreater(full.report["totals"]["bytes_unprotected"], 0, "the log is too large for this to be a test")
                covered = self.job(nodes, protocol, ["covered:calls=20"])
                self.expect(covered)
                totals = covered.report["totals"]
                self.assertEqual(totals["bytes_unprotected"], 0, covered.shell_line())
                self.assertGreater(totals["log_left"], 0)
                self.assertLess(totals["log_left"], totals["bytes_logged"] / 4)

    def test_payloads_that_are_read_later_are_kept(self):
        """Those that stay in the sender's log until they are received: copied inside a node, announced between nodes."""
        for nodes, options in ((1, ["--large-messages", "copied"]), (3, ["--eager-limit", "16K"])):
            for protocol in ("pessimist", "optimist"):
                with self.subTest(nodes=nodes, protocol=protocol):
                    self.expect(self.job(nodes, protocol, ["covered:calls=20"], options))

    def test_who_needs_what_was_dropped_ends_the_job(self):
        for nodes in (1, 3):
            with self.subTest(nodes=nodes):
                outcome = self.job(nodes, "pessimist", ["covered:calls=20", "kill:rank=1,call=1200"])
                self.assertNotIn(outcome.exit_code, (0, None), outcome.shell_line())
                self.assertIn("has dropped from its log what this rank needs", outcome.stderr, outcome.shell_line())

    def test_the_sender_that_dropped_recovers(self):
        """What it cannot find in its predecessor's log any more it sends again, and its receiver drops that by number."""
        for nodes, protocol in WAYS:
            with self.subTest(nodes=nodes, protocol=protocol):
                outcome = self.job(nodes, protocol, ["covered:calls=20,rank=1", "kill:rank=0,call=1200"], options=())
                self.expect(outcome)
                self.assertEqual(outcome.kills, 1, outcome.shell_line())


unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
