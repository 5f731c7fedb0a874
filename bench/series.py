"""What is measured: a table of series, each one or several jobs of a program of bench/programs or examples/.

The bytes that a rank sends in one job stay below the part of its log that is ready at once (Series.ready_bytes, an option where
it is not the default), so that no sample pays for a log that has run out; `past_log` alone goes past it, on purpose."""

import os
from dataclasses import dataclass

READY_BYTES = 32 << 20
BUDGET = 26 << 20  # of a sender; the rest is left for words among ranks and MPI's own messages
# Between two ranks more is made ready: with 26 MiB a job of large messages takes some milliseconds, and its value varies by two.
LONG_READY_BYTES = 256 << 20
LONG_BUDGET = 208 << 20
RECORD_HEAD, RECORD_ALIGN = 56, 64

SHM, TCP = "shm", "tcp"
LOWER, HIGHER = "lower", "higher"  # which is better


NONE_TO_BEST, PESSIMIST_TO_BEST, PESSIMIST_TO_NONE = "none_to_best", "pessimist_to_best", "pessimist_to_none"


@dataclass(frozen=True)
class Goal:
    """A bound on one ratio of a series, for some of its points (default: all). A difference of up to `slack` in the series'
    unit is good as well."""
    ratio: str
    bound: float
    labels: tuple = None
    slack: float = 0.0


@dataclass(frozen=True)
class Series:
    name: str
    ranks: int
    rail: str
    unit: str
    better: str
    program: str
    jobs: tuple                 # arguments of each job
    goals: tuple = ()
    example: bool = False
    competitors: tuple = None   # default: all
    holdfast_options: tuple = ()
    ready_bytes: int = READY_BYTES  # of the log: a rank sends less in a job
    disk_mebibytes: int = 0     # the disk's own rate is measured in every round too
    quick: tuple = None         # jobs of --quick
    strangers: int = 0          # processes of nobody's job that compute meanwhile

    def options(self):
        ready = () if self.ready_bytes == READY_BYTES else ("--log-ready", f"{self.ready_bytes >> 20}M")
        return (*ready, *self.holdfast_options)


def record(size):
    return (RECORD_HEAD + size + RECORD_ALIGN - 1) // RECORD_ALIGN * RECORD_ALIGN


