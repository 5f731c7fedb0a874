#!/usr/bin/env python3
"""How a program ends by MPI_Abort and by an error that is fatal: output, exit code, under the launcher and alone."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ENDINGS = [  # arguments, exit code, what stderr says
    (["abort", "3"], 3, "MPI_Abort(MPI_COMM_WORLD, 3)"),
    (["abort", "0"], 1, "MPI_Abort(MPI_COMM_WORLD, 0)"),
    (["abort", "256"], 1, "MPI_Abort(MPI_COMM_WORLD, 256)"),
    (["abort", "-1"], 255, "MPI_Abort(MPI_COMM_WORLD, -1)"),
    (["fatal", "0"], 6, "MPI_Send failed: MPI_ERR_RANK"),
]


def findings_of(command, arguments, code, said):
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "file"
        done = subprocess.run([*command, *arguments, str(file)], capture_output=True, text=True, timeout=60)
        what = f"{' '.join(arguments)} {'under the launcher' if len(command) > 1 else 'alone'}"
        if done.stdout.strip() != "last words" or file.read_text() != "kept":
            yield f"{what}: lost output: '{done.stdout}', file '{file.read_text()}'"
        if done.returncode != code:
            yield f"{what}: exit code {done.returncode}, not {code}"
        if said not in done.stderr:
            yield f"{what}: stderr does not say '{said}': {done.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    alone, launched = [options.program], [options.holdfast, "run", "-n", "2", options.program]
    findings = [line for ending in ENDINGS for command in (alone, launched) for line in findings_of(command, *ending)]
    print("\n".join(findings) or "ended as they should")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
