"""The parts of bench/message_logging that need no MPI: what makes a run fail, medians and ratios, the tables, the commands."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import evaluate  # noqa: E402
import measured  # noqa: E402
import network  # noqa: E402
import page  # noqa: E402
import variants  # noqa: E402

PROTOCOLS = ["none", "pessimist"]


def outcome(points, **totals):
    return {"points": points, "errors": {}, "bytes_unprotected": 0, **totals}


def a_round(series, repetition=0, **outcomes):
    return {"series": series, "repetition": repetition, "kept": True, "disk_mb_s": None, "distance_before_ns": 40, "distance_after_ns": 41,
            "other_load_cores": 0.0, "outcomes": {name.replace("__", "-"): one for name, one in outcomes.items()}}


def kernel(series, digest=7, events=0, **more):
    return a_round(series, none=outcome({"seconds": 1.0, "digest": 7}, determinants=0),
                   pessimist=outcome({"seconds": 1.5, "digest": digest}, determinants=events, bytes_logged=10, messages_logged=1), **more)


class Problems(unittest.TestCase):
    def expect(self, wanted, *rounds):
        found = evaluate.problems(list(rounds))
        self.assertEqual(len(found), 1 if wanted else 0, found)
        if wanted:
            self.assertRegex(found[0], wanted)

    def test_none(self):
        self.expect(None, kernel("bt.n4.shm"), kernel("lu.n4.shm", events=3), kernel("lu.n1.shm"), kernel("mg.n4.nodes4", events=1))

    def test_another_result(self):
        self.expect("bt.n4.shm, pessimist: digest 8, not 7", kernel("bt.n4.shm", digest=8))

    def test_another_result_with_another_number_of_ranks(self):
        other = kernel("bt.n1.shm", digest=8)
        other["outcomes"]["none"]["points"]["digest"] = 8
        found = evaluate.problems([kernel("bt.n4.shm"), other])
        self.assertEqual(len(found), 2, found)
        other["series"] = "bt.n4.delay"  # another size
        self.expect(None, kernel("bt.n4.shm"), other)

    def test_cg_differs_with_the_number_of_ranks(self):
        other = kernel("cg.n1.shm", digest=8)
        other["outcomes"]["none"]["points"]["digest"] = 8
        self.expect(None, kernel("cg.n4.shm"), other)

    def test_events_in_lu_and_mg_alone(self):
        self.expect("sp.n4.shm, pessimist: 2 events", kernel("sp.n4.shm", events=2))
        self.expect("mg.n4.shm, pessimist: 0 events", kernel("mg.n4.shm"))

    def test_the_log(self):
        kept = outcome({"1": 1}, determinants=0) | {"bytes_unprotected": 5}
        self.expect("5 bytes unprotected", a_round("pingpong.named.shm", pessimist=kept))
        unprotected = outcome({"1": 1}, determinants=0, bytes_logged=0) | {"bytes_unprotected": 5}
        self.expect(None, a_round("pingpong.named.shm", pessimist__no__log=unprotected))
        self.expect("6 bytes logged", a_round("pingpong.named.shm", pessimist__no__log=unprotected | {"bytes_logged": 6}))

    def test_a_failure(self):
        self.expect("none failed in ft.n4.shm: broken", a_round("ft.n4.shm", none={"points": {}, "errors": {0: "broken"}}))


class Values(unittest.TestCase):
    def test_ratios_are_within_a_round(self):
        rounds = [a_round("pingpong.any.shm", n, none=outcome({"1": at}), pessimist=outcome({"1": 2 * at}))
                  for n, at in enumerate((1, 5, 9))]
        self.assertEqual(evaluate.value(rounds, "pingpong.any.shm", "1", "pessimist"), 10)
        self.assertEqual(evaluate.to_none(rounds, "pingpong.any.shm", "1", "pessimist"), 2)
        self.assertIsNone(evaluate.value(rounds, "pingpong.any.shm", "2", "pessimist"))

    def test_counts(self):
        twice = [a_round("bt.n4.shm"), a_round("lu.n4.shm"), a_round("lu.n4.shm", 1), {**a_round("bt.n4.shm", 1), "kept": False}]
        self.assertEqual(evaluate.counts(twice), (1, 2))

    def test_costs(self):
        rounds = [a_round("cost.pingpong.named", pessimist__process=outcome({"1": 10.0})),
                  a_round("cost.pingpong.any", pessimist__process=outcome({"1": 10.5}), pessimist=outcome({"1": 50.0}))]
        self.assertEqual(evaluate.costs(rounds, "pingpong", "1", "pessimist"), (0.5, 39.5))
        self.assertEqual(evaluate.costs(rounds[:1], "pingpong", "1", "pessimist"), (None, None))


class Pages(unittest.TestCase):
    def entry(self, rounds):
        about = {"cpu": "X", "family_model_stepping": "1/2/3", "cores": 2, "memory_gib": 1, "kernel": "6"}
        return {"machine": about, "date": "d", "commit": "c", "quick": False, "repetitions": 1, "protocols": PROTOCOLS, "delay_us": 500,
                "absent": "no root", "any_distance": False, "rounds": rounds}

    def test_what_was_measured_is_there(self):
        text = page.tables(self.entry([kernel("lu.n4.shm", events=6)]), "### ")
        for part in ("### Non-deterministic events", "| LU | 4 | 6 |", "| LU | one node, shared memory | 1 | 1.50 |", "A short run",
                     "Without the slow network: no root", "only MG and LU"):
            self.assertIn(part, text)
        self.assertNotIn("Ping-pong", text)

    def test_a_problem_is_named(self):
        self.assertIn("FAILED: lu.n4.shm, pessimist: 0 events", page.tables(self.entry([kernel("lu.n4.shm")])))


class Series(unittest.TestCase):
    def test_names(self):
        names = [s.name for s in measured.all_series(PROTOCOLS)]
        self.assertEqual(len(names), len(set(names)))

    def test_quick_has_all_kernels(self):
        quick = {evaluate.parts(s.name)[0] for s in measured.all_series(PROTOCOLS) if measured.is_quick(s)}
        self.assertTrue(set(measured.KERNELS) <= quick)

    def test_every_variant_is_there(self):
        everyone = {v.name for v in variants.all_variants(Path("b"), Path("w"), [*PROTOCOLS, "optimist"], None)}
        for one in measured.all_series([*PROTOCOLS, "optimist"]):
            self.assertTrue(set(one.competitors) <= everyone, one.name)

    def test_commands(self):
        by_name = {v.name: v for v in variants.all_variants(Path("b"), Path("w"), PROTOCOLS, network.Network(Path("w"), 500))}
        line = " ".join(map(str, by_name["pessimist-no-log"].command(4, "nodes4", "lu", ("--steps", "2"), ("--log-ready", "1M"), "r")))
        self.assertRegex(line, r"run -n 4 --protocol pessimist .*--nodes 4 --log-ready 1M --no-sender-log --report r lu --steps 2$")
        self.assertNotIn("log-ready", " ".join(map(str, by_name["none"].command(4, "shm", "lu", (), ("--log-ready", "1M")))))
        slow = " ".join(map(str, {v.name: v for v in variants.all_variants(Path("b"), Path("w"), PROTOCOLS, Launcher())}
                            ["optimist-el2"].command(4, "delay", "lu", ())))
        self.assertRegex(slow, "--protocol optimist .*--hosts a:1,b:1,c:1,d:1,e:1,f:1 .*--event-loggers 2 lu$")
        self.assertIn("--log-level process", " ".join(map(str, by_name["pessimist-process"].command(4, "nodes4", "lu", ()))))


class Launcher(network.Network):
    """Of a network that is not there."""

    def __init__(self):
        super().__init__(Path("w"), 500)
        self.launcher = "in-namespace"


class EventLoggers(unittest.TestCase):
    def outcome(self, sent, frames):
        return outcome({"seconds": 1.0, "digest": 7}, determinants=5, bytes_logged=10, messages_logged=1, messages_sent=sent + frames,
                       dependency_frames=frames, dependency_bytes=16 * frames)

    def test_what_goes_with_messages(self):
        name = "loggers.lu.n4.nodes4"
        entry = Pages.entry(None, [a_round(name, optimist=self.outcome(200, 150), optimist__el1=self.outcome(200, 100),
                                           optimist__el4=self.outcome(200, 50))])
        self.assertEqual(evaluate.problems(entry["rounds"]), [])
        text = page.tables(entry, "### ")
        self.assertIn("### Event loggers", text)
        for row in ("| LU | four nodes, loopback TCP | - | 200 | 5 | 150 | 12 |", "| 1 | 200 | 5 | 100 | 8 |", "| 4 | 200 | 5 | 50 | 4 |"):
            self.assertIn(row, text)

    def test_another_result(self):
        rounds = [a_round("loggers.lu.n4.nodes4", optimist=self.outcome(1, 1), optimist__el1=self.outcome(1, 1))]
        rounds[0]["outcomes"]["optimist-el1"]["points"]["digest"] = 8
        self.assertEqual(evaluate.problems(rounds), ["loggers.lu.n4.nodes4, optimist-el1: digest 8, not 7"])


class Delay(unittest.TestCase):
    def test_hosts_fit(self):
        most = re.search(r"HOSTS_MAX = (\d+)", (Path(__file__).parent / "delay.c").read_text())
        self.assertLessEqual(len(network.HOSTS) + len(network.LOGGERS) + 1, int(most[1]))


if __name__ == "__main__":
    unittest.main()
