"""A kill at every MPI call: for each rank R of a small program and N = 1, 2, ... the job is run with kill:rank=R,call=N, until
the report says that no kill happened because the rank makes fewer calls. Every run must print the undisturbed bytes.

    every_call.py --build build --program PROGRAM [--ranks 3] [--nodes 1] [--every K] [--rank R --call N]

--every K: at each K-th call, from one of the first K that is drawn anew each time.
"""

import argparse
import os
import random
import sys
import time
from pathlib import Path

import jobs

CALLS_MAX = 2000


class Walk:
    def __init__(self, options):
        self.options = options
        self.program = options.program
        self.failures = self.runs = 0
        self.reference = self.job(timeout_s=60)
        problem = jobs.complaint(self.reference, self.reference.stdout)
        if problem or not self.reference.stdout:
            sys.exit(f"undisturbed run: {problem or 'printed nothing'}\n{self.reference.stderr}")

    def job(self, **words):
        return jobs.run(self.options.build, self.options.ranks, self.program, nodes=self.options.nodes,
                        options=["--eager-limit", "64K"], **words)  # low: the program's large messages are announced

    def kill(self, rank, call):
        """True when the rank was killed there; False when it makes fewer calls. A failure is counted and printed."""
        outcome = self.job(inject=[f"kill:rank={rank},call={call}"], timeout_s=self.options.timeout)
        self.runs += 1
        problem = jobs.complaint(outcome, self.reference.stdout)
        if problem:
            self.failures += 1
            print(f"FAILED: rank {rank} killed at its MPI call {call}: {problem}")
            print(f"  repeat:  {sys.executable} {os.path.relpath(__file__)} --build {self.options.build} --ranks {self.options.ranks} "
                  f"--nodes {self.options.nodes} --rank {rank} --call {call} --program {' '.join(self.program)}")
            print(f"  the job: {outcome.shell_line()}")
            for line in outcome.stderr.strip().splitlines()[-8:]:
                print(f"  | {line[:300]}")
            return True
        return outcome.kills > 0

    def walk(self, rank):
        """How many calls it was killed at."""
        call, kills = random.randint(1, self.options.every), 0
        while call <= CALLS_MAX and self.failures < 10 and self.kill(rank, call):
            call += self.options.every
            kills += 1
        return kills


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--rank", type=int, default=None)
    parser.add_argument("--call", type=int, default=None)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--calls-min", type=int, default=5, help="fewer calls of a rank than this: something is wrong")
    parser.add_argument("--timeout", type=float, default=30.0)
    parser.add_argument("--program", nargs=argparse.REMAINDER, required=True)
    options = parser.parse_args()
    options.program = [str(Path(options.program[0]).resolve())] + options.program[1:]
    walk = Walk(options)
    if options.call is not None:
        walk.kill(options.rank or 0, options.call)
        sys.exit(1 if walk.failures else 0)
    started = time.monotonic()
    for rank in range(options.ranks) if options.rank is None else [options.rank]:
        calls = walk.walk(rank)
        print(f"rank {rank}: killed at {calls} of its MPI calls, {time.monotonic() - started:.0f} s", flush=True)
        if calls * options.every < options.calls_min:
            print(f"FAILED: only {calls} calls: is fault injection at work?")
            walk.failures += 1
    print(f"{walk.runs} runs, {walk.failures} failed")
    sys.exit(1 if walk.failures else 0)


main()
