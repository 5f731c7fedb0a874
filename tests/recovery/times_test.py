"""times_test.py BUILD PROGRAM: how long a recovery takes, what it does not wait for, and what memory it needs."""

import re
import statistics
import sys
import unittest
from pathlib import Path

import jobs
from some import some

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from timing import best_of_three  # noqa: E402

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
HUGE_PAGES = HUGE_PAGES.read_text() if HUGE_PAGES.exists() else "[never]"
BUILD, PROGRAM = (Path(word).resolve() for word in sys.argv[1:3])


class Times(unittest.TestCase):
    def both(self, mode, number, inject, ranks=3, nodes=1, options=(), calm_number=None):
        """Runs undisturbed and with the kills; both must print the same. Returns the disturbed run. `calm_number`: for the undisturbed
        run, where the output does not depend on it."""
        calm = jobs.run(BUILD, ranks, [PROGRAM, mode, calm_number or number], nodes=nodes, options=options, timeout_s=90)
        self.assertEqual(calm.exit_code, 0, calm.stderr)
        hurt = jobs.run(BUILD, ranks, [PROGRAM, mode, number], nodes=nodes, inject=inject, options=options, timeout_s=90)
        self.assertIsNone(jobs.complaint(hurt, calm.stdout), f"{jobs.complaint(hurt, calm.stdout)}\n{hurt.shell_line()}\n{hurt.stderr}")
        self.assertEqual(hurt.kills, len(inject), "every kill must meet a running rank")
        return hurt

    def times(self, outcome, name):
        return [failure[name] for failure in outcome.report["failures"]]

    @best_of_three
    def test_recovery_does_not_wait_for_peers_that_compute(self):
        """Peers compute for 5 s outside MPI: a rank killed meanwhile has caught up within 0.1 s, every time."""
        for nodes in some((1, 3), 1):
            hurt = self.both("compute", 5, [f"kill:rank=0,at={at}s" for at in (1, 2.2, 3.4)], nodes=nodes, calm_number=0.1)
            times = self.times(hurt, "caught_up_after_s")
            self.assertNotIn(None, times, f"not caught up before the next kill\n{hurt.shell_line()}\n{hurt.stderr}")
            self.assertLess(max(times), 0.1, hurt.shell_line())
            self.assertLess(hurt.report["duration_s"], 6.5, hurt.shell_line())

    def test_killed_after_finalize(self):
        """Ranks that have called MPI_Finalize and not yet exited are recovered, one alone and all at once."""
        for kills, nodes in some(((["kill:rank=0,at=0.7s"], 1), (["kill:rank=0,at=0.6s", "kill:rank=1,at=0.6s", "kill:rank=2,at=0.6s"], 1),
                                  (["kill:rank=0,at=0.6s", "kill:rank=2,at=0.6s"], 3)), 2):
            self.both("finalize", 1.5, kills, nodes=nodes)

    @best_of_three
    def test_first_call_within_20_ms(self):
        """From SIGKILL to the new incarnation's first MPI call: at most 20 ms for a C program of 64 MiB."""
        hurt = self.both("touch", 3, [f"kill:rank=0,at={at}s" for at in (0.5, 1.0, 1.5, 2.0, 2.5)])
        self.assertLess(statistics.median(self.times(hurt, "first_call_after_s")), 0.020)

    @unittest.skipIf("[never]" in HUGE_PAGES, "the system gives no huge pages")
    @best_of_three
    def test_first_call_within_50_ms_of_1_gib(self):
        """Of a rank whose 1 GiB from malloc the kernel must free first."""
        hurt = self.both("hold", 2.4, [f"kill:rank=0,at={at}s" for at in (0.6, 1.1, 1.6)])
        times = self.times(hurt, "first_call_after_s")
        print(f"1 GiB: first call after {', '.join(f'{1000 * t:.1f}' for t in times)} ms")
        self.assertLess(statistics.median(times), 0.050)

    def test_memory_of_a_recovery(self):
        """A rank whose peers hold ten times its memory limit for it recovers within that limit."""
        options = ["--log-memory", "32M"]
        hurt = self.both("receive", 160, ["kill:rank=0,call=730"], options=options)
        peak_kib = [int(kib) for kib in re.findall(r"own memory at most: (\d+) kB", hurt.stderr)]
        self.assertEqual(len(peak_kib), 1, hurt.stderr)
        self.assertGreaterEqual(hurt.report["totals"]["bytes_logged"], 10 * (32 << 20))
        self.assertLess(peak_kib[0], (32 << 10) + (24 << 10), "limit, and 24 MiB for the process itself")
        self.assertEqual(hurt.report["totals"]["bytes_unprotected"], 0)


unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
