"""What a program finds in memory that it has not written, and where its objects stand, is the same in a replay (docs/recovery.md).

    unwritten_test.py BUILD UNWRITTEN
"""

import sys
import tempfile
import unittest
from pathlib import Path

import jobs

BUILD, UNWRITTEN = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
STEPS = 4000


class Unwritten(unittest.TestCase):
    def check(self, seed, **more):
        with tempfile.TemporaryDirectory() as directory:
            outcome = jobs.run(BUILD, 3, [UNWRITTEN, STEPS, directory], timeout_s=60,
                               inject=["kill:rank=1,call=9000", f"kill:random,rate=10/s,seed={seed},max=4"], **more)
        self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
        self.assertEqual(outcome.stdout, f"ok {STEPS}\n".encode(), outcome.shell_line())
        self.assertNotIn("differ", outcome.stderr, outcome.shell_line())
        self.assertGreater(outcome.kills, 0, outcome.shell_line())

    def test_one_node(self):
        for seed in range(1, 5):
            self.check(seed)

    def test_several_nodes(self):
        for seed in range(5, 8):
            self.check(seed, nodes=2)

    def test_optimist(self):
        for seed in range(8, 11):
            self.check(seed, nodes=2, options=["--protocol", "optimist"])

    def test_after_the_loss_of_a_node(self):
        with tempfile.TemporaryDirectory() as directory:
            outcome = jobs.run(BUILD, 3, [UNWRITTEN, STEPS, directory], nodes=3, inject=["node:1,at=0.3s"], options=["--spares", "1"], timeout_s=60)
        self.assertEqual((outcome.exit_code, outcome.stdout), (0, f"ok {STEPS}\n".encode()), outcome.shell_line() + outcome.stderr)


if __name__ == "__main__":
    unittest.main()
