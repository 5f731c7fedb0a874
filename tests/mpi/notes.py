#!/usr/bin/env python3
"""A program that asks for more threads than it gets is told so once, and one that does not is told nothing."""

import argparse
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    failed = 0
    for arguments, lines in (([], 0), (["multiple"], 1)):
        done = subprocess.run([options.holdfast, "run", "-n", "3", options.program, *arguments], capture_output=True, text=True,
                              timeout=60)
        said = [line for line in done.stderr.splitlines() if "MPI_THREAD_MULTIPLE was asked for" in line]
        if done.returncode or done.stdout != "ok\n" or len(said) != lines or len(done.stderr.splitlines()) != lines:
            print(f"{arguments}: {lines} line(s) expected: {done}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
