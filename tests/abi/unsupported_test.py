#!/usr/bin/env python3
"""Every function that is not implemented gives MPI_ERR_UNSUPPORTED_OPERATION, through the error handler,
with a message that names it."""

import ctypes
import subprocess
import sys
from pathlib import Path

import table_of_functions

UNSUPPORTED, ERR_GROUP, ERR_ARG, ERR_FILE, ERR_INFO = 55, 9, 13, 30, 34
COMM_NULL, WORLD, SELF, FILE_NULL, SESSION_NULL, INFO_NULL = 0x100, 0x101, 0x102, 0x118, 0x120, 0x130
ERRORS_ARE_FATAL, ERRORS_RETURN = 0x141, 0x143

Handler = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int))


def unimplemented():
    for function in table_of_functions.functions():
        if not function.implemented and not function.front:
            for name, large in function.forms():
                yield function, name, large


def arguments(function, large):
    """Zeros, and MPI_COMM_WORLD for a communicator: nothing of them may be looked at."""
    return [ctypes.c_void_p(WORLD if p.kind == "comm" and not p.direction else 0)
            for p in function.parameters if large or not p.large_only]


def makers(mpi):
    """What makes an object with an error handler tells that handler, whatever that of MPI_COMM_SELF is."""
    findings, seen, made = [], [], ctypes.c_void_p()
    handler = Handler(lambda handle, code: seen.append((handle[0], code[0])))
    for kind, null, error in (("Comm", COMM_NULL, ERR_GROUP), ("Session", SESSION_NULL, ERR_INFO)):
        errhandler = ctypes.c_void_p()
        getattr(mpi, f"MPI_{kind}_create_errhandler")(handler, ctypes.byref(errhandler))
        for given, expected in ((errhandler, [(null, error)]), (ctypes.c_void_p(ERRORS_RETURN), [])):
            seen.clear()
            if kind == "Session":
                code = mpi.MPI_Session_init(1, given, ctypes.byref(made))
            else:
                code = mpi.MPI_Comm_create_from_group(None, b"tag", INFO_NULL, given, ctypes.byref(made))
            if code != error or seen != expected:
                findings.append(f"making a {kind} returned {code} and called the error handler with {seen}, not {expected}")
        mpi.MPI_Errhandler_free(ctypes.byref(errhandler))
    return findings


def expectation(function):
    """The code, and whom the error handler is called for."""
    if function.chapter == "files":
        return UNSUPPORTED, [(FILE_NULL, UNSUPPORTED)]
    if any(p.kind == "comm" and not p.direction for p in function.parameters):
        return UNSUPPORTED, [(WORLD, UNSUPPORTED)]
    return UNSUPPORTED, [(SELF, UNSUPPORTED)]


def file_handler(mpi, handler, seen):
    """MPI_FILE_NULL has the error handler of all file functions: MPI_ERRORS_RETURN, until another one is set."""
    findings, found, made = [], ctypes.c_void_p(), ctypes.c_void_p()

    def expect(what, code, expected, calls):
        if (code, seen) != (expected, calls):
            findings.append(f"{what}: {code}, handler called with {seen}; not {expected}, {calls}")
        seen.clear()

    seen.clear()
    expect("MPI_File_get_errhandler", mpi.MPI_File_get_errhandler(FILE_NULL, ctypes.byref(found)), 0, [])
    expect("MPI_File_open", mpi.MPI_File_open(WORLD, b"x", 0, INFO_NULL, ctypes.byref(made)), UNSUPPORTED, [])
    if found.value != ERRORS_RETURN:
        findings.append(f"the error handler of MPI_FILE_NULL is {found.value} at first")
    mpi.MPI_Comm_create_errhandler(handler, ctypes.byref(made))
    expect("a communicator's handler", mpi.MPI_File_set_errhandler(FILE_NULL, made), ERR_ARG, [])
    mpi.MPI_File_create_errhandler(handler, ctypes.byref(made))
    expect("MPI_File_set_errhandler", mpi.MPI_File_set_errhandler(FILE_NULL, made), 0, [])
    expect("MPI_File_get_errhandler", mpi.MPI_File_get_errhandler(FILE_NULL, ctypes.byref(found)), 0, [])
    if found.value != made.value:
        findings.append(f"the error handler of MPI_FILE_NULL is {found.value}, not {made.value}")
    expect("MPI_File_call_errhandler", mpi.MPI_File_call_errhandler(FILE_NULL, 7), 0, [(FILE_NULL, 7)])
    expect("no file", mpi.MPI_File_set_errhandler(ctypes.c_void_p(1), made), ERR_FILE, [(FILE_NULL, ERR_FILE)])
    return findings


