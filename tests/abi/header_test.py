#!/usr/bin/env python3
"""include/mpi.h: compiles alone as C and C++, and has the types and values of the standard ABI.

The values stand in constants.golden. They are compared with a reference header too, where there is one: that of the mpich
wheel in the virtual environment, or the file that HOLDFAST_REFERENCE_MPI_H names. It may lack what REFERENCE_LACKS says."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = HERE.parents[1] / "include" / "mpi.h"
FORTRAN = re.compile(r"MPI_F(08)?_STATUS(ES)?_IGNORE$")  # addresses that are the Fortran library's, no values of the ABI
REFERENCE_LACKS = {"MPI_Precv_init_c", "MPI_Psend_init_c", "PMPI_Precv_init_c", "PMPI_Psend_init_c"}


def compile_alone(header):
    for compiler, standard, language in (("gcc", "c99", "c"), ("gcc", "c17", "c"), ("g++", "c++11", "c++"),
                                         ("g++", "c++20", "c++")):
        result = subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-x", language,
                                 "-fsyntax-only", "-include", header, "/dev/null"], capture_output=True, text=True)
        if result.returncode != 0:
            yield f"does not compile alone as {standard}: {result.stderr.splitlines()[0]}"


def values(header, names):
    """What a C program that includes the header prints for each name."""
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory) / "values.c", Path(directory) / "values"
        lines = ["#include <stddef.h>", "#include <stdio.h>", f'#include "{header}"', "int main(void) {"]
        for name in names:
            expression = name if name.startswith(("MPI_", "sizeof", "offsetof")) else None
            lines.append(f'  printf("%s %lld\\n", "{name}", (long long){expression});')
        source.write_text("\n".join(lines + ["  return 0;", "}"]))
        subprocess.run(["gcc", "-w", "-o", program, source], check=True)
        output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return dict(line.rsplit(" ", 1) for line in output.splitlines())


def golden():
    lines = (HERE / "constants.golden").read_text().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))


def prototypes(header):
    """name -> (result, types of the parameters), spelled alike."""
    text = re.sub(r"/\*.*?\*/", "", Path(header).read_text(), flags=re.S)
    found = {}
    for match in re.finditer(r"(\w+) (P?MPI_\w+)\(([^()]*)\);", re.sub(r"\s+", " ", text)):
        found[match[2]] = (match[1], [plain_type(p) for p in match[3].split(",")])
    return found


def plain_type(parameter):
    parameter = parameter.strip()
    arrays = parameter.count("[")
    parameter = re.sub(r"\[.*", "", parameter)
    if parameter == "const int level":  # const on a value changes nothing
        parameter = "int level"
    if parameter not in ("void", "...") and not parameter.endswith("_function"):
        parameter = re.sub(r"\w+$", "", parameter)
    return parameter.replace(" ", "") + "*" * bool(arrays)


def reference(build):
    candidates = [Path(os.environ.get("HOLDFAST_REFERENCE_MPI_H", "/nonexistent")),
                  Path(build) / "venv" / "include" / "mpi_abi.h"]
    return next((path for path in candidates if path.is_file()), None)


def compare_with(header, expected):
    ours, theirs = prototypes(OURS), prototypes(header)
    yield from (f"{name} is not in our header" for name in theirs.keys() - ours.keys())
    yield from (f"{name} is not in {header}" for name in ours.keys() - theirs.keys() - REFERENCE_LACKS)
    yield from (f"{name}: {ours[name]}, in {header} {theirs[name]}" for name in theirs.keys() & ours.keys()
                if ours[name] != theirs[name])
    found = values(header, expected)
    yield from (f"{name} is {found[name]} in {header}, {value} in constants.golden" for name, value in expected.items()
                if found[name] != value)


def constants_in(header):
    """Names of macros with a value and of enumerators."""
    text = re.sub(r"/\*.*?\*/", "", Path(header).read_text(), flags=re.S)
    names = re.findall(r"#define (MPI_\w+) +\S", text)
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, flags=re.S):
        names += re.findall(r"\b(MPI_\w+)\s*=", body)
    return {name for name in names if not name.startswith("MPI_ABI_Aint") and not FORTRAN.match(name)}


def main(build):
    expected = golden()
    findings = list(compile_alone(OURS))
    found = values(OURS, expected)
    findings += [f"{name} is {found[name]}, not {value}" for name, value in expected.items() if found[name] != value]
    findings += [f"{name} is not in constants.golden" for name in sorted(constants_in(OURS) - expected.keys())]
    header = reference(build)
    if header:
        findings += compare_with(header, expected)
    print("\n".join(findings) or f"{len(expected)} values; reference header: {header or 'none'}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
