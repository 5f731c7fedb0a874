"""Every protocol at every level of event logging, with event loggers and copies, and what may happen at each: level_stories.py.
Programs whose output does not depend on chance must print what the undisturbed run prints; those that are steered by the order of
messages check themselves.

    level_kills.py --build build [--cases 162] [--seed S] [--only I] [--minutes M] [--at-once N] [--timeout 60]
                   [--programs orders,...] [--log FILE]

162 cases are all stories at all levels once. The seed is fresh and printed; with --seed the same cases are drawn again, with --only
I case I alone. Jobs wait for much of their time: with three at once two cores do some 2000 cases in an hour. Exit code 1 when a case failed; the command that repeats it is printed.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import secrets
import sys
import threading
import time
from pathlib import Path

import jobs
import random_kills
from lengths import Lengths
from level_stories import WAYS, draw, injections
from node_mutations import order_told

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LONG_ENOUGH_S, STARTUP_S = 0.8, 0.1  # of an undisturbed run; the time in which a job is started, about


def steered(build, times=1):
    """Programs whose output differs from run to run: name -> (words, what is wrong with an output or None)."""
    def agree(out):
        return None if out.startswith(b"streams agree, final state ") and out.count(b"\n") == 1 else f"stdout is {out[:200]!r}"
    return {"orders": ([build / "bin/recovery_orders", 300 * times, 1000], order_told),
            "order_steered": ([build / "bin/tests/mpi_order_steered", 6000 * times], agree)}


class Suite:
    def __init__(self, options):
        self.options = options
        self.build = Path(options.build).resolve()
        self.steered = steered(self.build)
        self.names = sorted([*self.steered, *random_kills.programs(self.build)])
        self.lengths = Lengths()
        if options.programs:
            self.names = sorted(set(options.programs.split(",")))
        self.references, self.failures = {}, []
        self.referring = collections.defaultdict(threading.Lock)  # kind of undisturbed run -> who makes it
        self.telling = threading.RLock()  # counts, numbers and lines
        self.numbers = iter(range(options.cases) if options.only is None else [options.only])
        self.started, self.told = time.monotonic(), 0.0
        self.counts = collections.defaultdict(collections.Counter)  # way -> what -> how many

    def words(self, case, times):
        if case.program in self.steered:
            return steered(self.build, times)[case.program][0]
        return random_kills.programs(self.build, times)[case.program]

    @staticmethod
    def waits_for_disk(way):
        return way.protocol == "pessimist" and "disk" in way.level

    def run(self, case, times, inject=(), undisturbed_s=0.0):
        way = case.way
        options = ["--protocol", way.protocol, "--large-messages", case.large, "--eager-limit", case.eager]
        options += ["--log-level", way.level, "--spares", str(case.spares), "--fan-out", str(case.fan_out)] if case.nodes > 1 else []
        options += ["--event-loggers", str(way.loggers)] if way.loggers else []
        options += ["--event-copies", str(way.copies)] if way.copies > 1 else []
        return jobs.run(self.build, case.ranks, self.words(case, times), nodes=case.nodes, inject=inject, options=options,
                        timeout_s=max(self.options.timeout, 20 * undisturbed_s))

    def reference(self, case):
        """An undisturbed run of the same program, ranks and nodes: (times, Outcome, what is wrong with it)."""
        way = case.way
        key = (case.program, case.ranks, case.nodes, way.protocol, way.level)
        if case.program in self.steered:  # only its time is of interest
            key = (case.program, case.ranks, case.nodes, self.waits_for_disk(way))
        kind = (case.program, case.ranks, case.nodes, self.waits_for_disk(way))
        with self.referring[kind]:
            if key not in self.references:
                self.references[key] = self.lengths.undisturbed(kind, LONG_ENOUGH_S, lambda times: self.undisturbed(case, times))
            return self.references[key]

    def undisturbed(self, case, times):
        outcome = self.run(case, times)
        return outcome, self.wrong(case, outcome, outcome.stdout), outcome.seconds - STARTUP_S

    def wrong(self, case, outcome, expected):
        if case.program not in self.steered or outcome.exit_code != 0:
            return jobs.complaint(outcome, expected)
        return self.steered[case.program][1](outcome.stdout)

    def run_case(self, number):
        choose = random.Random(f"{self.options.seed}/{number}")
        case = draw(number, choose, self.names)
        times, reference, problem = self.reference(case)
        if problem:
            with self.telling:
                return self.failed(case, reference, "undisturbed run: " + problem)
        inject = injections(case, max(0.05, reference.seconds - STARTUP_S), choose)
        outcome = self.run(case, times, inject, reference.seconds)
        problem = self.wrong(case, outcome, reference.stdout)
        with self.telling:
            count = self.counts[case.way]
            count["cases"] += 1
            count["asked"] += sum(words.startswith("kill:") and "point=" not in words for words in inject)
            count["kills"] += outcome.kills
            count["lost"] += outcome.stderr.count(" is lost: ")
            count["rolled back"] += len(outcome.report.get("rolled_back", []))
            count["failed"] += bool(problem)
            if problem:
                self.failed(case, outcome, problem)

    def failed(self, case, outcome, problem):
        way = case.way
        self.say(f"FAILED case {case.number}: {case.program}, {way.protocol}, {way.level}, {way.loggers} event loggers, "
                 f"{way.copies} copies, {case.story}: {problem}")
        programs = f" --programs {self.options.programs}" if self.options.programs else ""
        self.say(f"  repeat:  {sys.executable} {os.path.relpath(__file__)} --build {self.options.build} "
                 f"--seed {self.options.seed}{programs} --only {case.number}")
        self.say(f"  the job: {outcome.shell_line()}")
        for line in outcome.stderr.strip().splitlines()[-16:]:
            self.say(f"  | {line[:300]}")
        self.failures.append(case)

    def say(self, text):
        print(text, flush=True)
        if self.options.log:
            with open(self.options.log, "a") as log:
                log.write(text.replace(str(ROOT) + "/", "") + "\n")

    def summary(self, seconds):
        total = collections.Counter()
        for way in WAYS:
            if way in self.counts:
                total.update(self.counts[way])
                self.say(f"  {way.protocol:9s} {way.level:12s} loggers {way.loggers} copies {way.copies}: {said(self.counts[way])}")
        self.say(f"seed {self.options.seed}, {seconds:.0f} s: {said(total)}")
        return total

    def next_case(self):
        """The number of the next case to be run, or None: the end."""
        with self.telling:
            seconds = time.monotonic() - self.started
            if seconds - self.told > 60:
                self.told = seconds
                self.say(f"  {sum(count['cases'] for count in self.counts.values())} cases, {len(self.failures)} failed, {seconds:.0f} s")
            if len(self.failures) >= self.options.failures_max or self.options.minutes and seconds > 60 * self.options.minutes:
                return None
            return next(self.numbers, None)

    def work(self):
        while (number := self.next_case()) is not None:
            self.run_case(number)

    def go(self):
        self.say(f"levels: seed {self.options.seed}, {self.options.cases} cases, commit {jobs.commit(ROOT)}, "
                 f"programs {', '.join(self.names)}")
        with concurrent.futures.ThreadPoolExecutor(self.options.at_once) as pool:
            for worker in [pool.submit(self.work) for _ in range(self.options.at_once)]:
                worker.result()
        total = self.summary(time.monotonic() - self.started)
        # Kills that come too late test nothing: most must have met a running rank.
        if total["asked"] >= 20 and total["kills"] < 0.5 * total["asked"]:
            self.say("FAILED: too few kills were carried out for this to be a test")
            return 1
        return 1 if self.failures else 0


def said(count):
    return (f"{count['cases']} cases, {count['kills']} of {count['asked']} kills, {count['lost']} nodes lost, "
            f"{count['rolled back']} ranks rolled back, {count['failed']} failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--cases", type=int, default=162)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--programs", default=None, help="these alone, separated by commas")
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one job, or 20 times what it takes undisturbed")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after so long (0: never)")
    parser.add_argument("--at-once", type=int, default=1, help="cases at the same time")
    parser.add_argument("--failures-max", type=int, default=5, help="stop after so many failed cases")
    parser.add_argument("--log", default=None)
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(1 << 31)
    sys.exit(Suite(options).go())


if __name__ == "__main__":
    main()