def call_all(build):
    mpi = ctypes.CDLL(str(Path(build) / "lib" / "libmpi_abi.so.1"))
    mpi.MPI_Init(None, None)
    seen = []
    handler = Handler(lambda comm, code: seen.append((comm[0], code[0])))
    handle = ctypes.c_void_p()
    findings, count = makers(mpi), 0
    if mpi.MPI_Comm_create_errhandler(handler, ctypes.byref(handle)) != 0:
        findings.append("MPI_Comm_create_errhandler failed")
    for comm in (WORLD, SELF):
        if mpi.MPI_Comm_set_errhandler(ctypes.c_void_p(comm), handle) != 0:
            findings.append("MPI_Comm_set_errhandler failed")
    findings += file_handler(mpi, handler, seen)
    for function, name, large in unimplemented():
        expected, calls = expectation(function)
        for prefix in ("", "P"):
            count += 1
            seen.clear()
            code = getattr(mpi, prefix + name)(*arguments(function, large))
            if code != expected:
                findings.append(f"{prefix}{name} returned {code}, not {expected}")
            if seen != calls:
                findings.append(f"{prefix}{name} called the error handler with {seen}, not {calls}")
    for comm in (WORLD, SELF):
        mpi.MPI_Comm_set_errhandler(ctypes.c_void_p(comm), ctypes.c_void_p(ERRORS_RETURN))
    code = mpi.MPI_Win_create(None, 0, 1, INFO_NULL, WORLD, None)
    if code != UNSUPPORTED:
        findings.append(f"MPI_Win_create returned {code} with MPI_ERRORS_RETURN")
    mpi.MPI_Finalize()
    print("\n".join(findings) or f"{count} functions")
    return 1 if findings else 0


def fatal(build):
    """With MPI_ERRORS_ARE_FATAL the program ends with one line that names the function; before MPI_Init a handler in the call is told."""
    library = str(Path(build) / "lib" / "libmpi_abi.so.1")
    failed = 0
    for call in ("MPI_Init(None, None); mpi.MPI_Win_create(None, 0, 1, 0x130, 0x101, None)",
                 "MPI_Init(None, None); mpi.MPI_Win_sync(0)",
                 f"MPI_Init(None, None); mpi.MPI_File_set_errhandler({FILE_NULL}, {ERRORS_ARE_FATAL}); mpi.MPI_File_sync(0)"):
        program = f"import ctypes, sys; mpi = ctypes.CDLL(sys.argv[1]); mpi.{call}; print('still here')"
        result = subprocess.run([sys.executable, "-c", program, library], capture_output=True, text=True)
        lines = [line for line in result.stderr.splitlines() if line.strip()]
        name = call.split("mpi.")[-1].split("(")[0]
        if result.returncode == 0 or result.stdout or len(lines) != 1 or f"{name} is not supported" not in lines[0]:
            print(f"{name} did not end the program as it should: exit code {result.returncode}, "
                  f"output '{result.stdout}', errors '{result.stderr}'")
            failed = 1
        else:
            print(lines[0])
    program = (f"import ctypes, sys; mpi = ctypes.CDLL(sys.argv[1]); print(mpi.MPI_Session_init(1, {ERRORS_RETURN}, "
               "None)); mpi.MPI_Init(None, None); mpi.MPI_Finalize()")
    result = subprocess.run([sys.executable, "-c", program, library], capture_output=True, text=True)
    if (result.returncode, result.stdout, result.stderr) != (0, f"{ERR_INFO}\n", ""):
        print(f"MPI_Session_init with MPI_ERRORS_RETURN, then MPI_Init: {result}")
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(call_all(sys.argv[1]) or fatal(sys.argv[1]))
