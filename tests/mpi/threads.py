"""threads.py --build BUILD --program PATH: a rank whose threads call MPI in turn is recovered (more of that in recovery.threads). Without a
recorder it is unprotected from the first call of a second thread on, which is said once and stands in the report; what any thread may ask at
any time does not count, nor the clock."""

import argparse
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "recovery"))
import jobs  # noqa: E402

SAID = "is unprotected from now on, its death would end the job: a second thread of it has called MPI_Sendrecv"
RANKS = 3
UNRECORDED = ["--record-libc", "no"]


class Threads(unittest.TestCase):
    def job(self, *words, ranks=RANKS, **options):
        return jobs.run(BUILD, ranks, [PROGRAM, *words], timeout_s=60, **options)

    def expect(self, outcome, code, unprotected, said):
        text = f"{outcome.shell_line()}\n{outcome.stderr}"
        self.assertEqual(outcome.exit_code, code, text)
        self.assertEqual([r["unprotected"] for r in outcome.report["ranks"]], unprotected, text)
        self.assertEqual(outcome.stderr.count(SAID), said, text)

    def test_by_turns(self):
        for nodes in (1, 3):
            outcome = self.job("turns", nodes=nodes)
            self.expect(outcome, 0, [False] * RANKS, 0)
            self.assertEqual(self.job("turns", nodes=nodes, options=["--protocol", "none"]).stdout, outcome.stdout)

    def test_unrecorded(self):
        for nodes in (1, 3):
            outcome = self.job("turns", nodes=nodes, options=UNRECORDED)
            self.expect(outcome, 0, [True] * RANKS, 1)
            notes = [note["text"] for note in outcome.report["notes"] if "a second thread called" in note["text"]]
            self.assertEqual(len(notes), RANKS)
        self.expect(self.job("turns", options=["--protocol", "none"]), 0, [False] * RANKS, 0)

    def test_questions_do_not_count(self):
        for nodes in (1, 3):
            calm = self.job("queries", nodes=nodes)
            self.expect(calm, 0, [False] * RANKS, 0)
            killed = self.job("queries", nodes=nodes, inject=["kill:rank=1,call=70"])
            self.expect(killed, 0, [False] * RANKS, 0)
            self.assertEqual(killed.kills, 1)
            self.assertEqual(killed.stdout, calm.stdout)

    def test_death_before_the_second_thread_calls_is_survived(self):
        calm = self.job("turns")
        for options, unprotected, said in ([], False, 0), (UNRECORDED, True, 1):
            killed = self.job("turns", inject=["kill:rank=1,call=20"], options=options)
            self.expect(killed, 0, [unprotected] * RANKS, said)
            self.assertEqual(killed.kills, 1)
            self.assertEqual(killed.stdout, calm.stdout)

    def test_death_after_that_is_survived(self):
        calm = self.job("turns")
        for nodes in (1, 3):
            killed = self.job("turns", nodes=nodes, inject=["kill:rank=1,call=80"])
            self.expect(killed, 0, [False] * RANKS, 0)
            self.assertEqual(killed.kills, 1)
            self.assertEqual(killed.stdout, calm.stdout)

    def test_unrecorded_it_ends_the_job_by_name(self):
        for nodes in (1, 3):
            outcome = self.job("turns", nodes=nodes, inject=["kill:rank=1,call=80"], options=UNRECORDED)
            self.assertEqual(outcome.exit_code, 137, outcome.stderr)
            self.assertIn("rank 1 was killed by SIGKILL, and was unprotected: several of its threads", outcome.stderr)

    def test_clocks_are_read_by_all_at_once(self):
        for level in "none", "serialized":
            words = [PROGRAM.with_name("mpi_clocks_of_threads"), level]
            calm = jobs.run(BUILD, RANKS, words, options=["--protocol", "none"], timeout_s=60)
            self.expect(calm, 0, [False] * RANKS, 0)
            for nodes in (1, 3):
                killed = jobs.run(BUILD, RANKS, words, nodes=nodes, inject=["kill:rank=1,call=9000"], timeout_s=60)
                self.expect(killed, 0, [False] * RANKS, 0)
                self.assertEqual(killed.kills, 1)
                self.assertEqual(killed.stdout, calm.stdout)

    def test_two_at_once_end_the_job(self):
        for mode, protocol, function in (("both", "none", "another MPI function"), ("both", "pessimist", "MPI_Recv"),
                                         ("then_both", "none", "MPI_Recv"), ("then_both", "pessimist", "MPI_Recv")):
            outcome = self.job(mode, options=["--protocol", protocol])
            self.assertEqual(outcome.exit_code, 1, outcome.stderr)
            self.assertIn(f"MPI_Send was called while another thread was inside {function}; of the threads of a rank one at a time", outcome.stderr)

    def test_a_second_thread_during_an_unrecorded_recovery_ends_the_job(self):
        with tempfile.TemporaryDirectory() as directory:
            outcome = self.job("again", str(Path(directory) / "file"), ranks=1, inject=["kill:rank=0,call=30"], options=UNRECORDED)
        self.assertEqual(outcome.exit_code, 1, outcome.stderr)
        self.assertIn("a second thread called MPI_Sendrecv while this rank was being recovered", outcome.stderr)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--build", required=True)
parser.add_argument("--program", required=True)
given = parser.parse_args()
BUILD, PROGRAM = Path(given.build).resolve(), Path(given.program).resolve()
unittest.main(argv=[sys.argv[0]])
