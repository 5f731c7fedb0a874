"""python_tree.py LIBRARY DIRECTORY: rank 1 makes a tree and a file, rank 0 removes them, and that once more. Rank 0 is killed between, and removes the first ones again when the
second are there already. It prints what it finds in the second tree."""
import ctypes
import os
import select
import shutil
import sys
import time

mpi = ctypes.CDLL(sys.argv[1])
mpi.MPI_Init(None, None)
world = ctypes.c_void_p(0x101)  # MPI_COMM_WORLD of the standard ABI
rank = ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
tree, flag = (os.path.join(sys.argv[2], name) for name in ("tree", "flag"))
for step in range(2):
    if rank.value == 1:
        time.sleep(0.5 * step)
        os.makedirs(os.path.join(tree, "below"))
        for path in flag, os.path.join(tree, "file"), os.path.join(tree, "below/file"):
            with open(path, "w") as file:
                file.write(str(step))
    mpi.MPI_Barrier(world)
    if rank.value == 0:
        if step == 0:
            select.select([], [], [], 1)  # again in a replay, other than sleep, which reads the clock
        else:
            print(sorted(os.path.join(at, name) for at, _, names in os.walk(tree) for name in names), open(os.path.join(tree, "below/file")).read())
        os.unlink(flag)
        shutil.rmtree(tree)
    mpi.MPI_Barrier(world)
mpi.MPI_Finalize()
