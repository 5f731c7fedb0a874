"""A receive that has taken a synchronous message is cancelled after its rank, or its node, was lost: the sender was told, so it was
received.

    cancel_test.py BUILD PROGRAM
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import jobs
from node_mutations import parent_of, process_of

BUILD, PROGRAM = (Path(sys.argv.pop(1)).resolve() for _ in range(2))


class Cancel(unittest.TestCase):
    def run_job(self, kill):
        """`kill`: of the process of rank 2, when it is about to cancel; gives what was printed."""
        with tempfile.TemporaryDirectory() as directory:
            mark, marker = Path(directory) / "mark", f"{os.getpid()}-{time.monotonic_ns()}"
            if not kill:
                mark.touch()
            command = [BUILD / "bin/holdfast", "run", "-n", 3, "--nodes", 2, "--spares", 1, PROGRAM, mark]
            job = subprocess.Popen([str(w) for w in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**jobs.environment(), "CANCEL_TEST": marker}, start_new_session=True)
            deadline = time.monotonic() + 20
            while kill and not mark.exists():
                self.assertLess(time.monotonic(), deadline, "rank 2 did not come so far")
                time.sleep(0.01)
            if kill:
                os.kill(kill(process_of(PROGRAM, 2, f"CANCEL_TEST={marker}")), signal.SIGKILL)
            out, err = job.communicate(timeout=60)
            self.assertEqual(job.returncode, 0, err.decode())
            return out.decode(), err.decode()

    def test_the_rank(self):
        quiet, _ = self.run_job(None)
        self.assertTrue(quiet.startswith("received 42, sum "), quiet)
        out, _ = self.run_job(lambda process: process)
        self.assertEqual(out, quiet)

    def test_its_node(self):
        quiet, _ = self.run_job(None)
        for _ in range(5):
            out, err = self.run_job(parent_of)
            self.assertIn("node 1 is lost", err)
            self.assertEqual(out, quiet)


if __name__ == "__main__":
    unittest.main()
