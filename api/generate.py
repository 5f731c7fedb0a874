#!/usr/bin/env python3
"""Generates from the table of MPI functions: include/mpi.h, src/mpi/api.hpp and the entry points in src/abi/.

generate.py          writes what has changed
generate.py --check  exits 1 and names the files that differ from what the table says
"""

import sys
from pathlib import Path

import declarations
import entries
import header
from table import parse_callbacks, parse_constants, parse_functions

HERE = Path(__file__).resolve().parent
CHAPTERS = ["environment", "errors", "point_to_point", "datatypes", "collectives", "persistent_collectives",
            "communicators", "topologies", "partitioned", "windows", "files", "processes", "sessions", "tools", "conversion"]


def read_table():
    functions = []
    for chapter in CHAPTERS:
        functions += parse_functions((HERE / "functions" / f"{chapter}.txt").read_text(), chapter)
    callbacks = parse_callbacks((HERE / "callbacks.txt").read_text())
    return functions, callbacks, parse_constants((HERE / "constants.txt").read_text())


def generate():
    """Path in the repository -> text, for every generated file."""
    functions, callbacks, constants = read_table()
    files = {
        "include/mpi.h": header.make(functions, callbacks, constants),
        "src/mpi/api.hpp": declarations.make(functions),
    }
    for chapter in CHAPTERS:
        if any(f.chapter == chapter and entries.implemented(f) for f in functions):
            files[f"src/abi/entry/{chapter}.hpp"] = entries.make_templates(functions, chapter)
        files[f"src/abi/standard/entry_{chapter}.cpp"] = entries.make_symbols(functions, chapter)
    files["src/abi/standard/entries.S"] = entries.make_entries(functions)
    return files


def main(arguments):
    root = HERE.parent
    stale = []
    for path, text in generate().items():
        file = root / path
        if not file.exists() or file.read_text() != text:
            stale.append(path)
            if "--check" not in arguments:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
    if stale and "--check" in arguments:
        print("these files are not what the table says; run api/generate.py: " + ", ".join(stale), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
