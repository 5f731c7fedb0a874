"""Loss of nodes, story by story (docs/node-loss.md): what the survivors have, what was printed, how long it took, what is left behind.

    node_loss_test.py BUILD ORDERS PROBED
"""

import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

import jobs
from orders_job import OrdersJob
from some import some, stories_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from timing import best_of_three  # noqa: E402

OrdersJob.build, OrdersJob.orders, PROBED = (Path(sys.argv.pop(1)).resolve() for _ in range(3))


class NodeLoss(OrdersJob):
    def restarted_after(self):
        """Seconds from the loss, as the head saw it, to the last of its ranks running again."""
        return max(f["restarted_after_s"] for f in self.report["failures"])

    def test_a_node(self):
        for node in some((0, 1, 2), 2):
            with self.subTest(node=node), tempfile.NamedTemporaryFile("r") as trace:
                self.run_orders(5, 3, 1, f"node:{node},at=150ms", options=("--trace", trace.name))
                self.assertRegex(self.err, rf"node {node} is lost: its connection ended; its \d ranks? starts? again on node 3")
                self.assertEqual(self.report["log_level"], "node")
                lost, = self.report["lost_nodes"]
                self.assertEqual((lost["node"], lost["moved_to"], lost["why"]), (node, [3], "its connection ended"))
                self.assertEqual(lost["ranks"], [f["rank"] for f in sorted(self.report["failures"], key=lambda f: f["rank"])])
                self.check_trace(json.load(trace)["traceEvents"], lost)

    def check_trace(self, events, lost):
        later = [e for e in events if re.fullmatch("incarnation [1-9].*", e["name"])]
        self.assertEqual(sorted((e["pid"], e["tid"]) for e in later), [(3, rank) for rank in lost["ranks"]])
        self.assertEqual([e["pid"] for e in events if e["name"].startswith("node lost: ")], [lost["node"]])
        self.assertEqual([e["pid"] for e in events if e["name"] == "process_name"], [0, 1, 2, 3])

    def test_what_was_done_again_is_known(self):
        """Its log is gone: peers tell how far a rank had come."""
        for nodes, spares in some(((2, 1), (2, 0), (4, 0)), 2):
            with self.subTest(nodes=nodes, spares=spares):
                self.run_orders(6, nodes, spares, "node:1,at=400ms")
                for failure in self.report["failures"]:
                    self.assertIsNone(failure["call"])
                    self.assertGreater(failure["messages_replayed"], 10)
                    self.assertGreater(failure["caught_up_after_s"], failure["first_call_after_s"])

    @best_of_three
    def test_time_when_the_connection_ends(self):
        self.run_orders(4, 2, 1, "node:1,at=100ms")
        self.assertLess(self.restarted_after(), 0.2)

    @best_of_three
    def test_a_node_that_is_silent_and_comes_back(self):
        self.run_orders(4, 2, 1, "pause:node=1,at=100ms,for=2s", rounds=300, microseconds=10000)
        self.assertRegex(self.err, r"node 1 is lost: nothing was heard of it for \d+ ms")
        self.assertLess(self.restarted_after() + int(re.search(r"for (\d+) ms", self.err)[1]) / 1000, 1.5)

    def test_a_short_silence_is_no_loss(self):
        self.run_orders(4, 2, 1, "pause:node=1,at=100ms,for=300ms", options=("--node-timeout", 2000))
        self.assertNotIn("is lost", self.err)

    def test_two_nodes_at_once(self):
        self.run_orders(4, 4, 2, "node:0,at=150ms", "node:2,at=150ms")
        self.assertEqual(self.err.count("is lost"), 2)

    def test_nodes_high_in_the_tree(self):
        # Fan-out 2; head: 0 1; 0: 2 3; 1: 4 5; 2: 6 7. Those below are found, told and heard on other ways from then on.
        deep = ("--fan-out", "2")
        for inject, more in some(((("node:0,at=150ms", "kill:rank=6,at=250ms"), {}),
                                  (("node:0,at=150ms", "node:2,at=150ms", "kill:rank=6,at=300ms"), {}),
                                  (("node:2,at=150ms", "node:0,at=350ms", "node:6,at=550ms"), {"rounds": 400}),
                                  (("pause:node=0,at=150ms,for=2s", "kill:rank=6,at=200ms"), {"microseconds": 10000})), 2):
            with self.subTest(inject=inject):
                self.run_orders(7, 7, 2, *inject, **{"rounds": 300, "options": deep, **more})
                self.assertEqual(self.report["failure_detection"]["fan_out"], 2)
                self.assertEqual(self.err.count("is lost"), sum("kill" not in words for words in inject), self.err)
                if "pause" in inject[0]:
                    self.assertIn("node 0 is lost: nothing was heard", self.err)

    def test_many_nodes(self):
        # From 16 agents on who holds the events of whom is a tree: 1 those of 3, 4 and 0; 0 those of 1 and 2.
        self.run_orders(18, 18, 2, "node:3,at=400ms", "node:0,at=1s", rounds=60, microseconds=10000, options=("--protocol", "optimist"))
        self.assertEqual(self.err.count("is lost"), 2, self.err)

    def test_one_node_after_the_other_and_the_spare(self):
        self.run_orders(4, 2, 3, "node:1,at=100ms", "node:2,at=400ms", "node:0,at=700ms", rounds=400)
        self.assertEqual(self.err.count("is lost"), 3)

    def test_the_spare_while_it_takes_over(self):
        for after_us in some((100, 1000, 2000, 4000, 8000, 15000, 30000), 3):
            with self.subTest(after_us=after_us):
                self.run_orders(4, 3, 2, "node:0,at=150ms", f"node:3,at={150000 + after_us}us")

    def test_the_node_that_holds_the_events(self):
        # Node 1 holds those of node 0. Much later node 0 is lost too: another has them by then.
        self.run_orders(4, 4, 2, "node:1,at=100ms", "node:0,at=500ms", rounds=300)
        self.assertEqual(self.err.count("is lost"), 2)

    def test_a_node_and_the_one_that_holds_its_events(self):
        done = self.run_orders(4, 4, 2, "node:0,at=150ms", "node:1,at=150ms", expect=1)
        self.assertRegex(self.err, r"the determinants of rank 0 were lost|cannot start again")
        self.assertIn("the job ends", self.err)
        self.assertNotEqual(done.returncode, 0)

    def test_no_spare_is_left(self):
        self.run_orders(4, 2, 0, "node:1,at=100ms", options=("--on-node-loss", "spare"), expect=1)
        self.assertIn("its ranks cannot start again: there is no spare node left (--spares); the job ends", self.err)
        self.run_orders(4, 3, 1, "node:1,at=100ms", options=("--on-node-loss", "end"), expect=1)
        self.assertIn("its ranks cannot start again: so --on-node-loss end wants it; the job ends", self.err)

    def test_spread_over_the_others(self):
        self.run_orders(6, 3, 0, "node:1,at=100ms", "kill:rank=2,at=200ms", "kill:rank=0,at=250ms", rounds=300)
        self.assertIn("its 2 ranks start again on nodes 0, 2", self.err)
        self.run_orders(6, 4, 0, "node:1,at=100ms", "node:3,at=250ms", rounds=300)
        self.assertEqual(self.err.count("is lost"), 2)

    def test_down_to_one_node(self):
        self.run_orders(4, 3, 0, "node:1,at=100ms", "node:2,at=300ms", rounds=300)
        self.assertIn("no other node is left to hold them", self.err)
        self.run_orders(4, 2, 0, "node:1,at=100ms", "node:0,at=300ms", rounds=300, expect=1)
        self.assertIn("there is no other node left", self.err)

    def test_a_spare_that_was_not_needed(self):
        self.run_orders(4, 2, 1, "node:2,at=100ms")
        self.assertIn("node 2 is lost: its connection ended; it had no ranks", self.err)

    def test_standard_input(self):
        lines = "".join(f"line {i} of what was given\n" for i in range(5000)).encode()
        self.run_orders(3, 2, 1, "node:0,at=150ms", stdin=lines)

    def test_ranks_that_die_alone_before_and_after(self):
        self.run_orders(4, 2, 1, "kill:rank=2,at=80ms", "node:1,at=150ms", "kill:rank=2,at=300ms", "kill:rank=0,at=350ms", rounds=300)
        self.assertGreaterEqual(len(self.report["failures"]), 5)

    def test_a_message_that_a_matched_probe_has_taken(self):
        for protocol in ("pessimist", "optimist"):
            outcome = jobs.run(OrdersJob.build, 3, [PROBED], nodes=3, inject=["node:0,at=700ms"], timeout_s=60,
                               options=["--spares", "1", "--protocol", protocol, "--eager-limit", "64K"])
            self.assertEqual((outcome.exit_code, outcome.stdout), (0, b"0 wrong\n"), outcome.stderr)
            self.assertIn("node 0 is lost", outcome.stderr)

    def test_a_node_whose_ranks_have_finished(self):
        # Ranks 2 and 3 leave after 150 ms. Rank 1, killed later, takes nothing of them, but rank 0 does.
        self.run_orders(4, 2, 1, "node:1,at=300ms", "kill:rank=0,at=350ms", rounds=200, early=True)
        self.assertIn("node 1 is lost", self.err)
        self.run_orders(4, 2, 2, "node:1,at=300ms", "node:0,at=500ms", rounds=200, early=True)
        self.assertEqual(self.err.count("is lost"), 2)


load_tests = stories_of(NodeLoss, 10)


if __name__ == "__main__":
    unittest.main()
