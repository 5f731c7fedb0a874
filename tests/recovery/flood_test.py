"""More events than agents can pass on as they come: a program that reads clocks as fast as it can. No node counts as lost for it.

    flood_test.py BUILD FLOODING
"""

import sys
import unittest
from pathlib import Path

import jobs

BUILD, FLOODING = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
SECONDS = 2


class Flood(unittest.TestCase):
    def check(self, protocol, inject=()):
        outcome = jobs.run(BUILD, 3, [FLOODING, SECONDS], nodes=3, inject=inject, timeout_s=60, options=["--protocol", protocol])
        self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
        self.assertEqual(outcome.stdout, b"ok 1\n", outcome.shell_line())
        self.assertNotIn("is lost", outcome.stderr, outcome.shell_line())
        self.assertEqual(outcome.kills, len(inject), outcome.shell_line())

    def test_pessimist(self):
        self.check("pessimist")

    def test_optimist(self):
        self.check("optimist")

    def test_the_rank_that_wrote_them_starts_again(self):
        for protocol in ("pessimist", "optimist"):
            self.check(protocol, ["kill:rank=0,at=1.5s"])


if __name__ == "__main__":
    unittest.main()