def trips(size, budget, most=20000):
    """How many messages of a size fit into the budget."""
    return max(4, min(most, budget // record(size)))


def ping_pong(sizes, budget=LONG_BUDGET // 2):
    share = budget // len(sizes)
    return tuple(f"{size}:{trips(size, share)}" for size in sizes)


def windows(size, budget=LONG_BUDGET, window=None, warm_up=2):
    window = window or max(1, min(64, (2 << 20) // size))
    return f"{size}:{window}:{max(warm_up + 1, trips(size, budget, most=300000) // window)}:{warm_up}"


def log2_up(n):
    return (n - 1).bit_length()


# How often a rank sends a SIZE (bench/programs/collective.c) in one call, at most, over all algorithms.
SIZES_SENT = {
    "allreduce": log2_up, "reduce": log2_up, "bcast": log2_up, "scan": log2_up, "barrier": log2_up,
    "allgather": lambda ranks: ranks - 1, "alltoall": lambda ranks: ranks - 1, "reduce_scatter": lambda ranks: 2 * (ranks - 1),
    "gather": lambda ranks: ranks - 1, "scatter": lambda ranks: ranks - 1,
}


def collective(name, size, ranks, share, most=5000):
    return f"{name}:{size}:{trips(size, share // max(1, SIZES_SENT[name](ranks)), most=most)}"


LARGE = ("65536", "262144", "1048576", "4194304")


def pair(name, rail, *arguments, **words):
    return Series(name, 2, rail, *arguments, ready_bytes=LONG_READY_BYTES, **words)


def point_to_point(rail):
    yield pair(f"latency.{rail}", rail, "us", LOWER, "pingpong",
                 goals=(Goal(NONE_TO_BEST, 1.0 if rail == SHM else 0.7), Goal(PESSIMIST_TO_NONE, 1.05, ("8",), slack=0.008)),
                 jobs=(ping_pong((8, 64)), ping_pong((512, 4096)), ping_pong((16384, 65536))), quick=(("8:2000",),))
    yield pair(f"latency_any_source.{rail}", rail, "us", LOWER, "pingpong",
                 goals=(Goal(PESSIMIST_TO_NONE, 1.1),), jobs=(("any", *ping_pong((8, 512, 4096))),), quick=(("any", "8:1000"),))
    yield pair(f"bandwidth.{rail}", rail, "MB/s", HIGHER, "stream",
                 goals=(Goal(NONE_TO_BEST, 1.0), Goal(PESSIMIST_TO_BEST, 1.0, LARGE),
                        Goal(PESSIMIST_TO_NONE, 0.35 if rail == SHM else 0.9, LARGE)),
                 jobs=((windows(4096, LONG_BUDGET // 2), windows(16384, LONG_BUDGET // 2)),
                       *((windows(int(size)),) for size in LARGE)),
                 quick=((windows(65536, 4 << 20), windows(1 << 20, 16 << 20)),))
    yield pair(f"message_rate.{rail}", rail, "million/s", HIGHER, "stream", goals=(Goal(NONE_TO_BEST, 1.0),),
                 jobs=(("rate", windows(8)),), quick=(("rate", windows(8, 1 << 20)),))
    yield pair(f"message_rate_any_source.{rail}", rail, "million/s", HIGHER, "stream",
                 jobs=(("rate", "any", windows(8)),), quick=(("rate", "any", windows(8, 1 << 19)),))


def collectives(rail):
    for ranks in (2, 4):
        yield Series(f"collectives.n{ranks}.{rail}", ranks, rail, "us", LOWER, "collective", goals=(Goal(NONE_TO_BEST, 1.0),),
                     jobs=((collective("allreduce", 8, ranks, BUDGET // 4), collective("allreduce", 4096, ranks, BUDGET // 2),
                            "barrier:5000"),
                           (collective("allreduce", 1 << 20, ranks, BUDGET),)),
                     quick=(("allreduce:8:300", "barrier:300"),))
    yield Series(f"collectives.n8.{rail}", 8, rail, "us", LOWER, "collective", goals=(Goal(NONE_TO_BEST, 1.0),),
                 jobs=((collective("allreduce", 8, 8, BUDGET // 4), "barrier:2000"),), quick=(("allreduce:8:50",),))


def crowded():
    """On a machine where others compute, one process for every core: what four ranks take for a collective."""
    yield Series("crowded.n4.shm", 4, SHM, "us", LOWER, "collective", goals=(Goal(NONE_TO_BEST, 1.0),),
                 strangers=len(os.sched_getaffinity(0)),
                 jobs=(("allreduce:8:2000", "allreduce:4096:2000", "barrier:2000"),), quick=(("allreduce:8:100",),))


OTHER_COLLECTIVES = ("bcast", "reduce", "scan", "gather", "scatter", "allgather", "alltoall", "reduce_scatter")


# So many calls lie between two looks at the clock, each of which is an event that several nodes wait for, that it does not count.
OTHER_BUDGET = 4 * BUDGET


def other_collectives(rail):
    for ranks in (2, 4):
        short = tuple(collective(name, size, ranks, OTHER_BUDGET // 16, most=2000) for name in OTHER_COLLECTIVES for size in (8, 4096))
        long = tuple((collective(name, 1 << 20, ranks, BUDGET),) for name in OTHER_COLLECTIVES)
        yield Series(f"other_collectives.n{ranks}.{rail}", ranks, rail, "us", LOWER, "collective", goals=(Goal(NONE_TO_BEST, 1.0),),
                     jobs=(short, *long), ready_bytes=4 * READY_BYTES,
                     quick=(tuple(f"{name}:8:50" for name in OTHER_COLLECTIVES),))


EXAMPLES = {
    "heat": ("--size", "1200", "--steps", "600", "--every", "50"),
    "cg": ("--laplace", "300", "--iterations", "400"),
    "master_worker": ("--tasks", "600", "--size", "1500"),
    "wavefront": ("--size", "96", "--planes", "64", "--steps", "60"),
    "nbody": ("--size", "2400", "--steps", "12"),
}


def examples():
    for name, arguments in EXAMPLES.items():
        for ranks in (4, 8):
            yield Series(f"example.{name}.n{ranks}", ranks, SHM, "s", LOWER, name, jobs=(arguments,),
                         goals=(Goal(NONE_TO_BEST, 1.02),), example=True, quick=(QUICK_EXAMPLES[name],))


QUICK_EXAMPLES = {
    "heat": ("--size", "200", "--steps", "60"),
    "cg": ("--laplace", "24"),
    "master_worker": ("--tasks", "100"),
    "wavefront": ("--size", "28", "--planes", "20", "--steps", "5"),
    "nbody": ("--size", "200", "--steps", "10"),
}

PAST_LOG_MEBIBYTES = 512


def past_log():
    """With 32 MiB of memory for the log; all that is measured comes after the first 64 MiB."""
    jobs = tuple((windows(size, PAST_LOG_MEBIBYTES << 20, warm_up=(64 << 20) // ((2 << 20) // size * size)),)
                 for size in (65536, 1 << 20))
    yield Series("past_log.shm", 2, SHM, "MB/s", HIGHER, "stream", jobs=jobs,
                 goals=(Goal(PESSIMIST_TO_BEST, 0.8),), competitors=("none", "pessimist"),
                 holdfast_options=("--log-memory", "32M"), disk_mebibytes=256)


def all_series():
    return [*point_to_point(SHM), *point_to_point(TCP), *collectives(SHM), *collectives(TCP), *other_collectives(SHM),
            *other_collectives(TCP), *crowded(), *examples(), *past_log()]


QUICK = ("latency.shm", "latency_any_source.shm", "bandwidth.shm", "message_rate.shm", "latency.tcp", "collectives.n4.shm",
         "example.heat.n4", "example.master_worker.n4")
