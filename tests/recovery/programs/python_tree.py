"""python_tree.py LIBRARY DIRECTORY: rank 1 makes a tree, rank 0 removes it, and that once more. Rank 0 is killed between, and removes the first one again when the
second is there already. It prints what it finds in the second."""
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
tree = os.path.join(sys.argv[2], "tree")
for step in range(2):
    if rank.value == 1:
        time.sleep(0.5 * step)
        os.makedirs(os.path.join(tree, "below"))
        for name in "file", "below/file":
            with open(os.path.join(tree, name), "w") as file:
                file.write(str(step))
    mpi.MPI_Barrier(world)
    if rank.value == 0:
        if step == 0:
            time.sleep(1)
        else:
            print(sorted(os.path.join(at, name) for at, _, names in os.walk(tree) for name in names), open(os.path.join(tree, "below/file")).read())
        shutil.rmtree(tree)
    mpi.MPI_Barrier(world)
mpi.MPI_Finalize()
