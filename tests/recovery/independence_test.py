"""independence_test.py BUILD PROGRAM: what MPI_Send has returned from reaches its receiver although the sender makes no further
MPI call: it is in the sender's log, and a receiver that waits looks there."""

import re
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jobs

BUILD, PROGRAM = (Path(word).resolve() for word in sys.argv[1:3])
LIMIT_S = 1.0  # the sender stays away for 3 s; milliseconds are usual
MANY = 3000    # of 64 bytes: more than a ring has cells, and within the eager credit


class Independence(unittest.TestCase):
    def received(self, cases, count, nodes):
        """Each of the cases, at the same time: the letters of the program's WHEN."""
        with ThreadPoolExecutor() as at_once:
            outcomes = list(at_once.map(
                lambda when: jobs.run(BUILD, 2, [PROGRAM, when, count], nodes=nodes, timeout_s=30), cases))
        for outcome in outcomes:
            with self.subTest(job=outcome.shell_line()):
                self.assertEqual(outcome.exit_code, 0, outcome.stderr)
                after = re.findall(r"had everything after ([0-9.]+) s", outcome.stderr)
                self.assertEqual(len(after), 1, outcome.stderr)
                self.assertLess(float(after[0]), LIMIT_S)
        self.assertEqual(len({outcome.stdout for outcome in outcomes}), 1)

    def test_to_another_node(self):
        """The connection is not open when the sender goes away: the receiver asks the sender's agent."""
        self.received(["", "i"], 1, nodes=2)
        self.received(["", "r"], MANY, nodes=2)

    def test_payloads_over_an_open_connection(self):
        """Large messages, and small ones past the eager credit: they are announced, and the sender sends no payload."""
        self.received(["ol", "rol"], 5, nodes=2)
        self.received(["o"], 3 * MANY, nodes=2)

    def test_more_than_the_ring_has_room_for(self):
        self.received(["", "r", "i", "o", "ro"], MANY, nodes=1)


unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
