#!/usr/bin/env python3
"""A program that asks for more threads than it gets is told so once, and one that does not is told nothing. One that ignores that a
function is not supported is told of each such function, once for the job."""

import argparse
import subprocess
import sys

THREADS = "MPI_THREAD_MULTIPLE was asked for"
UNSUPPORTED = "is not supported by this version of Holdfast: it has returned an error"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--unsupported", required=True)
    options = parser.parse_args()
    failed = 0
    for command, expected in (([options.program], []), ([options.program, "multiple"], [THREADS]),
                              ([options.unsupported], [f"MPI_{name} {UNSUPPORTED}" for name in ("Win_allocate_shared", "Win_fence")])):
        done = subprocess.run([options.holdfast, "run", "-n", "3", *command], capture_output=True, text=True, timeout=60)
        said = done.stderr.splitlines()
        found = [sum(text in line for line in said) for text in expected]
        if done.returncode or done.stdout != "ok\n" or len(said) != len(expected) or found != [1] * len(expected):
            print(f"{command}: {expected} expected, once each: {done}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
