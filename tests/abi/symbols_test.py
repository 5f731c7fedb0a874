#!/usr/bin/env python3
"""The library exports the 664 functions of MPI 5.0 as MPI_ and PMPI_ names, weak and strong, and nothing else."""

import subprocess
import sys
from pathlib import Path

import table_of_functions

FUNCTIONS_OF_MPI_5_0 = 664


def main(build):
    library = Path(build) / "lib" / "libmpi_abi.so.1"
    output = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1].split("@")[0]: line.split()[-2] for line in output.splitlines()}
    names = table_of_functions.names()
    findings = []
    if len(set(names)) != FUNCTIONS_OF_MPI_5_0:
        findings.append(f"the table has {len(set(names))} functions, not {FUNCTIONS_OF_MPI_5_0}")
    expected = {name: "W" for name in names} | {"P" + name: "T" for name in names}
    findings += [f"{name} is not exported" for name in sorted(expected.keys() - symbols.keys())]
    findings += [f"{name} is exported and should not be" for name in sorted(symbols.keys() - expected.keys())]
    findings += [f"{name} is of type {symbols[name]}, not {kind}" for name, kind in expected.items()
                 if symbols.get(name, kind) != kind]
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    if "soname: [libmpi_abi.so.1]" not in dynamic:
        findings.append("the soname is not libmpi_abi.so.1")
    print("\n".join(findings) or f"{len(symbols)} symbols")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
