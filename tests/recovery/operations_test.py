"""Operations of the program in collectives that do not block run where a replay runs them again, and sums are rounded as the call that began them
said (docs/events.md, Operations): ranks are killed at random, and what is printed and computed is what it is undisturbed.

    operations_test.py BUILD PROGRAM
"""

import os
import random
import sys
import unittest
from pathlib import Path

import jobs

BUILD, PROGRAM = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
SEED = int(os.environ.get("HOLDFAST_SEED", random.randrange(10**6)))


class Operations(unittest.TestCase):
    def run_job(self, nodes, protocol, inject=(), level=()):
        outcome = jobs.run(BUILD, 4, [PROGRAM, 40, 3000], nodes=nodes, inject=inject, options=["--protocol", protocol, *level], timeout_s=90)
        self.assertEqual(outcome.exit_code, 0, f"HOLDFAST_SEED={SEED}\n" + outcome.shell_line() + "\n" + outcome.stderr)
        self.assertNotIn("differ", outcome.stderr)
        return outcome

    def test_ranks_are_killed(self):
        for nodes, protocol in ((1, "pessimist"), (2, "pessimist"), (2, "optimist"), (4, "pessimist")):
            quiet = self.run_job(nodes, protocol)
            for seed in range(SEED, SEED + 3):
                with self.subTest(nodes=nodes, protocol=protocol, seed=seed):
                    outcome = self.run_job(nodes, protocol, [f"kill:random,rate=20/s,max=8,seed={seed}"])
                    self.assertEqual(outcome.stdout, quiet.stdout)
                    self.assertGreater(len(outcome.report["failures"]), 0)

    def test_nothing_is_recorded_without_a_protocol(self):
        self.assertIn(b"rank 3: ", self.run_job(2, "none").stdout)


if __name__ == "__main__":
    unittest.main()
