"""Event loggers, story by story (docs/event-loggers.md), under both protocols: what the survivors have, what was printed, what was said.

    event_loggers_test.py BUILD ORDERS

Four nodes with a rank each (0-3), a spare (4), event loggers 5 and 6: 5 holds the events of nodes 0 and 2, 6 those of 1 and 3.
"""

import re
import sys
import unittest
from pathlib import Path

from orders_job import OrdersJob
from some import some

OrdersJob.build, OrdersJob.orders = (Path(sys.argv.pop(1)).resolve() for _ in range(2))

NONE_LEFT = "none is left: nodes hold each other's determinants from now on"
ELSEWHERE = "keeps its determinants elsewhere from now on"


class Stories:
    protocol = None

    def run_with(self, loggers, *inject, ranks=4, nodes=4, spares=1, options=(), **more):
        self.run_orders(ranks, nodes, spares, *inject, options=("--protocol", self.protocol, "--event-loggers", loggers, *options), **more)

    def lost(self):
        return {lost["node"]: lost for lost in self.report["lost_nodes"]}

    def test_nothing_is_lost(self):
        for loggers in some((1, 2, 4), 2):
            with self.subTest(loggers=loggers):
                self.run_with(loggers)
                self.assertRegex(self.err, rf"4 ranks on 4 nodes, protocol {self.protocol}, .*; {loggers} event loggers?\n")
                self.assertEqual((self.report["event_logger_count"], self.report["log_level"]), (loggers, "node"))

    def test_a_logger_and_later_a_node_whose_events_it_held(self):
        self.run_with(2, "node:5,at=100ms", "node:0,at=500ms", rounds=300)
        self.assertRegex(self.err, r"node 5 is lost: its connection ended; it was an event logger\n")
        self.assertRegex(self.err, r"node 0 is lost: .*; its 1 rank starts again on node 4\n")
        self.assertTrue(self.lost()[5]["event_logger"])
        self.assertFalse(self.lost()[0]["event_logger"])

    def test_a_node_and_later_its_logger(self):
        self.run_with(2, "node:0,at=100ms", "node:5,at=500ms", "kill:rank=0,at=600ms", rounds=300)
        self.assertEqual(self.err.count("is lost"), 2)

    def test_a_logger_and_a_node_that_another_one_serves_at_once(self):
        self.run_with(2, "node:6,at=150ms", "node:0,at=150ms", "kill:rank=1,at=151ms")
        self.assertEqual(self.err.count("is lost"), 2)

    def test_all_loggers_at_once_and_then_a_node(self):
        self.run_with(2, "node:5,at=100ms", "node:6,at=100ms", "node:0,at=600ms", rounds=400)
        self.assertEqual(self.err.count(NONE_LEFT), 1)
        self.assertEqual(self.err.count("is lost"), 3)

    def test_all_loggers_one_after_the_other(self):
        self.run_with(3, "node:5,at=100ms", "node:7,at=200ms", "node:6,at=300ms", rounds=300)
        self.assertEqual(self.err.count("it was an event logger\n"), 2)
        self.assertEqual(self.err.count(NONE_LEFT), 1)

    def test_a_node_and_its_logger_at_once(self):
        self.run_with(2, "node:5,at=150ms", "node:0,at=150ms", expect=1)
        self.assertRegex(self.err, r"the determinants of rank 0 were lost|cannot start again")
        self.assertIn("the job ends", self.err)

    def test_a_slow_logger_is_waited_for(self):
        self.run_with(2, "pause:node=5,at=100ms,for=500ms", options=("--node-timeout", 2000))
        self.assertNotIn("is lost", self.err)
        self.assertNotIn(ELSEWHERE, self.err)

    def test_a_logger_that_is_silent_for_too_long_is_replaced(self):
        self.run_with(2, "pause:node=5,at=100ms,for=2s", "node:0,at=3s", rounds=400, microseconds=10000)
        self.assertRegex(self.err, r"node 5 is lost: nothing was heard of it for \d+ ms.*; it was an event logger")
        self.assertEqual(self.err.count("is lost"), 2)

    def test_full_loggers_are_named_once_each(self):
        # All of them, and then the nodes: 8 KiB of events have no room anywhere.
        self.run_with(2, ranks=4, spares=0, rounds=300, options=("--event-memory", "2K"))
        moved = re.findall(rf"node 0 {ELSEWHERE}: node (\d+): its memory for events is full", self.err)
        self.assertEqual(sorted(moved), sorted(set(moved)), self.err)
        self.assertLessEqual({"4", "5"}, set(moved))
        self.assertEqual(self.err.count("the determinants of node 0 are on that node alone from now on"), 1)

    def test_what_full_holders_have_is_not_taken_for_all(self):
        self.run_with(2, "node:0,at=2s", spares=1, rounds=3000, options=("--event-memory", "2K"), expect=1)
        self.assertIn("the determinants of node 0 are on that node alone", self.err)
        self.assertRegex(self.err, "the determinants of rank 0 were lost: .*; the job ends")

    def test_two_copies_survive_a_node_and_a_holder_at_once(self):
        copies = ("--event-copies", 2)
        for holder in (5, 6):  # both hold the events of node 0
            with self.subTest(holder=holder):
                self.run_with(3, "node:0,at=150ms", f"node:{holder},at=150ms", options=copies)
                self.assertEqual(self.err.count("is lost"), 2)
                self.assertRegex(self.err, "3 event loggers; 2 copies of determinants")
        # Without event loggers: node 1 and 2 hold those of node 0.
        self.run_with(0, "node:0,at=150ms", "node:1,at=150ms", spares=2, options=copies)
        self.assertEqual(self.err.count("is lost"), 2)
        # Later it is as before: each has been replaced.
        self.run_with(2, "node:5,at=100ms", "node:6,at=400ms", "node:0,at=800ms", "node:1,at=800ms", spares=2, rounds=500, options=copies)
        self.assertEqual(self.err.count("is lost"), 4)

    def test_two_copies_and_both_holders_at_once(self):
        self.run_with(3, "node:0,at=150ms", "node:5,at=150ms", "node:6,at=150ms", options=("--event-copies", 2), expect=1)
        self.assertRegex(self.err, r"the determinants of rank 0 were lost|cannot start again")

    def test_fewer_nodes_than_copies_are_left(self):
        self.run_with(2, "node:3,at=100ms", "node:4,at=100ms", ranks=3, nodes=3, spares=0, options=("--event-copies", 3))
        self.run_with(2, "node:2,at=100ms", ranks=2, nodes=2, spares=0, options=("--event-copies", 3))
        self.assertIn("the determinants of node 0 are held 2 times only from now on: no other node is left to hold them", self.err)

    def test_they_take_no_ranks_over(self):
        self.run_with(2, "node:1,at=100ms", spares=0)
        self.assertRegex(self.err, r"node 1 is lost: .*; its 1 rank starts again on node [023]\n")
        self.run_with(2, "node:0,at=100ms", ranks=2, nodes=1, spares=0, expect=1)
        self.assertIn("there is no other node left; the job ends", self.err)

    def test_one_node_and_a_spare(self):
        self.run_with(1, "node:0,at=100ms", ranks=3, nodes=1, spares=1)
        self.assertRegex(self.err, r"node 0 is lost: .*; its 3 ranks start again on node 1\n")


class Pessimist(Stories, OrdersJob):
    protocol = "pessimist"


class Optimist(Stories, OrdersJob):
    protocol = "optimist"


def load_tests(loader, tests, pattern):
    names = loader.getTestCaseNames(Pessimist)
    return unittest.TestSuite(protocol(name) for name in names for protocol in some((Pessimist, Optimist), 1))


if __name__ == "__main__":
    unittest.main()
