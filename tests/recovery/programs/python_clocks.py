"""python_clocks.py LIBRARY ROUNDS DIRECTORY [forked]: what a Python program learns from the system before and after MPI_Init, with the MPI library loaded
late. Rank 0 prints it. A module in DIRECTORY is imported, whose compiled file changes its date, as when another rank has made it again. `forked`: MPI is
called in a child, after another one, and their parent goes on learning."""
import ctypes
import os
import random
import resource
import sys
import tempfile
import time
import uuid

began = time.time()
drawn = random.random()  # seeded by the system


def fork():
    if os.fork() == 0:
        os._exit(int(random.SystemRandom().random() > 1))
    child = os.fork()
    while child:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            os._exit(os.waitstatus_to_exitcode(status) & 255)
        time.time(), random.SystemRandom().random(), time.sleep(0.001)
        assert os.getpid() == parent
    assert os.getpid() != parent and os.getppid() == parent
    os.kill(parent, 0)


parent = os.getpid()
if "forked" in sys.argv:
    fork()
sys.path.insert(0, sys.argv[3])
import told
mpi = ctypes.CDLL(sys.argv[1])
mpi.MPI_Init(None, None)
world = ctypes.c_void_p(0x101)  # MPI_COMM_WORLD of the standard ABI
rank = ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
used = (0, 0)
for step in range(int(sys.argv[2])):
    os.utime(told.__cached__)
    mine = (ctypes.c_double * 4)(time.perf_counter(), random.SystemRandom().random(), float(os.getpid()), float(uuid.uuid4().int >> 80))
    before, used = used, resource.getrusage(resource.RUSAGE_SELF)[:2]
    assert used[0] >= before[0] and used[1] >= before[1], "getrusage goes back"
    with tempfile.TemporaryDirectory() as directory:
        (lambda path: open(path, "w").write("text"))(os.path.join(directory, "file"))
    mpi.MPI_Bcast(mine, 4, ctypes.c_void_p(0x214), 0, world)
    mpi.MPI_Barrier(world)
    if rank.value == 0:
        print(step, began, drawn, *mine, time.monotonic(), directory, told.what, flush=True)
    time.sleep(0.005)
mpi.MPI_Finalize()
