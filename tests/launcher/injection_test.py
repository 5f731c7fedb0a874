"""--inject: kills where, when and as often as said."""

import harness
from harness import Case


class Injection(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def test_at_time(self):
        report = self.expect_report(0, "-n", 3, "--inject", "kill:rank=1,at=0.2s;kill:rank=2,at=300ms", "--inject",
                                    "kill:rank=1,at=0.4s", *self.raw("hello", "init", "sleep:700", "finalize"))
        self.assertEqual(sorted(f["rank"] for f in report["failures"]), [1, 1, 2])
        self.assertTrue(all(f["signal"] == "SIGKILL" and f["detected_after_s"] < 0.5 for f in report["failures"]))

    def test_at_call_is_once(self):
        report = self.expect_report(0, "-n", 2, "--inject", "kill:rank=1,call=3",
                                    *self.raw("hello", "call:1", "init", "call:2", "call:3", "call:4", "finalize"))
        self.assertEqual([(f["rank"], f["call"]) for f in report["failures"]], [(1, 3)])

    def test_points_reach_the_rank(self):
        self.expect(0, "-n", 1, "--inject", "kill:rank=0,point=rendezvous.seen:2",
                    *self.raw("hello", "init", "point", "finalize"), out="point rendezvous.seen:2\n")

    def test_random(self):
        report = self.expect_report(0, "-n", 4, "--nodes", 2, "--inject", "kill:random,rate=20/s,seed=5,max=4",
                                    *self.raw("hello", "init", "sleep:1000", "finalize"))
        self.assertTrue(1 <= report["kills"] <= 4, report["kills"])

    def test_seed_is_printed(self):
        self.expect(0, "-n", 1, "--inject", "kill:random,rate=0.001/s", *self.raw("hello", "init", "finalize"), err=r"seed=\d+")

    def test_what_was_not_carried_out_is_said(self):
        program = self.raw("hello", "init", "call:1", "finalize")
        self.expect(0, "-n", 1, "--inject", "kill:rank=0,at=100s", *program, err="not carried out")
        self.expect(0, "-n", 2, "--inject", "kill:rank=0,call=9;kill:rank=1,point=send.logged:3;kill:rank=1,call=1", *program)
        self.assertIn("holdfast: kill:rank=0,call=9 was not carried out: its first incarnation has not made so many MPI calls\n", self.err)
        self.assertEqual(self.err.count("not carried out"), 1, self.err)
        self.expect(0, "-n", 2, "--inject", "kill:rank=1,point=send.logged:3", *program)
        self.assertRegex(self.err, "^holdfast: kill:rank=1,point=send.logged:3 was not carried out: its first incarnation did not pass that point .*\n$")
        self.expect(137, "-n", 2, "--protocol", "none", "--inject", "kill:rank=1,call=1", *program)
        self.assertNotIn("not carried out", self.err)

    def test_points_that_there_are_not(self):
        for words, some in (("kill:rank=0,point=send.loged:2", "match.logged, match.made"), ("head,point=send.logged", "cut.kept, cut.told")):
            self.expect(2, "-n", 1, "--inject", words, "echo", "ran", out="",
                        err=f"^holdfast: --inject {words}: there is no point .*; there are .*{some}")
            self.assertEqual(len(self.err.splitlines()), 1, self.err)


if __name__ == "__main__":
    harness.main()
