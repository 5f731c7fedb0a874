"""bound_test.py BUILD PROGRAM: the log is bounded (design rule 6). Past --log-memory it lies on disk; past --log-disk the receiver
that holds most of it is given up, by name, and the job goes on without a log for it."""

import sys
import unittest
from pathlib import Path

import jobs

BUILD, PROGRAM = (Path(word).resolve() for word in sys.argv[1:3])
MESSAGES = 120  # of 1 MiB, from each of two senders to rank 0
NO_DISK = ["--log-memory", "32M", "--log-disk", "0"]
GIVEN_UP = "rank 0 is unprotected from now on"


class Bound(unittest.TestCase):
    def job(self, inject=(), options=(), nodes=1):
        return jobs.run(BUILD, 3, [PROGRAM, "receive", MESSAGES], nodes=nodes, inject=inject, options=options, timeout_s=60)

    def expect(self, outcome, code=0):
        self.assertEqual(outcome.exit_code, code, f"{outcome.shell_line()}\n{outcome.stderr}")

    def setUp(self):
        calm = self.job()
        self.expect(calm)
        self.answer = calm.stdout

    def test_past_memory_the_log_lies_on_disk(self):
        for nodes in (1, 3):
            with self.subTest(nodes=nodes):
                outcome = self.job(inject=["kill:rank=0,call=600"], options=["--log-memory", "32M"], nodes=nodes)
                self.expect(outcome)
                self.assertEqual(outcome.stdout, self.answer)
                self.assertEqual(outcome.kills, 1)
                self.assertNotIn("unprotected", outcome.stderr)
                self.assertEqual(outcome.report["totals"]["bytes_unprotected"], 0)

    def test_past_disk_a_receiver_is_given_up_and_the_job_goes_on(self):
        for nodes in (1, 3):
            with self.subTest(nodes=nodes):
                outcome = self.job(options=NO_DISK, nodes=nodes)
                self.expect(outcome)
                self.assertEqual(outcome.stdout, self.answer)
                self.assertIn(GIVEN_UP, outcome.stderr)
                self.assertGreater(outcome.report["totals"]["bytes_unprotected"], 64 << 20)

    def test_death_of_the_receiver_ends_the_job_by_name(self):
        for nodes in (1, 3):
            with self.subTest(nodes=nodes):
                outcome = self.job(inject=["kill:rank=0,call=600"], options=NO_DISK, nodes=nodes)
                self.expect(outcome, 137)
                self.assertIn(GIVEN_UP, outcome.stderr)
                self.assertRegex(outcome.stderr, "rank 0 was killed by SIGKILL, and was unprotected")

    def test_death_of_a_sender_is_survived(self):
        """What a sender sent without keeping it, its next incarnation sends again, and the receiver takes only what it lacks."""
        for nodes in (1, 3):
            for call in (60, 110):
                with self.subTest(nodes=nodes, call=call):
                    outcome = self.job(inject=[f"kill:rank=1,call={200 + call}"], options=NO_DISK, nodes=nodes)
                    self.expect(outcome)
                    self.assertEqual(outcome.kills, 1, outcome.stderr)
                    self.assertIn(GIVEN_UP, outcome.stderr)
                    self.assertEqual(outcome.stdout, self.answer)


unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
