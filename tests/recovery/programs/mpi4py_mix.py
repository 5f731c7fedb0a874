"""mpi4py_mix.py STEPS: a program as people write them with mpi4py: pickled objects from any source, numpy buffers around a ring,
collectives. Prints a result that does not depend on the order of messages."""

import hashlib
import sys

import numpy
from mpi4py import MPI


def collect(world, step):
    """Rank 0 takes a pickled object from everyone, in any order."""
    if world.rank != 0:
        world.send({"rank": world.rank, "step": step, "values": list(range(world.rank + step % 5))}, dest=0, tag=step)
        return None
    status = MPI.Status()
    parts = {}
    for _ in range(world.size - 1):
        part = world.recv(source=MPI.ANY_SOURCE, tag=step, status=status)
        parts[status.Get_source()] = part
    return [parts[rank] for rank in sorted(parts)]


def main():
    world = MPI.COMM_WORLD
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    field = numpy.linspace(world.rank, world.rank + 1.0, 5000)
    total = hashlib.sha256()
    for step in range(steps):
        incoming = numpy.empty_like(field)
        request = world.Irecv(incoming, source=(world.rank - 1) % world.size, tag=9)
        world.Send(field, dest=(world.rank + 1) % world.size, tag=9)
        request.Wait()
        field = 0.5 * (field + numpy.roll(incoming, 1)) + 1e-3 * step
        parts = collect(world, step)
        sums = numpy.empty(1)
        world.Allreduce(numpy.array([field.sum()]), sums)
        plan = world.bcast({"step": step, "sum": float(sums[0])} if world.rank == 0 else None)
        field[0] += plan["sum"] * 1e-6
        total.update(repr((parts, plan["sum"])).encode())
    fields = world.gather(field.tobytes())
    if world.rank == 0:
        for part in fields:
            total.update(part)
        print(f"mpi4py: {world.size} ranks, {steps} steps, digest {total.hexdigest()[:32]}")


main()
