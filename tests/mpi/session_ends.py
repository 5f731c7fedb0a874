#!/usr/bin/env python3
"""How programs with sessions end: what is wrong is said, and nobody waits, or fails to wait, for others."""

import argparse
import subprocess
import sys

LATE = "after MPI_Finalize or the last MPI_Session_finalize"
NO_WORLD = "MPI_Comm_size failed: MPI_ERR_COMM: the communicator is not valid here: comm is predefined, and there from MPI_Init to MPI_Finalize alone"
GIVEN_UP = "the order of its threads is recorded no longer"
MORE = "MPI_Session_init: MPI_THREAD_MULTIPLE was asked for, MPI_THREAD_SERIALIZED is provided"

ENDINGS = [  # argument, ranks, options, ends well, stdout, what stderr says
    ("unfinished", 1, [], False, "", "exited without calling MPI_Finalize or the last MPI_Session_finalize"),
    ("called_late", 1, [], False, "", f"MPI_Barrier was called {LATE}"),
    ("finalized_alone", 1, [], False, "", "MPI_Finalize failed: MPI_ERR_OTHER"),
    ("no_world", 1, [], False, "", NO_WORLD),
    ("world_is_gone", 1, [], False, "", NO_WORLD),
    ("asks_for_more", 3, [], True, "", MORE),
    ("threads", 1, ["--protocol", "pessimist"], False, "class 16\n", GIVEN_UP),
    ("late_receivers", 3, ["--protocol", "none"], True, "ok\n", ""),
    ("late_receivers", 3, ["--protocol", "none", "--nodes", "3"], True, "ok\n", ""),
    ("late_receivers", 3, ["--protocol", "pessimist"], True, "ok\n", ""),
    ("late_receivers", 3, ["--protocol", "pessimist", "--nodes", "3"], True, "ok\n", ""),
    ("late_receivers", 3, ["--protocol", "optimist", "--nodes", "3"], True, "ok\n", ""),
    ("only_two", 4, ["--protocol", "none", "--nodes", "2"], True, "ok\n", ""),
    ("only_two", 4, ["--protocol", "pessimist"], True, "ok\n", ""),
    ("some", 4, ["--protocol", "none"], True, "ok\n", ""),
    ("some", 4, ["--nodes", "2"], True, "ok\n", ""),
    ("world_of_some", 2, ["--nodes", "2"], False, "", "rank 1 exited without calling MPI_Init, which rank 0 has called"),
]


def finding(options, argument, ranks, more, well, printed, said):
    command = [options.holdfast, "run", "-n", str(ranks), *more, options.program, argument]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)}: no end"
    lines = done.stderr.splitlines()
    right = (done.returncode == 0) == well and done.stdout == printed and sum(said in line for line in lines) == (1 if said else len(lines))
    return None if right else f"{' '.join(command)}: {done}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    findings = [text for ending in ENDINGS if (text := finding(options, *ending))]
    print("\n".join(findings) or "ended as they should")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
