"""What is measured, as series of bench/series.py, in the order of the paper's figures. A place is where the ranks are: shm, all on one
node; nodes2 and nodes4, nodes joined by loopback TCP; delay, four hosts with a slow network.

With four nodes the ping-pong is between the first and the third, and the holders of their events are the second and the fourth: as in
the paper, no event logger is where one of the two processes is."""

import series
from series import LOWER, Series
from variants import COVERED, DELAY, KILLED, LOGGERS, NO_LOG, NONE, OPTIMIST, PESSIMIST, PROCESS, SHM

KERNELS = ("bt", "cg", "ft", "lu", "mg", "sp")
WITH_EVENTS = ("lu", "mg")
BY_SQUARES = ("bt", "sp")
SAME_FOR_ALL_RANKS = ("bt", "ft", "lu", "mg", "sp")  # their digests
PLACES = (SHM, "nodes2", "nodes4", DELAY)
RANKS = {SHM: 2, "nodes2": 2, "nodes4": 4, DELAY: 4}  # of a ping-pong
SIZES = (1, 64, 1024, 4096, 16384, 65536, 262144, 1 << 20)

# Of a size and arithmetic by which messages and events come about as often as in class B of the benchmarks, and a second on two cores.
FULL = {"bt": (48, 10), "cg": (16384, 40), "ft": (128, 4), "lu": (96, 6), "mg": (128, 6), "sp": (48, 20)}
SLOW = {"bt": (24, 4), "cg": (8192, 20), "ft": (64, 4), "lu": (64, 3), "mg": (64, 2), "sp": (24, 5)}
SLOW_TRIPS = 200
WITH_LOGGERS = {"lu": (32, 10), "mg": (64, 4)}
TRIPS_KILLED = {SHM: 12_000_000, "nodes2": 200_000}
LOGGER_PLACES = ("nodes4", DELAY)
QUICK = {"bt": (8, 2), "cg": (512, 10), "ft": (16, 2), "lu": (8, 3), "mg": (16, 2), "sp": (8, 2)}


def words(kernel, sizes, *more):
    size, steps = sizes[kernel]
    return ("--size", str(size), "--steps", str(steps), *more)


def logging(protocols, *kinds):
    """Without its sender log pessimist alone can run."""
    return tuple(p + kind for p in protocols if p != NONE for kind in kinds if kind != NO_LOG or p == PESSIMIST)


def ping_pongs(protocols):
    for place in PLACES:
        pair = RANKS[place] == 2
        trips = series.ping_pong(SIZES) if pair else series.ping_pong(SIZES, series.BUDGET)
        if place == DELAY:
            trips = tuple(f"{size}:{min(SLOW_TRIPS, series.trips(size, series.BUDGET // len(SIZES)))}" for size in SIZES)
        for source, first in (("named", ()), ("any", ("any",))):
            yield Series(f"pingpong.{source}.{place}", RANKS[place], place, "us", LOWER, "pingpong", jobs=((*first, *trips),),
                         ready_bytes=series.LONG_READY_BYTES if pair else series.READY_BYTES, quick=((*first, "1:200", "4096:100"),),
                         competitors=(NONE, *logging(protocols, "", NO_LOG)))


def ranks_of(kernel, place):
    if place == SHM:
        return (1, 4) if kernel in BY_SQUARES else (1, 2, 4, 8)
    return (4,)


def kernels(protocols):
    for kernel in KERNELS:
        for place in PLACES:
            for ranks in ranks_of(kernel, place):
                alone = place == SHM and ranks != 4  # a point of figure 5 only
                kinds = ("",) if alone else ("", NO_LOG)
                covered = (PESSIMIST + COVERED,) if place == SHM and ranks == 4 and PESSIMIST in protocols else ()
                yield Series(f"{kernel}.n{ranks}.{place}", ranks, place, "s", LOWER, kernel,
                             jobs=(words(kernel, SLOW if place == DELAY else FULL),), quick=(words(kernel, QUICK),),
                             ready_bytes=128 << 20, competitors=(NONE, *logging(protocols, *kinds), *covered))


def costs(protocols):
    """Tables I and II: what an event costs, by leaving out one thing after the other."""
    who = logging(protocols, "", PROCESS)
    for source, named in (("named", ("--named",)), ("any", ())):
        trips = () if named else ("any",)
        yield Series(f"cost.pingpong.{source}", 4, "nodes4", "us", LOWER, "pingpong", jobs=((*trips, "1:20000"),),
                     quick=((*trips, "1:200"),), competitors=who)
        yield Series(f"cost.lu.{source}", 4, "nodes4", "s", LOWER, "lu", jobs=(words("lu", FULL, *named),),
                     quick=(words("lu", QUICK, *named),), competitors=who)


def event_loggers():
    """What goes with messages since it is not stable yet, by the number of event loggers."""
    for kernel in WITH_EVENTS:
        for place in LOGGER_PLACES:
            yield Series(f"loggers.{kernel}.n4.{place}", 4, place, "s", LOWER, kernel,
                         jobs=(words(kernel, SLOW if place == DELAY else WITH_LOGGERS),), quick=(words(kernel, QUICK),),
                         ready_bytes=128 << 20, competitors=(OPTIMIST, *(OPTIMIST + kind for kind in LOGGERS)))


def recoveries(protocols):
    """A rank is killed after a second of round trips of 8 bytes; the report says when it has caught up. The job is to take longer than
    that second."""
    for place, trips in TRIPS_KILLED.items():
        for source, words_of in (("named", ()), ("any", ("--any",))):
            yield Series(f"recovery.{source}.{place}", 2, place, "s", LOWER, "trips", jobs=(("--count", str(trips), *words_of),),
                         competitors=logging(protocols, KILLED))


def all_series(protocols):
    return [*ping_pongs(protocols), *kernels(protocols), *costs(protocols), *event_loggers(), *recoveries(protocols)]


def is_quick(one):
    return one.name in ("pingpong.any.shm", "cost.lu.any", "loggers.lu.n4.nodes4") or one.name.endswith(".n4.shm")
