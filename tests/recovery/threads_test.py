"""Ranks whose threads call MPI in turn are killed, and do the same again (docs/threads.md).

    threads_test.py BUILD PROGRAMS [unittest's words]     PROGRAMS: the directory of recovery_threads_*
"""

import itertools
import os
import random
import secrets
import sys
import tempfile
import unittest
from pathlib import Path

import jobs
from some import some, stories_of

BUILD, PROGRAMS = (Path(sys.argv.pop(1)).resolve() for _ in range(2))
SEED = int(os.environ.get("HOLDFAST_SEED", secrets.randbelow(1 << 30)))
KILLS = "kill:random,rate={},seed={},max=4"
# Name, arguments, what rank 0 prints with 3 ranks.
STORIES = {
    "queue of two": (["threads_queue", 3000, 2], "ok 9000\n"),
    "queue of four": (["threads_queue", 3000, 4], "ok 9000\n"),
    "served": (["threads_served", 600, 3], "ok 5400\n"),
    "OpenMP": (["threads_openmp", 600, 2], "ok 5400\n"),
    "OpenMP of three": (["threads_openmp", 400, 3], "ok 4800\n"),
    "helped": (["threads_helped", 2000, 1], "ok 6000\n"),
    "called": (["threads_called", 600], "ok 1800\n"),
    "mixed": (["threads_mixed", 200], "ok 3000\n"),
    "C11": (["threads_c11", 2000, 3], "ok 6000\n"),
}
PROTOCOLS = ("pessimist", "optimist")


def words(story):
    name, *arguments = STORIES[story][0]
    return ["env", "OMP_WAIT_POLICY=passive", PROGRAMS / f"recovery_{name}", *arguments]


