"""Random kills: the examples, a program of intercommunicators and one of mpi4py, 2 to 8 ranks, 1 or 3 nodes, large messages read
directly or copied, 0, 1, 2 or 5 SIGKILLs at random times within the run; with --lose-nodes over 4 nodes of which 1 or 2 are lost as
well, their ranks taken over by spares (under optimist what they determined last is lost with them), and with --event-loggers some
or all of those too, at any time (with --event-copies 2 one of them together with a node); with --partitions these are cut off instead, for longer than --node-timeout, after another cut
that is shorter. Every run must print the same bytes as the undisturbed one.

    random_kills.py --build build [--cases 150] [--seed S] [--only I] [--timeout 60] [--minutes M] [--program NAME]
                    [--log FILE] [--lose-nodes | --partitions] [--protocol optimist] [--event-loggers N] [--event-copies K] [--log-level disk]

The seed is fresh and printed; with --seed the same cases are drawn again, with --only I case I alone. Exit code 1 when a
case failed; the command that repeats it is printed.
"""

import argparse
import collections
import datetime
import os
import platform
import random
import secrets
import sys
import time
from pathlib import Path

import jobs
from lengths import Lengths

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

Case = collections.namedtuple("Case", "number program ranks nodes kills losses style seed large eager fan_out cut orphans loggers copies")

APART_S = 0.4  # between two losses of nodes: what one takes to be noticed and mended
# What an undisturbed run takes at least, on any machine: what is to be lost comes while it runs. A second loss comes when the first is mended.
LONG_ENOUGH_S, LONG_ENOUGH_FOR_NODES_S = 0.35, 1.3


def programs(build, times=1):
    """Name -> words; `times` is how many times its shortest run each computes."""
    examples = build / "examples"
    table = {
        "heat": [examples / "heat", "--size", 320, "--steps", 400 * times, "--every", 10],
        "cg": [examples / "cg", "--laplace", 48, "--solves", 2 * times],
        "cg-file": [examples / "cg", "--matrix", ROOT / "examples/data/grid20.mtx", "--solves", 5 * times],
        "master_worker": [examples / "master_worker", "--tasks", 600 * times, "--size", 1000],
        "wavefront": [examples / "wavefront", "--size", 48, "--planes", 40, "--steps", 20 * times],
        "groups": [build / "bin" / "recovery_groups", 1200 * times],
        "nbody": [examples / "nbody", "--size", 800, "--steps", 40 * times],
        "overwriting": [build / "bin/tests/mpi_overwriting", times],
    }
    python = build / "venv" / "bin" / "python"
    if list((build / "venv").glob("lib/python*/site-packages/mpi4py/MPI*.so")):
        table["mpi4py"] = [python, HERE / "programs" / "mpi4py_mix.py", 60 * times]
    return table


def draw(number, seed, names, lose_nodes=False, cut=False, orphans=False, loggers=0, copies=1):
    """Case `number` of the seed: a function of both, so that one case can be repeated alone."""
    choose = random.Random(f"{seed}/{number}")
    program = choose.choice(sorted(names))
    nodes = 4 if lose_nodes else choose.choice((1, 3))
    ranks = choose.randint(nodes if nodes > 1 else 2, 8)
    losses = choose.choice((1, 2)) if lose_nodes else 0
    return Case(number, program, ranks, nodes, choose.choice((0, 1, 2, 5)), losses, choose.choice(("at", "random")),
                choose.randrange(1 << 31), choose.choice(("direct", "copied")), choose.choice(("16K", "1M")),
                choose.choice((2, 32)) if lose_nodes else 32, cut, orphans, loggers, copies)


def ways(case):
    """The ways that its large messages take: inside a node, and between nodes; the spare nodes, and how nodes are joined."""
    return (["--spares", str(case.losses), "--fan-out", str(case.fan_out)] if case.losses else []) + \
        (["--event-loggers", str(case.loggers)] if case.loggers else []) + \
        (["--event-copies", str(case.copies)] if case.copies > 1 else []) + ["--large-messages", case.large, "--eager-limit", case.eager]


