"""The parts of bench/ that need no MPI: budgets of the series, flips, medians, ratios, what makes a run fail, the table."""

import unittest

import competitors
import machine
import results
import series
import table
import tune

LATENCY = series.Series("latency.shm", 2, series.SHM, "us", series.LOWER, "pingpong", jobs=((),),
                        goals=(series.Goal(series.NONE_TO_BEST, 1.0),
                               series.Goal(series.PESSIMIST_TO_NONE, 1.05, ("8",), slack=0.008)))
RATE = series.Series("rate.shm", 2, series.SHM, "MB/s", series.HIGHER, "stream", jobs=((),),
                     goals=(series.Goal(series.NONE_TO_BEST, 1.0), series.Goal(series.PESSIMIST_TO_BEST, 0.8)))


def a_round(name, kept=True, disk=None, **points):
    outcomes = {who: {"points": {}, "errors": {0: "[pid] broken"}} if value is None else {"points": {"8": value}, "errors": {}}
                for who, value in points.items()}
    return {"series": name, "kept": kept, "disk_mb_s": disk, "outcomes": outcomes, "distance_before_ns": 40,
            "distance_after_ns": 42, "other_load_cores": 0.0}


class Budgets(unittest.TestCase):
    def test_a_job_stays_below_the_ready_log(self):
        for one in series.all_series():
            if one.example or one.name == "past_log.shm":
                continue
            for job in one.jobs:
                sent = sum(self.bytes_of(one, word) for word in job if ":" in word)
                self.assertLess(sent, one.ready_bytes, (one.name, job))

    def bytes_of(self, one, word):
        fields = word.split(":")
        if one.program == "collective":
            size, calls = ("0", fields[1]) if fields[0] == "barrier" else fields[1:]
            return int(calls) * series.SIZES_SENT[fields[0]](one.ranks) * series.record(int(size))
        size, *counts = map(int, fields)
        return series.record(size) * (counts[0] if one.program == "pingpong" else counts[0] * counts[1])

    def test_one_series_goes_past_it(self):
        past = [s for s in series.all_series() if s.name == "past_log.shm"]
        self.assertGreater(self.bytes_of(past[0], past[0].jobs[0][0]), 8 * series.READY_BYTES)

    def test_names(self):
        names = [s.name for s in series.all_series()]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(set(series.QUICK) <= set(names))


class Tuning(unittest.TestCase):
    def times(self, **by_algorithm):
        return {name: dict(zip(tune.SIZES, values)) for name, values in by_algorithm.items()}

    def test_a_change_must_be_worth_it(self):
        steady = self.times(ring=[1, 1, 1, 10, 10, 10, 10], bruck=[0.95, 2, 2, 9.9, 9.9, 8.5, 20])
        self.assertEqual(tune.choose(steady), [(8, "ring"), (262144, "bruck"), (1 << 20, "ring")])

    def test_rules(self):
        times = self.times(ring=[2, 2, 2, 1, 1, 1, 1], bruck=[1, 1, 1, 2, 2, 2, 2])
        rules = tune.rules_of({(False, *case): times for case in ((1, 2, "bcast"), (1, 4, "bcast"), (1, 4, "allgather"), (2, 2, "bcast"))})
        self.assertEqual([(r["collective"], r["nodes"], r["ranks"], r["bytes"], r["algorithm"]) for r in rules],
                         [("bcast", 1, 1, 0, "bruck"), ("bcast", 1, 1, 4096, "ring"),
                          ("allgather", 1, 3, 0, "bruck"), ("allgather", 1, 3, 16384, "ring"),
                          ("bcast", 2, 1, 0, "bruck"), ("bcast", 2, 1, 4096, "ring")])

    def test_a_barrier_has_no_size(self):
        rules = tune.rules_of({(False, 1, 4, "barrier"): {"dissemination": {0: 2}, "linear": {0: 1}}})
        self.assertEqual([(r["bytes"], r["algorithm"]) for r in rules], [(0, "linear")])

    def test_what_is_not_measured_is_for_more_ranks(self):
        self.assertGreater(tune.MANY, max(tune.RANKS.values()))
        self.assertTrue(all(r["ranks"] == tune.MANY for r in tune.rules_for_many()))