class Threads(unittest.TestCase):
    def check(self, outcome, story, unprotected=False):
        text = f"HOLDFAST_SEED={SEED}\n{outcome.shell_line()}\n{outcome.stderr}"
        self.assertEqual(outcome.exit_code, 0, text)
        self.assertEqual(outcome.stdout.decode(), STORIES[story][1], text)
        self.assertNotIn("differ", outcome.stderr, text)
        self.assertEqual([r["unprotected"] for r in outcome.report["ranks"]], [unprotected] * 3, text)

    def killed(self, story, rate="20/s", **more):
        """On one node under each protocol, and on two."""
        for i, (nodes, protocol) in enumerate(some(((1, "pessimist"), (1, "optimist"), (2, "pessimist"), (2, "optimist")), 2)):
            with self.subTest(nodes=nodes, protocol=protocol):
                outcome = jobs.run(BUILD, 3, words(story), inject=["kill:rank=1,call=150", KILLS.format(rate, SEED + i)], timeout_s=100,
                                   options=["--protocol", protocol], nodes=nodes, **more)
                self.check(outcome, story)
                self.assertGreater(outcome.kills, 0, f"HOLDFAST_SEED={SEED}")

    def test_queue_of_two_threads(self):
        self.killed("queue of two")

    def test_queue_of_four_threads(self):
        self.killed("queue of four")

    def test_a_thread_that_serves_others(self):
        self.killed("served")

    def test_openmp(self):
        self.killed("OpenMP")

    def test_openmp_of_three_threads(self):
        self.killed("OpenMP of three")

    def test_a_thread_that_reads_clocks_and_outlives_finalize(self):
        self.killed("helped")

    def test_functions_that_mpi_calls(self):
        self.killed("called")

    def test_a_barrier_that_was_begun_before_init(self):
        for _ in range(3):
            outcome = jobs.run(BUILD, 2, [PROGRAMS / "recovery_threads_begun"], timeout_s=20)
            self.assertEqual((outcome.exit_code, outcome.stdout), (0, b"ok 6\n"), outcome.stderr)

    def test_threads_of_c11(self):
        self.killed("C11")

    def test_locks_of_all_kinds_and_clocks(self):
        self.killed("mixed")

    def test_threads_of_a_program_that_asks_for_less(self):
        funneled = ["env", "OMP_WAIT_POLICY=passive", PROGRAMS / "recovery_threads_funneled", 1000, 2]
        helped = [PROGRAMS / "recovery_threads_helped", 1000, 0]
        inject = ["kill:rank=1,call=400", KILLS.format("10/s", SEED)]
        for nodes, protocol, command in some(itertools.product((1, 2), PROTOCOLS, (funneled, helped)), 3):
            outcome = jobs.run(BUILD, 3, command, nodes=nodes, inject=inject, timeout_s=100,
                               options=["--order-threads", "always", "--protocol", protocol])
            text = f"HOLDFAST_SEED={SEED}\n{outcome.shell_line()}\n{outcome.stderr}"
            self.assertEqual((outcome.exit_code, outcome.stdout), (0, b"ok 3000\n"), text)
            self.assertGreater(outcome.kills, 0, text)
        for _ in range(5):  # on a busy machine threads may come in the same order by chance
            outcome = jobs.run(BUILD, 3, funneled, inject=inject, timeout_s=100)
            if outcome.exit_code != 0:
                break
        self.assertEqual(outcome.exit_code, 1, outcome.stderr)
        self.assertRegex(outcome.stderr, "differs .*this rank has 2 threads, and in which order they take locks was not recorded: --order-threads always")

    def test_what_is_said_of_wrong_words(self):
        for words_, said in ((["--order-threads", "never"], "--order-threads never: asked or always"),
                             (["--order-threads", "always", "--record-libc", "no"], "say one of them")):
            outcome = jobs.run(BUILD, 1, ["true"], options=words_)
            self.assertEqual(outcome.exit_code, 2, outcome.stderr)
            self.assertIn(said, outcome.stderr)

    def test_after_the_loss_of_a_node(self):
        for i, protocol in enumerate(PROTOCOLS):
            outcome = jobs.run(BUILD, 3, words("mixed"), nodes=3, options=["--spares", "1", "--protocol", protocol], timeout_s=100,
                               inject=[f"node:random,rate=4/s,seed={SEED + i},max=1"])
            self.check(outcome, "mixed")

    def test_undisturbed_and_without_a_recorder(self):
        for story in STORIES:
            self.check(jobs.run(BUILD, 3, words(story), timeout_s=60), story)
        self.check(jobs.run(BUILD, 3, words("queue of two"), options=["--record-libc", "no"]), "queue of two", unprotected=True)

    def test_what_no_lock_orders_is_seen(self):
        ended = 0
        for seed in range(SEED, SEED + 16):  # the first that takes another order is enough
            if ended:
                break
            outcome = jobs.run(BUILD, 3, [PROGRAMS / "recovery_threads_spinning", 3000], timeout_s=60,
                               inject=["kill:rank=0,call=2500", KILLS.format("12/s", seed)])
            self.assertIsNotNone(outcome.exit_code, outcome.shell_line())
            if outcome.exit_code != 0:
                ended += 1
                self.assertRegex(outcome.stderr, "replay (differs|of its threads does not go on)", outcome.shell_line())
        self.assertGreater(ended, 0, "no replay took the items in another order")

    def test_the_order_is_given_up_where_one_thread_calls_and_more_was_asked_for(self):
        # Rank 0 is killed once, behind its mark: no kill at random times may take it before.
        others = [f"kill:rank={rank},call={random.Random(SEED + rank).randrange(100, 4000)}" for rank in (1, 2)]
        for protocol in PROTOCOLS:
            with tempfile.TemporaryDirectory() as directory:
                command = ["env", "HOLDFAST_THREAD_PATIENCE_MS=300", PROGRAMS / "recovery_threads_helper", 1500, f"{directory}/mark"]
                outcome = jobs.run(BUILD, 3, command, options=["--protocol", protocol], timeout_s=60,
                                   inject=["kill:rank=0,call=1200", *others])
            text = f"HOLDFAST_SEED={SEED}\n{outcome.shell_line()}\n{outcome.stderr}"
            self.assertEqual(outcome.exit_code, 0, text)
            self.assertEqual(outcome.stdout.decode(), "ok 4500\n", text)
            self.assertNotIn("differ", outcome.stderr, text)
            self.assertIn("is not kept up from now on", outcome.stderr, text)

    def test_a_thread_that_does_not_come_ends_the_job_by_name(self):
        with tempfile.TemporaryDirectory() as directory:
            command = ["sh", "-c", f"HOLDFAST_THREAD_PATIENCE_MS=1500 exec {PROGRAMS}/recovery_threads_spinning 3000 {directory}/mark"]
            outcome = jobs.run(BUILD, 2, command, inject=["kill:rank=0,call=2500"], timeout_s=60)
        self.assertEqual(outcome.exit_code, 1, outcome.stderr)
        self.assertRegex(outcome.stderr, r"the replay of its threads does not go on: thread \d waits in \S+ for operation \d+, which is that of thread \d")

    def test_what_cannot_be_had_again_does_not_hang(self):
        for how, level in itertools.product(("sem_trywait", "sem_timedwait", "pthread_mutex_trylock", "pthread_rwlock_timedwrlock"), ("multiple", "serialized")):
            with tempfile.TemporaryDirectory() as directory:
                command = ["env", "HOLDFAST_THREAD_PATIENCE_MS=500", PROGRAMS / "recovery_threads_tried", how, level, f"{directory}/mark"]
                outcome = jobs.run(BUILD, 2, command, inject=["kill:rank=1,call=4"], timeout_s=30)
            text = f"{outcome.shell_line()}\n{outcome.stderr}"
            self.assertEqual(outcome.kills, 1, text)
            self.assertRegex(outcome.stderr, rf"thread 1 waits in {how} for what it had there in the run before, as operation \d+", text)
            if level == "multiple":
                self.assertEqual((outcome.exit_code, outcome.stdout), (0, b"ok\n"), text)
                self.assertIn("is not kept up from now on", outcome.stderr, text)
            else:
                self.assertEqual(outcome.exit_code, 1, text)
                self.assertIn("the replay of its threads does not go on", outcome.stderr, text)


load_tests = stories_of(Threads, 12)


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)
    print(f"HOLDFAST_SEED={SEED}", flush=True)
    unittest.main()