def injections(case, span_s):
    """The kills of a case, within the `span_s` seconds that the undisturbed run spends between MPI_Init and its end."""
    return (partitions if case.cut else losses)(case, span_s) + lost_loggers(case, span_s) + kills(case, span_s)


def lost_loggers(case, span_s):
    """Any number of the event loggers, or none, at any time, several at once too; but none when a node is lost, or just before: it may be
    the one that holds its events, and then the job ends, by name."""
    if not case.loggers:
        return []
    choose = random.Random(case.seed + 3)
    first = case.nodes + case.losses
    lost = choose.sample(range(first, first + case.loggers), choose.randint(0, case.loggers))
    together = choose.random() < 0.3
    times = [choose.uniform(0.0, 0.85 * span_s) for _ in lost]
    nodes = [t for _, t in node_times(case, span_s)]
    if case.copies > 1:
        return [f"node:{choose.randrange(first, first + case.loggers)},at={max(0.0, 1000 * nodes[0] + choose.uniform(-20, 20)):.1f}ms"]
    return [f"node:{logger},at={1000 * apart(times[0] if together else t, nodes):.1f}ms" for logger, t in zip(lost, times)]


def apart(time, others):
    """The first time from `time` on that is not within APART_S of one of the others."""
    for other in sorted(others):
        if abs(time - other) < APART_S:
            time = other + APART_S
    return time


def partitions(case, span_s):
    """A short one anywhere, then one in which nodes are lost that do not hold each other's determinants. The head's side is first."""
    choose = random.Random(case.seed + 2)
    away = choose.sample(range(case.nodes), choose.randint(1, case.nodes - 1))
    first, lasting = choose.uniform(0, 0.2 * span_s), choose.uniform(0.05, 0.2)
    lost = [choose.randrange(case.nodes)]
    if case.losses > 1:
        lost.append(choose.choice([n for n in range(case.nodes) if abs(n - lost[0]) > 1]))
    then = first + lasting + choose.uniform(0.01, 0.1 * span_s)
    return [partition(case, away, first, lasting), partition(case, lost, then, choose.uniform(1.2, 2.5))]


def partition(case, away, at, lasting):
    here = [n for n in range(case.nodes + case.losses) if n not in away]
    groups = "|".join(",".join(map(str, group)) for group in (here, sorted(away)))
    return f"partition:{groups},at={1000 * at:.1f}ms,for={1000 * lasting:.1f}ms"


def node_times(case, span_s):
    """(node, time) of the lost nodes: not so near each other that one could hold what the other has just lost (docs/node-loss.md). The
    second may be the spare that took the first one's ranks."""
    choose = random.Random(case.seed + 1)
    first = choose.uniform(0.0, (0.85 if case.losses == 1 else 0.5) * span_s)
    times = [first, first + APART_S + choose.uniform(0.0, 0.3 * span_s)]
    nodes = [choose.randrange(case.nodes)]
    nodes.append(choose.choice([n for n in range(case.nodes + 1) if n != nodes[0]]))
    return list(zip(nodes, times))[:case.losses]


def losses(case, span_s):
    """Under optimist what the node determined last is lost with it."""
    lost, choose = node_times(case, span_s), random.Random(case.seed + 4)
    alone = [f"unshared:node={node},at={max(0.0, 1000 * t - choose.uniform(1, 60)):.1f}ms,for=5s"
             for node, t in lost] if case.orphans else []
    return alone + [f"node:{node},at={1000 * t:.1f}ms" for node, t in lost]


def kills(case, span_s):
    if case.kills == 0:
        return []
    if case.style == "random":
        rate = 1.5 * case.kills / span_s  # most of them fall into the run, which every kill makes longer
        return [f"kill:random,rate={rate:.3f}/s,seed={case.seed},max={case.kills}"]
    choose = random.Random(case.seed)
    times = sorted(choose.uniform(0.0, 0.85 * span_s) for _ in range(case.kills))
    return [f"kill:rank={choose.randrange(case.ranks)},at={1000 * t:.1f}ms" for t in times]