class Figures(unittest.TestCase):
    def test_flips(self):
        self.assertTrue(machine.flipped(40, 205))
        self.assertTrue(machine.flipped(205, 40))
        self.assertFalse(machine.flipped(40, 52))
        self.assertFalse(machine.flipped(None, 52))

    def test_ratio_is_taken_within_rounds(self):
        rounds = [a_round("latency.shm", none=1.0, openmpi=2.0), a_round("latency.shm", none=10.0, openmpi=20.0),
                  a_round("latency.shm", none=3.0, openmpi=4.0), a_round("latency.shm", kept=False, none=99.0, openmpi=1.0)]
        row = results.summarize([LATENCY], rounds)[0]
        self.assertEqual((row["rounds"], row["medians"]["none"], row["none_to_best"]), (3, 3.0, 0.5))
        self.assertEqual(row["missed"], [])

    def test_best_peer_does_not_log(self):
        rounds = [a_round("rate.shm", **{"none": 5.0, "openmpi": 4.0, "mpich": 8.0, "openmpi-pessimist": 9.0})]
        row = results.summarize([RATE], rounds)[0]
        self.assertEqual((row["best_peer"], row["none_to_best"]), ("mpich", 0.625))
        self.assertEqual(row["missed"], ["none_to_best"])

    def test_the_disk_stands_in_for_peers(self):
        row = results.summarize([RATE], [a_round("rate.shm", disk=10.0, none=20.0, pessimist=9.0)])[0]
        self.assertEqual((row["best_peer"], row["pessimist_to_best"]), ("disk", 0.9))

    def test_a_difference_within_the_slack_is_good(self):
        for pessimist, missed in ((0.107, []), (0.109, ["pessimist_to_none"])):
            row = results.summarize([LATENCY], [a_round("latency.shm", none=0.1, pessimist=pessimist, openmpi=0.2)])[0]
            self.assertEqual(row["missed"], missed)

    def test_what_fails_a_run(self):
        peer_fails = [a_round("latency.shm", none=1.0, openmpi=None)]
        self.assertEqual(results.problems([LATENCY], peer_fails), [])
        self.assertEqual(len(results.problems([LATENCY], [a_round("latency.shm", none=None)])), 1)
        self.assertEqual(len(results.problems([LATENCY], [a_round("latency.shm", kept=False, none=1.0)])), 1)
        open_bytes = a_round("latency.shm", pessimist=1.0)
        open_bytes["outcomes"]["pessimist"].update(bytes_logged=9, determinants=0, log_of_a_rank_max=9, bytes_unprotected=1)
        self.assertEqual(results.problems([LATENCY], [open_bytes]), ["latency.shm: 1 bytes unprotected"])


class Tables(unittest.TestCase):
    def test_a_failing_peer_is_named(self):
        rounds = [a_round("latency.shm", none=1.0, openmpi=None, mpich=2.0)]
        people = {"none": {"error": None}, "openmpi": {"error": None}, "mpich": {"error": None},
                  "openmpi-pessimist": {"error": "not there"}}
        entry = {"machine": {"cpu": "X", "family_model_stepping": "1/2/3", "cores": 2, "memory_gib": 1, "kernel": "6"},
                 "date": "d", "commit": "c", "quick": False, "repetitions": 1, "competitors": people, "rounds": rounds,
                 "points": results.summarize([LATENCY], rounds)}
        for text in (table.as_text(entry), table.as_markdown(entry)):
            for part in ("failed", "absent", "openmpi-pessimist is absent: not there", "openmpi failed in latency.shm: broken"):
                self.assertIn(part, text)

    def test_a_machine_that_is_not_quiet_is_named(self):
        self.assertEqual(list(table.disturbance([a_round("latency.shm", none=1.0)])), [])
        self.assertIn("0.8 cores", next(table.disturbance([{**a_round("latency.shm", none=1.0), "other_load_cores": 0.8}])))

    def test_competitors_have_headings(self):
        names = {c.name for c in competitors.all_competitors(competitors.HERE, competitors.HERE)}
        self.assertEqual(names, set(table.HEADINGS) - {"disk"})


if __name__ == "__main__":
    unittest.main()
