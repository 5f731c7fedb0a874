#!/usr/bin/env python3
"""Bad arguments that the front end finds: the class of the error, and that nothing crashes."""

import ctypes
import subprocess
import sys
from pathlib import Path

WORLD, SELF, COMM_NULL = 0x101, 0x102, 0x100
INT, DATATYPE_NULL, BYTE = 0x209, 0x200, 0x247
SUM, ERRORS_RETURN, REQUEST_NULL, INFO_NULL, GROUP_EMPTY = 0x21, 0x143, 0x180, 0x130, 0x109
ERR = {"COUNT": 2, "TYPE": 3, "COMM": 5, "REQUEST": 7, "GROUP": 9, "OP": 10, "ARG": 13, "INFO": 34, "ERRHANDLER": 61}


def check(findings, what, code, expected):
    if code != ERR[expected]:
        findings.append(f"{what}: {code}, not MPI_ERR_{expected}")


def bad_arguments(mpi):
    findings = []
    buffer, out = ctypes.create_string_buffer(64), ctypes.c_void_p()
    invented = [ctypes.c_void_p(value) for value in (1, 0x3ff, 0x12345678, 0x7fffffff, 0x7fff12345678, 2**64 - 1)]
    for handle in invented:
        text = hex(handle.value)
        check(findings, f"MPI_Comm_size of {text}", mpi.MPI_Comm_size(handle, ctypes.byref(out)), "COMM")
        check(findings, f"MPI_Send of type {text}", mpi.MPI_Send(buffer, 1, handle, 0, 0, WORLD), "TYPE")
        check(findings, f"MPI_Allreduce with {text}", mpi.MPI_Allreduce(buffer, buffer, 1, INT, handle, WORLD), "OP")
        check(findings, f"MPI_Group_size of {text}", mpi.MPI_Group_size(handle, ctypes.byref(out)), "GROUP")
        check(findings, f"MPI_Info_set of {text}", mpi.MPI_Info_set(handle, b"a", b"b"), "INFO")
        request = ctypes.c_void_p(handle.value)
        check(findings, f"MPI_Wait of {text}", mpi.MPI_Wait(ctypes.byref(request), None), "REQUEST")
        check(findings, f"MPI_Comm_set_errhandler of {text}", mpi.MPI_Comm_set_errhandler(WORLD, handle), "ERRHANDLER")
    check(findings, "MPI_Send on MPI_COMM_NULL", mpi.MPI_Send(buffer, 1, INT, 0, 0, COMM_NULL), "COMM")
    check(findings, "MPI_Send of a communicator as type", mpi.MPI_Send(buffer, 1, WORLD, 0, 0, WORLD), "TYPE")
    check(findings, "MPI_Send of MPI_DATATYPE_NULL", mpi.MPI_Send(buffer, 1, DATATYPE_NULL, 0, 0, WORLD), "TYPE")
    check(findings, "MPI_Send of -1", mpi.MPI_Send(buffer, -1, INT, 0, 0, WORLD), "COUNT")
    check(findings, "MPI_Comm_size to nowhere", mpi.MPI_Comm_size(WORLD, None), "ARG")
    check(findings, "MPI_Waitall of -1", mpi.MPI_Waitall(-1, None, None), "COUNT")
    return findings


def freed_handles(mpi):
    findings = []
    group, again, dup, size = (ctypes.c_void_p() for _ in range(4))
    mpi.MPI_Comm_group(WORLD, ctypes.byref(group))
    mpi.MPI_Comm_group(WORLD, ctypes.byref(again))
    copy = ctypes.c_void_p(again.value)
    mpi.MPI_Group_free(ctypes.byref(group))
    if group.value != 0x108:
        findings.append(f"MPI_Group_free left the handle {group.value}")
    if mpi.MPI_Group_size(again, ctypes.byref(size)) != 0:
        findings.append("freeing one handle of a group took the other with it")
    mpi.MPI_Group_free(ctypes.byref(again))
    check(findings, "MPI_Group_size of a freed group", mpi.MPI_Group_size(copy, ctypes.byref(size)), "GROUP")

    mpi.MPI_Comm_dup(WORLD, ctypes.byref(dup))
    copy = ctypes.c_void_p(dup.value)
    mpi.MPI_Comm_free(ctypes.byref(dup))
    check(findings, "MPI_Comm_rank of a freed communicator", mpi.MPI_Comm_rank(copy, ctypes.byref(size)), "COMM")

    kind = ctypes.c_void_p()
    mpi.MPI_Type_contiguous(2, INT, ctypes.byref(kind))
    buffer = ctypes.create_string_buffer(64)
    check(findings, "MPI_Send of an uncommitted type", mpi.MPI_Send(buffer, 1, kind, 0, 0, WORLD), "TYPE")
    mpi.MPI_Type_free(ctypes.byref(kind))
    return findings


def conversions(mpi):
    findings = []
    mpi.MPI_Comm_fromint.restype = ctypes.c_void_p
    dup = ctypes.c_void_p()
    mpi.MPI_Comm_dup(SELF, ctypes.byref(dup))
    for handle in (WORLD, dup.value):
        number = mpi.MPI_Comm_toint(ctypes.c_void_p(handle))
        if mpi.MPI_Comm_fromint(number) != handle:
            findings.append(f"communicator {handle} became {number} and not itself again")
    if mpi.MPI_Comm_toint(ctypes.c_void_p(WORLD)) != WORLD:
        findings.append("MPI_Comm_toint changes the value of MPI_COMM_WORLD")
    mpi.MPI_Comm_free(ctypes.byref(dup))
    return findings


def outside(library):
    """A call before MPI_Init ends the program with one line."""
    program = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).MPI_Barrier(0x101)"
    result = subprocess.run([sys.executable, "-c", program, library], capture_output=True, text=True)
    if result.returncode == 0 or "MPI_Barrier was called before MPI_Init" not in result.stderr:
        return [f"MPI_Barrier before MPI_Init: exit code {result.returncode}, '{result.stderr}'"]
    return []


def main(build):
    library = str(Path(build) / "lib" / "libmpi_abi.so.1")
    mpi = ctypes.CDLL(library)
    mpi.MPI_Init(None, None)
    for comm in (WORLD, SELF):
        mpi.MPI_Comm_set_errhandler(ctypes.c_void_p(comm), ctypes.c_void_p(ERRORS_RETURN))
    findings = bad_arguments(mpi) + freed_handles(mpi) + conversions(mpi) + outside(library)
    mpi.MPI_Finalize()
    print("\n".join(findings) or "all errors as they should be")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
