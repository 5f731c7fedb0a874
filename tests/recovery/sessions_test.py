"""sessions_test.py BUILD PROGRAM: ranks that are killed before, between and behind their sessions, and inside of them, come back, under both protocols,
on one node and on several; the same is printed as undisturbed."""

import sys
import tempfile
from pathlib import Path

import jobs

RANKS, POINTS = 3, 15  # that the program passes


def main():
    build, program = sys.argv[1], Path(sys.argv[2]).resolve()
    undisturbed = jobs.run(build, RANKS, [program])
    failures = runs = 0
    if jobs.complaint(undisturbed, undisturbed.stdout) or undisturbed.stdout.count(b"\n") != RANKS:
        sys.exit(f"undisturbed: {undisturbed}")
    for number in range(POINTS + 1):
        for protocol, nodes in (("pessimist", 1), ("pessimist", 3), ("optimist", 3)):
            if (number + nodes + (protocol == "optimist")) % 2 and number not in (0, POINTS):
                continue  # every other one of each kind
            rank = (number + nodes) % RANKS
            with tempfile.TemporaryDirectory() as directory:
                marker = Path(directory) / "killed"
                outcome = jobs.run(build, RANKS, [program, number, rank, marker], nodes=nodes, options=["--protocol", protocol], timeout_s=40)
                killed = marker.exists()
            runs += 1
            problem = jobs.complaint(outcome, undisturbed.stdout)
            if killed != (number < POINTS):
                problem = f"{problem or ''} rank {rank} was {'' if killed else 'not '}killed at point {number}"
            if problem:
                failures += 1
                print(f"FAILED: point {number}, {protocol}, {nodes} nodes: {problem}\n  {outcome.shell_line()}\n{outcome.stderr[-1500:]}")
    print(f"{runs} runs, {failures} failed")
    sys.exit(1 if failures else 0)


main()
