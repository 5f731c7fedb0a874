"""A kill at every named point of the engine: for each point NAME, each rank R of a program and N = 1, 2, 4, ... the job is run with
kill:rank=R,point=NAME:N until the rank passes that point less often. Every run must print the undisturbed bytes, and every
point must have been met by a kill (on one node those that exist there).

--every 2: of the N only each second, from the first or the second on, as it is drawn.

    every_point.py --build build --program PROGRAM [--ranks 2] [--nodes 1] [--every 1] [--large-messages direct] [--eager-limit 64K]
                   [--through WRAPPER] [--point NAME] [--rank R --pass N]
"""

import argparse
import os
import random
import re
import sys
import time
from pathlib import Path

import jobs

ROOT = Path(__file__).resolve().parent.parent.parent
PASSES_MAX = 1 << 12
# Within a node a payload is read out of the sender's memory or log: nobody asks for it.
ASKED = {"rendezvous.requested", "rendezvous.asked", "rendezvous.piece"}
IN_PIECES = {"rendezvous.arriving", "rendezvous.received"}
EXPOSED = {"rendezvous.exposed"}
# Between nodes it leaves before it is logged, and comes with its envelope up to the eager limit: the program has none above 1 MiB.
AHEAD = {"send.ahead", "send.ahead.carrying"}
ANNOUNCED = {"rendezvous.announced", "rendezvous.seen", "rendezvous.matched"}
UNASKED = {"rendezvous.following"}  # pieces behind an announcement, between nodes
HELPING = {"rendezvous.helping"}  # the sender writes a part of what is read, where each rank has a core

# Passed only when the sender has logged a message before the receiver, which has begun, has read it: seldom where others want the cores.
TIMED, ATTEMPTS = HELPING, 20


def not_passed(options):
    if options.nodes > 1:
        return HELPING | EXPOSED if options.eager_limit == "64K" else HELPING | EXPOSED | ANNOUNCED | UNASKED | ASKED
    if options.through:  # announced, and then taken from the log
        return HELPING | AHEAD | UNASKED | ASKED | IN_PIECES
    if options.large_messages != "direct":
        return HELPING | AHEAD | UNASKED | ASKED | IN_PIECES | EXPOSED
    return AHEAD | UNASKED | ASKED | (HELPING if options.ranks > len(os.sched_getaffinity(0)) else set())


def points():
    """The names that the engine's sources pass."""
    text = "".join(path.read_text() for path in sorted((ROOT / "src/engine").glob("*.cpp")))
    calls = re.findall(r"\bpoint\(([^;]*)\);", text)
    return sorted({name for call in calls for name in re.findall(r'"([a-z.]+)"', call)})


class Walk:
    def __init__(self, options):
        self.options = options
        self.program = [options.through, options.program] if options.through else [options.program]
        self.runs = self.kills = self.failures = 0
        self.reference = self.job()
        problem = jobs.complaint(self.reference, self.reference.stdout)
        if problem or not self.reference.stdout:
            sys.exit(f"undisturbed run: {problem or 'printed nothing'}\n{self.reference.stderr}")

    def job(self, **words):
        return jobs.run(self.options.build, self.options.ranks, self.program, nodes=self.options.nodes,
                        options=["--large-messages", self.options.large_messages, "--eager-limit", self.options.eager_limit],
                        **words)

    def kill(self, rank, point, number):
        """True when the rank was killed there. A failure is counted and printed."""
        outcome = self.job(inject=[f"kill:rank={rank},point={point}:{number}"], timeout_s=self.options.timeout)
        self.runs += 1
        self.kills += outcome.kills
        problem = jobs.complaint(outcome, self.reference.stdout)
        if problem is None:
            return outcome.kills > 0
        self.failures += 1
        print(f"FAILED: rank {rank} killed at pass {number} of {point}: {problem}")
        print(f"  repeat:  {sys.executable} {os.path.relpath(__file__)} --build {self.options.build} --ranks {self.options.ranks} "
              f"--nodes {self.options.nodes} --large-messages {self.options.large_messages} "
              f"--eager-limit {self.options.eager_limit} --point {point} --rank {rank} --pass {number} --program {self.options.program}"
              + (f" --through {self.options.through}" if self.options.through else ""))
        print(f"  the job: {outcome.shell_line()}")
        for line in outcome.stderr.strip().splitlines()[-8:]:
            print(f"  | {line[:300]}")
        return True

    def walk(self, rank, point):
        every = self.options.every
        number = first = 2 ** random.randrange(every)
        while number <= PASSES_MAX and self.failures < 5 and self.kill(rank, point, number):
            number *= 2 ** every
        if number == first > 1:
            self.kill(rank, point, 1)

    def all(self, names):
        started = time.monotonic()
        for point in names:
            before = self.kills
            expected = point not in not_passed(self.options)
            for _ in range(ATTEMPTS if point in TIMED and expected else 1):
                for rank in range(self.options.ranks) if self.options.rank is None else [self.options.rank]:
                    self.walk(rank, point)
                if self.kills > before:
                    break
            print(f"{point}: {self.kills - before} kills, {time.monotonic() - started:.0f} s", flush=True)
            if (self.kills > before) != expected:
                print(f"FAILED: {point} was {'not ' if expected else ''}passed")
                self.failures += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--large-messages", default="direct")
    parser.add_argument("--eager-limit", choices=("64K", "1M"), default="64K")
    parser.add_argument("--through", help="a program that runs the one that is named behind it")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--point", default=None)
    parser.add_argument("--rank", type=int, default=None)
    parser.add_argument("--pass", dest="number", type=int, default=None)
    parser.add_argument("--timeout", type=float, default=30.0)
    options = parser.parse_args()
    options.program = str(Path(options.program).resolve())
    walk = Walk(options)
    if options.number is not None:
        walk.kill(options.rank or 0, options.point, options.number)
    else:
        walk.all(points() if options.point is None else [options.point])
    print(f"{walk.runs} runs, {walk.kills} kills, {walk.failures} failed")
    sys.exit(1 if walk.failures else 0)


main()
