"""python_files.py LIBRARY DIRECTORY ROUNDS: rank 1 makes directories with files in them, rank 0 removes them, and one of an earlier job before that. Rank 0 prints
what it saw."""
import ctypes
import os
import shutil
import sys
import time

mpi = ctypes.CDLL(sys.argv[1])
mpi.MPI_Init(None, None)
world = ctypes.c_void_p(0x101)  # MPI_COMM_WORLD of the standard ABI
rank = ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
of_before = os.path.join(sys.argv[2], "of_before")
if rank.value == 0 and os.path.isdir(of_before):
    shutil.rmtree(of_before)
for step in range(int(sys.argv[3])):
    made = os.path.join(sys.argv[2], f"made_{step % 7}")
    if rank.value == 1:
        os.mkdir(made)
        with open(os.path.join(made, "file"), "w") as file:
            file.write(str(step))
    mpi.MPI_Barrier(world)
    if rank.value == 0:
        there = os.path.isdir(made)
        shutil.rmtree(made)
        print(step, there, os.path.exists(made), flush=True)
    mpi.MPI_Barrier(world)
    time.sleep(0.01)
mpi.MPI_Finalize()
