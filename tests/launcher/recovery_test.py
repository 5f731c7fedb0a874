"""Restarts, as the agent does them: quickly, counted, and not for faulty programs."""

import json
import sys
import tempfile
from pathlib import Path

import harness
from harness import Case

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from timing import best_of_three  # noqa: E402


class Recovery(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def test_restart(self):
        report = self.expect_report(0, "-n", 3, *self.raw("hello", "call:1", "init", "r1?0?signal:9", "caught", "finalize", "exit:0"))
        self.assertEqual(report["kills"], 1)
        self.assertEqual(report["restarts"], 1)
        failure = report["failures"][0]
        self.assertEqual((failure["rank"], failure["signal"], failure["call"], failure["messages_replayed"]), (1, "SIGKILL", 1, 7))
        self.assertRegex(self.err, r"SIGKILL +1 ")

    def test_death_in_init_in_finalize_and_after_it(self):
        for words in (("hello", "0?signal:9", "init", "finalize"), ("hello", "init", "0?signal:9", "finalize"),
                      ("hello", "init", "finalize", "0?signal:9")):
            with self.subTest(words=words):
                self.expect(0, "-n", 2, *self.raw(*words, "say:done"), out="done\ndone\n")

    def test_death_after_all_others_have_exited(self):
        self.expect(0, "-n", 2, *self.raw("hello", "init", "finalize", "r1?wait:0:0:3", "r1?0?signal:9", "r1?segment:0:0:0:0"),
                    out="segment 72 read-only\n")

    def test_before_its_own_init_in_an_mpi_job(self):
        self.expect(0, "-n", 2, "sh", "-c", f"if test $PMI_RANK = 1 -a ! -e $MARK; then sleep 0.5; touch $MARK; kill -9 $$; fi; "
                    f"exec {harness.RAW} hello init r0?wait:1:1:1 finalize", env={"MARK": tempfile.mktemp()})

    def test_faulty_program(self):
        self.expect(139, "-n", 2, *self.raw("hello", "init", "call:5", "r1?signal:11", "wait:1:9:9"),
                    err="rank 1 died by SIGSEGV in or after its MPI call number 5 twice running: the program is faulty")

    def test_one_segfault_is_survived(self):
        self.expect(0, "-n", 2, *self.raw("hello", "init", "call:5", "r1?0?signal:11", "finalize"))

    def test_limit_of_restarts(self):
        self.expect(137, "-n", 2, "--restarts", 3, *self.raw("hello", "init", "r1?signal:9", "wait:1:9:9"),
                    err="rank 1 was killed by SIGKILL after 3 restarts")

    def test_wrapper(self):
        program = " ".join(self.raw("hello", "init", "0?signal:9", "finalize"))
        self.expect(0, "-n", 2, "bash", "-c", f"{program}; echo after", out="after\nafter\n")

    def test_wrapper_does_not_go_on_without_its_program(self):
        program = " ".join(self.raw("hello", "init", "0?signal:9", "incarnation", "finalize"))
        self.expect(0, "-n", 1, "bash", "-c", f"{program} || echo bad; sleep 0.1", out="rank 0 incarnation 1\n")

    def test_words_of_a_wrapper_about_a_death_are_not_passed_on(self):
        # The agent is stopped while the program dies and its wrapper speaks, so that it sees both at once.
        program = " ".join(self.raw("hello", "init", "0?sleep:300", "0?signal:9", "incarnation", "finalize"))
        script = (f"test -e $MARK && exec {program}; touch $MARK; {program} & sleep 0.15; kill -STOP $PPID; wait; "
                  "echo bad; kill -CONT $PPID; sleep 5")
        self.expect(0, "-n", 1, "bash", "-c", script, out="rank 0 incarnation 1\n", env={"MARK": tempfile.mktemp()})

    def test_same_place_every_time(self):
        self.expect(0, "-n", 1, *self.raw("hello", "init", "address", "0?signal:9", "1?signal:9", "finalize"))
        self.assertNotIn("differs", self.err)

    def test_unprotected(self):
        self.expect(137, "-n", 2, *self.raw("hello", "init", "r0?unprotect:1", "r1?wait:1:0:129", "r1?signal:9", "sleep:20000"),
                    err="rank 1 is unprotected from now on[^$]*rank 1 was killed by SIGKILL, and was unprotected")

    def test_divergence(self):
        self.expect(1, "-n", 1, *self.raw("hello", "init", "diverge:end", "sleep:20000"), err="replay differs.*call 5: byte 3")
        self.expect(0, "-n", 1, *self.raw("hello", "init", "diverge:warn", "finalize"), err="replay differs")

    def test_note(self):
        self.expect(0, "-n", 1, *self.raw("hello", "init", "note:mind the gap", "finalize"), err="holdfast: rank 0: mind the gap")

    @best_of_three
    def test_time_from_kill_to_first_call(self):
        report = self.expect_report(0, "-n", 2, "--restarts", 100, "--inject", "kill:random,rate=25/s,seed=3,max=15",
                                    *self.raw("hello", "init", "sleep:1500", "finalize"))
        times = sorted(f["first_call_after_s"] for f in report["failures"] if f["first_call_after_s"] is not None)
        self.assertGreater(len(times), 5)
        self.assertLess(times[len(times) // 2], 0.020, f"the median of {times}")

    def test_trace(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "trace.json"
            self.expect(0, "--trace", path, "-n", 2, *self.raw("hello", "init", "0?signal:9", "caught", "finalize"))
            names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
            for name in ("incarnation 0", "incarnation 1", "replay", "down"):
                self.assertIn(name, names)


if __name__ == "__main__":
    harness.main()
