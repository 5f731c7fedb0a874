"""no_sender_log_test.py BUILD PROGRAM LONG_PROGRAM: without the sender log (--no-sender-log) messages of every way arrive as ever, determinants are
logged and payloads are not, and the death of a rank ends the job by name."""

import sys
import unittest
from pathlib import Path

import jobs

BUILD, PROGRAM, LONG_PROGRAM = (Path(word).resolve() for word in sys.argv[1:4])
START = "protocol pessimist, log level {}, no sender log: for measurements, nothing survives the death of a rank"
WAYS = [(1, ()), (1, ("--large-messages", "direct")), (1, ("--large-messages", "copied")), (3, ()), (3, ("--eager-limit", "16K")),
        (3, ("--log-level", "process"))]


class NoSenderLog(unittest.TestCase):
    def job(self, nodes, *options, inject=()):
        return jobs.run(BUILD, 3, [PROGRAM], nodes=nodes, inject=inject, options=options, timeout_s=60)

    def expect(self, outcome, code=0):
        self.assertEqual(outcome.exit_code, code, f"{outcome.shell_line()}\n{outcome.stderr}")

    def test_messages_arrive_and_are_not_kept(self):
        for nodes, options in WAYS:
            with self.subTest(nodes=nodes, options=options):
                calm = self.job(nodes, *options)
                self.expect(calm)
                outcome = self.job(nodes, "--no-sender-log", *options)
                self.expect(outcome)
                self.assertEqual(outcome.stdout, calm.stdout)
                self.assertIn(START.format("process" if nodes == 1 or options == ("--log-level", "process") else "node"), outcome.stderr)
                totals = outcome.report["totals"]
                self.assertEqual((totals["bytes_logged"], totals["messages_logged"]), (0, 0))
                self.assertEqual(totals["determinants"], calm.report["totals"]["determinants"])
                self.assertGreater(totals["bytes_unprotected"], 1 << 20)
                self.assertIs(outcome.report["sender_log"], False)

    def test_a_death_ends_the_job(self):
        for nodes in (1, 3):
            with self.subTest(nodes=nodes):
                outcome = self.job(nodes, "--no-sender-log", inject=["kill:rank=1,call=9"])
                self.expect(outcome, 137)
                self.assertIn("rank 1 was killed by SIGKILL (--no-sender-log: nothing is recovered)", outcome.stderr)

    def test_the_loss_of_a_node_ends_the_job(self):
        outcome = jobs.run(BUILD, 3, [LONG_PROGRAM, "receive", 20000], nodes=3, inject=["node:1,at=0.1s"], options=["--no-sender-log"],
                           timeout_s=60)
        self.expect(outcome, 1)
        self.assertIn("node 1 is lost", outcome.stderr)
        self.assertIn("--no-sender-log keeps no messages", outcome.stderr)


unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
