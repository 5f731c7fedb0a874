"""The head of a job of --detach is killed, story by story and at random: another one goes on, and the job ends with all of its output,
once, and the right exit code (docs/head-loss.md).

    head_loss_test.py BUILD ORDERS --holdfast HOLDFAST --raw RAW
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "launcher"))
from orders_job import OrdersJob  # noqa: E402
from some import some  # noqa: E402

_, ORDERS = (Path(sys.argv.pop(1)).resolve() for _ in range(2))

import harness  # noqa: E402
from detached_test import Detached  # noqa: E402
from harness import commands_of, processes_of  # noqa: E402


class HeadLoss(Detached):
    expect_orders = OrdersJob.expect_orders

    def head(self, job):
        return self.jobs().get(job, {}).get("head")

    def kill_this_head(self, job):
        head = self.head(job)
        if head is None:
            return False
        try:
            os.kill(head, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def next_head(self, job, lost):
        self.wait_until(lambda: self.jobs().get(job, {}).get("heads_lost") == lost, "another head")

    def end(self, job, code=0):
        ended = self.wait_for_end(job)
        self.holdfast("logs", job, code=0)
        self.assertEqual((ended["state"], ended.get("exit_code")), ("ended", code), self.err)
        report = json.loads((self.state / "holdfast" / job / "report.json").read_text())
        self.assertEqual(report["exit_code"], code)
        self.expect_nothing_of_it()
        return report

    def orders(self, *words, rounds=200, microseconds=5000):
        return self.detach(*words, ORDERS, rounds, microseconds)

    def test_a_head(self):
        for nodes, more in some(((1, ()), (2, ()), (2, ("--spares", 1)), (2, ("--event-loggers", 2)), (6, ("--fan-out", 2)),
                                 (3, ("--protocol", "optimist")), (2, ("--log-level", "process+node"))), 2):
            with self.subTest(nodes=nodes, more=more):
                job = self.orders("-n", 6, "--nodes", nodes, *more)
                self.assertTrue(self.kill_this_head(job))
                self.next_head(job, 1)
                self.assertEqual(self.jobs()[job]["state"], "running")
                self.end(job)
                self.expect_orders(6, 200, (), False)
                self.assertEqual(self.err.count("the head of this job was killed; another one goes on (number 2)"), 1)
                self.assertNotIn("is lost", self.err)

    def test_protocol_none(self):
        job = self.orders("-n", 4, "--nodes", 2, "--protocol", "none")
        self.kill_this_head(job)
        self.end(job)
        self.expect_orders(4, 200, (), False)

    def test_ranks_die_meanwhile_and_after(self):
        for _ in range(3):
            job = self.orders("-n", 4, "--nodes", 2)
            ranks = [pid for pid, words in commands_of(processes_of(self.marker)).items() if words.startswith(str(ORDERS))]
            head = self.head(job)
            os.kill(head, signal.SIGSTOP)  # it does not hear of the first
            os.kill(ranks[0], signal.SIGKILL)
            time.sleep(0.05)
            os.kill(head, signal.SIGKILL)
            self.next_head(job, 1)
            os.kill(ranks[2], signal.SIGKILL)
            report = self.end(job)
            self.expect_orders(4, 200, (), False)
            self.assertEqual((report["restarts"], report["lost_heads"]), (2, 1))

    def test_with_nodes(self):
        """Nobody tells the new head of what was there; ranks start again on the spare, as with a lost node."""
        for fan_out, nodes in some(((32, (1,)), (2, (0,)), (2, (0, 2))), 1):
            with self.subTest(fan_out=fan_out, nodes=nodes):
                job = self.orders("-n", 4, "--nodes", 4, "--spares", 2, "--fan-out", fan_out)
                agents = sorted(pid for pid, words in commands_of(processes_of(self.marker)).items() if words.startswith("holdfast agent"))
                self.assertEqual(len(agents), 6)
                head = self.head(job)
                ranks = {agent: [int(p) for p in Path(f"/proc/{agent}/task/{agent}/children").read_text().split()] for agent in agents}
                victims = [pid for node in nodes for pid in ranks[agents[node]] + [agents[node]]]
                for pid in [head, *agents, *victims]:
                    os.kill(pid, signal.SIGSTOP)
                for pid in [*victims, head]:
                    os.kill(pid, signal.SIGKILL)
                for pid in agents:
                    if pid not in victims:
                        os.kill(pid, signal.SIGCONT)
                self.end(job)
                self.expect_orders(4, 200, (), False)
                for node in nodes:
                    self.assertRegex(self.err, f"node {node} is lost: it did not come back to the new head; its 1 rank starts again")

    def test_a_rank_dies_while_another_node_is_awaited(self):
        """What it prints again was passed on by the head that is gone, or by this one."""
        job = self.orders("-n", 4, "--nodes", 2, rounds=300)
        agents = sorted(pid for pid, words in commands_of(processes_of(self.marker)).items() if words.startswith("holdfast agent"))
        ranks = [int(p) for p in Path(f"/proc/{agents[0]}/task/{agents[0]}/children").read_text().split()]
        time.sleep(0.3)  # some of the output has left
        os.kill(agents[1], signal.SIGSTOP)
        self.assertTrue(self.kill_this_head(job))
        self.wait_until(lambda: (self.head(job) or 0) > 0 and self.jobs()[job].get("heads_lost") == 1, "another head")
        time.sleep(0.3)  # the first node has told it all, the other one has not
        os.kill(min(ranks), signal.SIGKILL)
        time.sleep(0.3)
        os.kill(agents[1], signal.SIGCONT)
        self.end(job)
        self.expect_orders(4, 300, (), False)

    def test_one_after_the_other(self):
        job = self.orders("-n", 4, "--nodes", 2, rounds=300)
        for lost in range(1, 5):
            self.assertTrue(self.kill_this_head(job))
            self.next_head(job, lost)
        self.end(job)
        self.expect_orders(4, 300, (), False)

    def test_injected(self):
        job = self.orders("-n", 4, "--nodes", 2, "--inject", "head,at=100ms", "--inject", "kill:rank=1,at=300ms", "--inject", "node:1,at=600ms")
        report = self.end(job)
        self.expect_orders(4, 200, (), False)
        self.assertEqual(self.err.count("another one goes on"), 1)
        self.assertIn("node 1 is lost", self.err)
        self.assertGreaterEqual(report["restarts"], 2)
        self.assertNotIn("not carried out", self.err)

    def metrics(self, job, heads):
        """As the head of that number shows them: each has a port of its own."""
        said = []

        def found():
            self.holdfast("logs", job)
            said[:] = re.findall(r"^holdfast: metrics at (http://\S+/metrics)$", self.err, re.M)
            return len(said) == heads

        self.wait_until(found, f"the address of the metrics of head {heads}")
        with urllib.request.urlopen(said[-1], timeout=10) as answer:
            return {name: float(value) for name, value in re.findall(r"^(holdfast_\w+(?:\{.*\})?) (\S+)$", answer.read().decode(), re.M)}

    def expect_no_less(self, before, after):
        totals = {name for name in before if re.match(r"holdfast_rank_\w+_total\{", name) and "_mpi_calls_" not in name}
        self.assertGreater(len(totals), 3 * 10)
        self.assertEqual({name: (before[name], after.get(name)) for name in totals if after.get(name, -1) < before[name]}, {})

    def test_counters_after_a_node_and_two_heads(self):
        job = self.orders("-n", 3, "--nodes", 3, "--spares", 1, "--metrics", ":0", "--inject", "node:1,at=1500ms", rounds=5000)
        sent, restarts = ('holdfast_rank_%s_total{rank="1"}' % name for name in ("messages_sent", "restarts"))
        self.wait_until(lambda: self.metrics(job, 1)[sent] > 0, "a first sample")
        lost = {}
        self.wait_until(lambda: lost.update(self.metrics(job, 1)) or lost[restarts] == 1, "the restart of rank 1")
        self.wait_until(lambda: self.metrics(job, 1)[sent] > lost[sent] + 50, "what its next incarnation sends")
        for heads in (2, 3):
            before = self.metrics(job, heads - 1)
            self.kill_this_head(job)
            self.expect_no_less(before, self.metrics(job, heads))  # before it has heard anything
            self.next_head(job, heads - 1)
            self.wait_until(lambda: self.metrics(job, heads)[sent] > before[sent], "new samples")
            after = self.metrics(job, heads)
            self.expect_no_less(before, after)
            self.assertEqual((after[restarts], after['holdfast_node_up{node="1",spare="false",event_logger="false"}']), (1, 0))
        self.assertEqual(self.jobs()[job]["restarts"], 1)
        self.holdfast("kill", job, code=0)
        report = self.end(job, 128 + signal.SIGTERM)
        self.assertEqual([(lost["node"], lost["time_s"]) for lost in report["lost_nodes"]], [(1, None)])
        self.assertEqual((report["restarts"], [rank["restarts"] for rank in report["ranks"]]), (1, [0, 1, 0]))
        printed = self.holdfast("report", self.state / "holdfast" / job / "report.json", code=0)
        self.assertRegex(printed, r"\n2 heads were lost: what is told of before is incomplete\n")
        self.assertNotIn("no rank died", printed)

    def test_what_was_written_is_there_once(self):
        """Much of it, in lines of many lengths, none at all, and as fast as it goes."""
        script = """import os, sys, random, time
