"""A rank that does something else after the loss of its node than before is noticed by those who have what it sent (docs/divergence.md).

    divergence_test.py BUILD PROGRAM [one]      one: only whether a difference is noticed at all
"""

import sys
import tempfile
import unittest
from pathlib import Path

import jobs

BUILD, PROGRAM = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
ONE = "one" in sys.argv[1:]
SAME = r"rank 1: replay differs from what rank 0 had received of it: "


class Divergence(unittest.TestCase):
    def run_job(self, mode, count, size, at, *options):
        with tempfile.TemporaryDirectory() as directory:
            outcome = jobs.run(BUILD, 2, [PROGRAM, Path(directory) / "mark", mode, count, size, at], nodes=2,
                               options=["--spares", "1", *options], timeout_s=60)
        self.assertIn("node 1 is lost", outcome.stderr, outcome.shell_line())
        return outcome

    def expect_noticed(self, what, mode, count, size, at, *options):
        with self.subTest(mode=mode, count=count, size=size, at=at, options=options):
            outcome = self.run_job(mode, count, size, at, *options)
            self.assertNotEqual(outcome.exit_code, 0, outcome.shell_line())
            self.assertRegex(outcome.stderr, SAME + what)
            self.assertEqual(outcome.stdout, b"")

    def test_another_tag(self):
        for at in (0, 10, 19):
            self.expect_noticed(f"message {at}, of tag 8 and 8 bytes, had another tag or length", "tag", 20, 8, at)

    @unittest.skipIf(ONE, "one")
    def test_another_length(self):
        self.expect_noticed("message 10, of tag 7 and 7 bytes, had another tag or length", "length", 20, 8, 10)
        # Only announced: nothing of it is sent again.
        self.expect_noticed("message 2, of tag 7 and 2999999 bytes, had another tag or length", "length", 4, 3000000, 2)

    @unittest.skipIf(ONE, "one")
    def test_another_payload(self):
        for count, size, at in ((20, 8, 10), (20, 8, 19), (20, 5000, 10), (10, 100000, 5), (6, 1000000, 3)):
            self.expect_noticed(f"message {at}, of tag 7 and {size} bytes, had another payload", "payload", count, size, at)

    @unittest.skipIf(ONE, "one")
    def test_one_of_many(self):
        for mode, what in (("tag", "tag or length"), ("payload", "payload")):
            self.expect_noticed(f"one of messages 496 to 511 had another {what}", mode, 1000, 8, 500)
            self.expect_noticed(f"one of messages 992 to 1007 had another {what}", mode, 1000, 8, 999)

    @unittest.skipIf(ONE, "one")
    def test_what_a_collective_adds(self):
        self.expect_noticed("message 10, of tag .* had another payload", "reduce", 20, 8, 10)

    @unittest.skipIf(ONE, "one")
    def test_optimist(self):
        self.expect_noticed("message 10, .* had another tag or length", "tag", 20, 8, 10, "--protocol", "optimist")
        self.expect_noticed("message 10, .* had another payload", "payload", 20, 8, 10, "--protocol", "optimist")

    @unittest.skipIf(ONE, "one")
    def test_a_payload_that_only_warns(self):
        outcome = self.run_job("payload", 20, 8, 10, "--on-divergence", "warn")
        self.assertEqual(outcome.exit_code, 0, outcome.stderr)
        self.assertRegex(outcome.stderr, SAME + "message 10, of tag 7 and 8 bytes, had another payload")
        self.assertEqual(outcome.stdout, self.run_job("none", 20, 8, 10).stdout, "what was received once stays")

    @unittest.skipIf(ONE, "one")
    def test_the_same_again_is_no_difference(self):
        for count, size in ((20, 8), (1000, 8), (300, 5000), (40, 100000), (20, 1000000), (4, 3000000)):
            for protocol in ("pessimist", "optimist"):
                with self.subTest(count=count, size=size, protocol=protocol):
                    outcome = self.run_job("none", count, size, 0, "--protocol", protocol)
                    self.assertEqual(outcome.exit_code, 0, outcome.stderr)
                    self.assertNotIn("differs", outcome.stderr)


unittest.main(argv=[sys.argv[0]])