class Suite:
    def __init__(self, options):
        self.options = options
        self.build = Path(options.build).resolve()
        self.names = [options.program] if options.program else sorted(programs(self.build))
        self.lengths = Lengths()
        self.references = {}
        self.startup_s = None
        self.failures = []
        self.kills_asked = self.kills_done = self.finished = self.losses_asked = self.losses_done = self.rolled_back = 0
        self.counts = collections.Counter()

    def startup(self):
        """What a job takes that does nothing: subtracted from a run's time to know how long it computes."""
        if self.startup_s is None:
            program = [self.build / "examples" / "nbody", "--size", 8, "--steps", 0]
            self.startup_s = min(jobs.run(self.build, 4, program).seconds for _ in range(3))
        return self.startup_s

    def reference(self, case):
        """The undisturbed run of the same program, ranks and nodes, long enough to lose something in it: (words, outcome, problem)."""
        key = (case.program, case.ranks, case.nodes, case.losses, case.large, case.eager, case.loggers, case.copies)
        if key not in self.references:
            at_least_s = LONG_ENOUGH_FOR_NODES_S if case.losses else LONG_ENOUGH_S
            times, outcome, problem = self.lengths.undisturbed((case.program, case.ranks, case.nodes), at_least_s,
                                                               lambda times: self.undisturbed(case, times))
            self.references[key] = (programs(self.build, times)[case.program], outcome, problem)
        return self.references[key]

    def undisturbed(self, case, times):
        outcome = jobs.run(self.build, case.ranks, programs(self.build, times)[case.program], nodes=case.nodes, options=self.words(case),
                           timeout_s=self.options.timeout)
        problem = jobs.complaint(outcome, outcome.stdout) or (None if outcome.stdout else "printed nothing")
        return outcome, problem, outcome.seconds - self.startup()

    def words(self, case):
        return ways(case) + ["--protocol", self.options.protocol] + (["--log-level", self.options.log_level] if case.nodes > 1 and self.options.log_level else [])

    def run_case(self, case):
        words, reference, problem = self.reference(case)
        if problem:
            return self.failed(case, reference, "undisturbed run: " + problem)
        span_s = max(0.05, reference.seconds - self.startup())
        outcome = jobs.run(self.build, case.ranks, words, nodes=case.nodes, inject=injections(case, span_s), options=self.words(case),
                           timeout_s=self.options.timeout)
        self.kills_asked += case.kills
        self.kills_done += outcome.kills
        self.losses_asked += case.losses + len(lost_loggers(case, span_s))
        self.losses_done += outcome.stderr.count(" is lost: ")
        self.rolled_back += len(outcome.report.get("rolled_back", []))
        problem = jobs.complaint(outcome, reference.stdout)
        if problem:
            return self.failed(case, outcome, problem)
        self.counts[case.program, case.kills] += 1
        return True

    def failed(self, case, outcome, problem):
        again = f"{sys.executable} {os.path.relpath(__file__)} --build {self.options.build} --seed {self.options.seed} --only {case.number}"
        again += f" --program {self.options.program}" if self.options.program else ""
        again += f" --protocol {self.options.protocol}" if self.options.protocol != "pessimist" else ""
        again += f" --event-loggers {self.options.event_loggers}" if self.options.event_loggers else ""
        again += f" --event-copies {self.options.event_copies}" if self.options.event_copies > 1 else ""
        again += f" --log-level {self.options.log_level}" if self.options.log_level else ""
        again += " --lose-nodes" if self.options.lose_nodes else " --partitions" if self.options.partitions else ""
        self.say(f"FAILED case {case.number}: {case.program}, {case.ranks} ranks, {case.nodes} node(s), {case.kills} kill(s), {case.losses} lost node(s): {problem}")
        self.say(f"  repeat:  {again}")
        self.say(f"  the job: {outcome.shell_line()}")
        for line in outcome.stderr.strip().splitlines()[-12:]:
            self.say(f"  | {line[:300]}")
        self.failures.append(case)
        return False

    def say(self, text):
        print(text, flush=True)
        if self.options.log:
            with open(self.options.log, "a") as log:
                log.write(text.replace(str(ROOT) + "/", "") + "\n")

    def header(self):
        commit = jobs.commit(ROOT)  # before the log, which may be in the repository, is begun
        if self.options.log:
            Path(self.options.log).write_text("")
        self.say(f"random kills: seed {self.options.seed}, {self.options.cases} cases, commit {commit}, "
                 f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, "
                 f"Linux {platform.release().split('-')[0]}, programs {', '.join(self.names)}")

    def summary(self, seconds):
        for name in self.names:
            passed = {kills: self.counts[name, kills] for kills in (0, 1, 2, 5)}
            self.say(f"  {name:14s} passed with 0, 1, 2, 5 kills: {', '.join(str(n) for n in passed.values())}")
        self.say(f"{self.finished} cases in {seconds:.0f} s: {len(self.failures)} failed; "
                 f"kills asked for {self.kills_asked}, carried out {self.kills_done}"
                 + (f"; nodes to lose {self.losses_asked}, lost {self.losses_done}" if self.losses_asked else "")
                 + (f"; ranks rolled back {self.rolled_back}" if self.options.protocol == "optimist" else ""))

    def run(self):
        self.header()
        started = last = time.monotonic()
        numbers = [self.options.only] if self.options.only is not None else range(self.options.cases)
        for number in numbers:
            self.run_case(draw(number, self.options.seed, self.names, self.options.lose_nodes or self.options.partitions,
                               self.options.partitions, self.options.protocol == "optimist", self.options.event_loggers,
                               self.options.event_copies))
            self.finished += 1
            now = time.monotonic()
            if now - last > (10 if not self.options.log else 60):
                last = now
                self.say(f"  {self.finished} of {len(numbers)} cases, {len(self.failures)} failed, "
                         f"{self.kills_done} kills, {now - started:.0f} s")
            if self.options.minutes and now - started > 60 * self.options.minutes:
                self.say(f"  stopped by --minutes {self.options.minutes}")
                break
            if len(self.failures) >= self.options.failures_max:
                self.say(f"  stopped after {len(self.failures)} failures")
                break
        self.summary(time.monotonic() - started)
        # Kills that come too late test nothing: most must have met a running rank.
        if self.kills_asked >= 20 and self.kills_done < 0.6 * self.kills_asked:
            self.say("FAILED: too few kills were carried out for this to be a test")
            return 1
        if self.losses_asked >= 20 and self.losses_done < 0.5 * self.losses_asked:
            self.say("FAILED: too few nodes were lost for this to be a test")
            return 1
        return 1 if self.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--program", default=None, help="this one alone")
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one job")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long (0: never)")
    parser.add_argument("--failures-max", type=int, default=5, help="stop after so many failed cases")
    parser.add_argument("--log", default=None)
    parser.add_argument("--lose-nodes", action="store_true", help="4 nodes, of which 1 or 2 are lost")
    parser.add_argument("--partitions", action="store_true", help="4 nodes, of which 1 or 2 are cut off for longer than --node-timeout")
    parser.add_argument("--log-level", default=None, help="of jobs on several nodes")
    parser.add_argument("--protocol", choices=("pessimist", "optimist"), default="pessimist")
    parser.add_argument("--event-loggers", type=int, default=0, help="so many, of which any number is lost")
    parser.add_argument("--event-copies", type=int, default=1, help="2: one event logger is lost together with a node")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(1 << 31)
    sys.exit(Suite(options).run())


if __name__ == "__main__":
    main()