r = random.Random(int(os.environ["PMI_RANK"]))
for i in range(60000):
    sys.stdout.write("%s %d %s" % (os.environ["PMI_RANK"], i, "x" * r.randrange(60)) + r.choice(["\\n", "\\n", "\\n", " "]))
    if i % 20 == 0: sys.stdout.flush()
    if i % 5000 == 0: sys.stderr.write("%d\\n" % i); time.sleep(0.1)
"""
        program = self.home / "writer.py"
        program.write_text(script)
        plain = [subprocess.run([sys.executable, program], env={**self.env, "PMI_RANK": str(rank)}, capture_output=True) for rank in range(2)]
        for label in ((), ("--label",)):
            job = self.detach("-n", 2, "--nodes", 2, *label, sys.executable, program)
            killed = 0
            while self.kill_this_head(job):
                killed += 1
                time.sleep(0.1)
            self.end(job)
            self.assertGreater(killed, 1)
            if label:
                for rank in range(2):
                    got = "".join(line[4:] for line in self.out.splitlines(keepends=True) if line.startswith(f"[{rank}] "))
                    self.assertEqual(got.replace("\n", " ").split(), plain[rank].stdout.decode().split())
            else:
                self.assertEqual(len(self.out), sum(len(p.stdout) for p in plain))
                self.assertEqual(sorted(re.findall(r"[01] \d+ x*", self.out)),
                                 sorted(re.findall(r"[01] \d+ x*", "".join(p.stdout.decode() for p in plain))))

    def test_exit_codes_and_kill(self):
        job = self.detach("-n", 2, "--nodes", 2, "sh", "-c", "sleep 1; test $PMI_RANK = 0 || exit 7")
        self.kill_this_head(job)
        self.end(job, 7)
        self.assertIn("rank 1 exited with code 7", self.err)
        job = self.detach("-n", 2, "--nodes", 2, "sh", "-c", "trap 'echo last words; exit 0' TERM; echo first; sleep 100 & wait")
        self.kill_this_head(job)
        self.holdfast("kill", job, code=0)
        self.end(job, 128 + signal.SIGTERM)
        self.assertEqual(sorted(self.out.split("\n")), ["", "first", "first", "last words", "last words"])
        self.assertNotIn("differs", self.err)

    def test_who_is_attached_stays_so(self):
        job = self.orders("-n", 4, "--nodes", 2)
        reader = self.follow("attach", "--no-input", job)
        for lost in (1, 2):
            reader.stdout.readline()
            self.kill_this_head(job)
            self.next_head(job, lost)
        rest, err = reader.stdout.read(), reader.stderr.read()
        self.assertEqual(reader.wait(), 0, err.decode())
        self.end(job)
        self.assertTrue(self.out.endswith(rest.decode()))
        self.assertEqual(len(rest.splitlines()), 204 - 2)

    def test_input(self):
        """Given before, between and after; and rank 0 moves to another node in the end."""
        for nodes, program in ((2, ("cat",)), (3, (ORDERS, 100, 5000, "stdin"))):
            job = self.detach("-n", 1 if nodes == 2 else 3, "--nodes", nodes, *(("--spares", 1) if nodes == 3 else ()), *program)
            writer = self.follow("attach", job, stdin=subprocess.PIPE)
            lines = [b"%d %s\n" % (i, b"x" * 50) for i in range(100)]
            for i in range(0, 100, 20):
                if i == 60 and nodes == 3:
                    agents = sorted(pid for pid, words in commands_of(processes_of(self.marker)).items() if words.startswith("holdfast agent"))
                    for pid in (*map(int, Path(f"/proc/{agents[0]}/task/{agents[0]}/children").read_text().split()), agents[0]):
                        os.kill(pid, signal.SIGKILL)
                writer.stdin.write(b"".join(lines[i:i + 20]))
                writer.stdin.flush()
                time.sleep(0.2)  # answered: nothing of it is under way
                if i < 60:
                    self.kill_this_head(job)
                    self.next_head(job, i // 20 + 1)
            writer.stdin.close()
            writer.stdin = None
            self.end(job)
            writer.wait()
            if nodes == 2:
                self.assertEqual(self.out.encode(), b"".join(lines))
            else:
                self.assertIn("node 0 is lost", self.err)
                self.expect_orders(3, 100, lines, False)

    def test_its_keeper(self):
        job = self.orders("-n", 4, "--nodes", 2)
        os.kill(self.jobs()[job]["keeper"], signal.SIGKILL)
        time.sleep(0.1)
        self.assertEqual(self.jobs()[job]["state"], "running")
        self.end(job)

    def test_both(self):
        job = self.orders("-n", 4, "--nodes", 2, rounds=2000)
        self.kill_head(keeper=True)
        began = time.monotonic()
        self.expect_nothing_of_it()
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(self.jobs("-a")[job]["state"], "lost")

    def test_a_node_that_was_given_up_ends(self):
        """It was stopped while the head declared it lost, and hears of a new head alone."""
        job = self.orders("-n", 2, "--nodes", 2, "--spares", 1, rounds=400, microseconds=10000)
        agents = sorted(pid for pid, words in commands_of(processes_of(self.marker)).items() if words.startswith("holdfast agent"))
        stopped = [agents[1], *map(int, Path(f"/proc/{agents[1]}/task/{agents[1]}/children").read_text().split())]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        self.wait_until(lambda: "node 1 is lost" in (self.holdfast("logs", job), self.err)[1], "the loss of node 1")
        self.kill_this_head(job)
        self.next_head(job, 1)
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)
        self.wait_until(lambda: not set(stopped) & set(processes_of(self.marker)), "what was given up to end", 10)
        self.end(job)
        self.expect_orders(2, 400, (), False)

    def lose_what_was_determined(self, *words):
        """Node 1 is lost with what its rank determined last, and others depend on that."""
        return self.orders("-n", 4, "--nodes", 4, "--spares", 1, "--protocol", "optimist", "--inject", "unshared:node=1,at=200ms,for=5s",
                           "--inject", "node:1,at=300ms", *words, rounds=150)

    def test_at_each_point_of_a_rollback(self):
        """The first cut is that of the lost rank, the others are those of orphans."""
        for point in some(("cut.kept:1", "cut.kept:2", "cut.told:1", "orphan.heard:1", "rollback.kept:1", "rollback.told:2"), 2):
            with self.subTest(point=point):
                report = self.end(self.lose_what_was_determined("--inject", f"head,point={point}"))
                self.expect_orders(4, 150, (), False)
                self.assertEqual(report["lost_heads"], 1)
                self.assertGreater(len(report["rolled_back"]), 0)
                self.assertEqual(set(re.findall(r"node (\d) is lost", self.err)), {"1"}, self.err)

    def test_orphans(self):
        """The head is killed at about that time, once or twice."""
        rolled_back, seed = 0, int(os.environ.get("HOLDFAST_TEST_SEED", random.randrange(10**9)))
        print(f"seed {seed}", file=sys.stderr)
        for case in range(int(os.environ.get("HOLDFAST_HEAD_CASES", 2))):
            choose = random.Random(seed + case)
            with self.subTest(seed=seed + case):
                job = self.lose_what_was_determined("--fan-out", choose.choice((2, 32)))
                self.wait_for_line(job, "node 1 is lost")
                for _ in range(choose.randint(1, 2)):
                    time.sleep(choose.uniform(0, 0.02))
                    self.kill_this_head(job)
                    time.sleep(choose.choice((0, 0.05)))
                report = self.end(job)
                self.expect_orders(4, 150, (), False)
                rolled_back += len(report["rolled_back"])
        self.assertGreater(rolled_back, 0, "this was no test")

    def wait_for_line(self, job, text):
        """Without an answer of the head, which the test wants to kill at once."""
        self.wait_until(lambda: any(text in file.read_text(errors="replace") for file in (self.state / "holdfast" / job).glob("*") if file.is_file()), text)

    def test_at_random(self):
        seed = int(os.environ.get("HOLDFAST_TEST_SEED", random.randrange(10**9)))
        print(f"seed {seed}", file=sys.stderr)
        for case in range(int(os.environ.get("HOLDFAST_HEAD_CASES", 2))):
            choose = random.Random(seed + case)
            nodes = choose.choice((1, 2, 4))
            with self.subTest(seed=seed + case, nodes=nodes):
                inject = ["--inject", f"kill:random,rate=1/s,max=3,seed={seed + case}"]
                if nodes > 1 and choose.random() < 0.5:
                    inject += ["--inject", f"node:{choose.randrange(nodes)},at={choose.uniform(0, 1500):.0f}ms", "--spares", 2]
                inject += ["--protocol", choose.choice(("pessimist", "optimist"))]
                job = self.orders("-n", 4, "--nodes", nodes, "--fan-out", choose.choice((2, 32)), *inject, rounds=150)
                time.sleep(choose.uniform(0, 0.5))
                for _ in range(choose.randint(1, 5)):  # a head waits 3 s for a node that was lost with the one before
                    self.kill_this_head(job)
                    time.sleep(choose.expovariate(2))
                self.end(job)
                self.expect_orders(4, 150, (), False)


if __name__ == "__main__":
    harness.main()
