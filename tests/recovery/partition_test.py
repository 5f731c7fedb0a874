"""The network between nodes is cut for a time (--inject partition:...), story by story: short, nobody notices; long, the nodes that the
head cannot reach are lost, their ranks go on elsewhere, and when it has healed what is left there ends (docs/node-loss.md, fencing).

    partition_test.py BUILD ORDERS
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "launcher"))
import side_by_side  # noqa: E402
from orders_job import OrdersJob  # noqa: E402
from some import some  # noqa: E402

OrdersJob.build, OrdersJob.orders = (Path(sys.argv.pop(1)).resolve() for _ in range(2))

patient_ms = 2000  # half of it is the least silence after which a node can be lost: more than a short partition, on a busy machine too

class Agents(threading.Thread):
    """How many agents of a job there are, every 20 ms."""

    def __init__(self, marker):
        super().__init__(daemon=True)
        self.marker, self.counts, self.over = marker, [], False
        self.start()

    def run(self):
        while not self.over:
            self.counts.append((time.monotonic(), self.count()))
            time.sleep(0.02)

    def count(self):
        parents = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(b"holdfast\0agent\0") and \
                        self.marker.encode() in (entry / "environ").read_bytes():
                    parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass
        # An agent's child is a rank that it has forked and that has not yet become its program.
        return sum(parent not in parents for parent in parents.values())


class Partitions(OrdersJob):
    def watch(self, *words):
        """Runs the orders; when each line was printed, and how many agents there were."""
        self.marker = f"partition-{os.getpid()}-{time.monotonic_ns()}"
        command = [self.build / "bin/holdfast", "run", *words[:-2], self.orders, *words[-2:]]
        job = subprocess.Popen([str(w) for w in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "NODE_LOSS_TEST": self.marker})
        agents = Agents(self.marker)
        lines, times = [], []
        for line in job.stdout:
            lines.append(line.decode())
            times.append(time.monotonic())
        agents.over = True
        agents.join()
        self.out, self.err = "".join(lines), job.communicate(timeout=20)[1].decode()
        self.assertEqual(job.returncode, 0, self.err)
        self.expect_nothing_left()
        return times, agents.counts

    def test_a_short_one_goes_unnoticed(self):
        # At level node no frame leaves without the holder's answer; without logs nothing but the ranks' connections is needed.
        for options in some(((), ("--log-level", "process"), ("--protocol", "none")), 2):
            with self.subTest(options=options):
                words = ("-n", 4, "--nodes", 2, "--node-timeout", patient_ms, *(("--spares", 1) if not options else ()), *options)
                self.watch(*words, 100, 2000)
                quiet = self.err
                times, agents = self.watch(*words, "--inject", "partition:0|1,at=100ms,for=500ms", 100, 2000)
                self.expect_orders(4, 100, (), False)
                self.assertEqual(self.err, quiet)
                # Rank 0 needs a message of the other side in each round.
                gap = max(later - earlier for earlier, later in zip(times, times[1:]))
                self.assertGreater(gap, 0.45, "bytes have passed")
                self.assertLess(gap, 3)

    def test_a_long_one(self):
        times, agents = self.watch("-n", 4, "--nodes", 2, "--spares", 1, "--inject", "partition:0|1,at=100ms,for=2s", 200, 10000)
        self.expect_orders(4, 200, (), False)
        self.assertRegex(self.err, r"node 1 is lost: nothing was heard of it for \d+ ms")
        self.assertEqual(self.err.count("is lost"), 1, self.err)
        cut = times[0] + 0.1
        still_cut = [n for at, n in agents if cut < at < cut + 1.7]
        healed = [n for at, n in agents if cut + 3 < at < times[-1] - 0.1]
        self.assertGreater(len(healed), 5, "the job was over too soon to tell")
        self.assertEqual(set(still_cut), {3}, "what is cut off does not know that it was given up")
        self.assertEqual(set(healed), {2}, "what was cut off has not ended")

    def test_rank_0_is_cut_off(self):
        self.run_orders(4, 2, 1, "partition:1|0,at=100ms,for=1800ms", rounds=300, microseconds=10000)
        self.assertRegex(self.err, "node 0 is lost: nothing was heard of it")

    def test_two_nodes_that_hold_nothing_of_each_other(self):
        self.run_orders(4, 4, 2, "partition:0,2|1,3,at=100ms,for=1500ms", rounds=300, microseconds=5000)
        self.assertEqual(self.err.count("is lost"), 2, self.err)

    def test_three_parts(self):
        self.run_orders(4, 4, 2, "partition:0|1|3,at=100ms,for=1500ms", rounds=300, microseconds=5000)
        self.assertEqual(self.err.count("is lost"), 2, self.err)

    def test_spread_over_the_others(self):
        self.run_orders(6, 3, 0, "partition:0,1|2,at=100ms,for=1500ms", rounds=300, microseconds=5000)
        self.assertIn("its 2 ranks start again on nodes 0, 1", self.err)

    def test_a_spare_node_that_was_cut_off_is_not_chosen(self):
        self.run_orders(4, 2, 2, "partition:0|2,at=100ms,for=1200ms", "node:1,at=2s", rounds=280, microseconds=10000)
        self.assertIn("node 2 is lost: nothing was heard of it", self.err)
        self.assertRegex(self.err, "node 1 is lost: its connection ended; its 2 ranks start again on node 3")

    def test_a_node_and_the_one_that_holds_its_events(self):
        self.run_orders(4, 4, 2, "partition:0,1|2,3,at=100ms,for=10s", rounds=300, microseconds=5000, expect=1)
        # Either of the two is found silent first.
        self.assertRegex(self.err, "cannot start again on node [45]: (agent 3, which holds their events, cannot be reached|"
                                   "the determinants of rank . were lost).*; the job ends")

    def test_short_ones_one_after_the_other_and_deaths(self):
        self.run_orders(4, 3, 1, "partition:0|1,at=50ms,for=300ms", "partition:0,1|2,at=400ms,for=300ms",
                        "partition:1|0,at=750ms,for=300ms", "kill:rank=2,at=150ms", "kill:rank=1,at=500ms", rounds=300,
                        options=("--node-timeout", patient_ms))
        self.assertNotIn("is lost", self.err)

    def test_one_at_a_time(self):
        self.run_orders(2, 2, 0, "partition:0|1,at=50ms,for=400ms", "partition:1|0,at=100ms,for=400ms", options=("--node-timeout", patient_ms))
        self.assertIn("partition:1|0,at=0.1s was not carried out: another one had not healed", self.err)
        self.assertNotIn("is lost", self.err)


if __name__ == "__main__":
    side_by_side.main()
