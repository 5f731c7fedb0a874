"""Measures every algorithm of every collective on this machine and writes the table that `holdfast run --collectives` reads.

With and without logging, ranks of one node and each on a node of its own; in every round all algorithms of a collective take
turns. A rule holds from halfway (in powers) between two sizes measured, and begins where another algorithm is better by more
than the noise."""

import itertools
import json
import re
import statistics

import commands
import competitors
import machine

SIZES = (8, 256, 2048, 16384, 65536, 262144, 1 << 20)  # as bench/programs/collective.c takes them
RANKS = {2: 1, 4: 3, 8: 6}                             # measured with: the rule holds from so many on
BETTER = 0.9                                           # a change of algorithm is worth a rule from this ratio of the times on
OF_ALL_BLOCKS = ("allgather", "reduce_scatter")        # whose rules count the bytes of all blocks, not of one (wire/collective_rule.hpp)
LIMIT_S = 120
NO_BYTES = "barrier"


# Not measured: from so many ranks on the number of steps decides for short messages, as in core/collectives/choice.cpp.
MANY = 16
FOR_MANY = {
    "allgather": [(0, "bruck"), (64 << 10, "ring")], "allreduce": [(0, "doubling"), (32 << 10, "rabenseifner")],
    "barrier": [(0, "dissemination")],
    "alltoall": [(0, "bruck"), (256, "pairwise")], "bcast": [(0, "binomial"), (64 << 10, "scatter_ring")],
    "gather": [(0, "binomial"), (4096, "linear")], "scatter": [(0, "binomial"), (4096, "linear")],
    "reduce": [(0, "binomial"), (32 << 10, "rabenseifner")], "reduce_scatter": [(0, "halving")],
    "scan": [(0, "doubling"), (64 << 10, "chain")],
}


def known(holdfast, word):
    """What `holdfast` itself names when it is asked for one that it does not know."""
    done = commands.run((holdfast, "run", "--collective", word, "true"), commands.clean_environment(), 20)
    return [name.strip() for name in done.err.rsplit(":", 1)[1].split(",")] if done.code == 2 and ":" in done.err else []


def algorithms(holdfast):
    return {name: known(holdfast, f"{name}=?") for name in known(holdfast, "?=?")}


def sizes_of(collective):
    return (0,) if collective == NO_BYTES else SIZES


def calls(size):
    return 1500 if size <= 2048 else 300 if size <= 65536 else 60


def measure(mpi, case, algorithm):
    """Microseconds by size; a job that fails ends the tuning, since its table would be wrong."""
    logging, nodes, ranks, collective = case
    words = [mpi.bin() / "holdfast", "run", "-n", ranks, "--nodes", 1 if nodes == 1 else ranks,
             "--protocol", "pessimist" if logging else "none", "--collective", f"{collective}={algorithm}"]
    words += [mpi.compile("collective", example=False), *(f"{collective}:{size}:{calls(size)}".replace(":0:", ":") for size in sizes_of(collective))]
    done = commands.run(words, mpi.environment(), LIMIT_S)
    found = {int(size or 0): float(value) for size, value in re.findall(r"^point \w+:?(\d*) (\S+)$", done.out, re.M)}
    if done.code != 0 or sorted(found) != sorted(sizes_of(collective)):
        raise competitors.Unavailable(f"{collective} by {algorithm} with {ranks} ranks: {done.why()}")
    return found


def choose(times):
    """[(size, algorithm)]: from which size on which is to be taken, at first the one named first if none is better. `times`:
    {algorithm: {size: us}}."""
    chosen, now = [], next(iter(times))
    for size in sorted(next(iter(times.values()))):
        best = min(times, key=lambda name: times[name][size])
        better = times[best][size] < BETTER * times[now][size]
        now = best if better else now
        if better or not chosen:
            chosen.append((size, now))
    return chosen


def rule(case, size, algorithm):
    logging, nodes, ranks, collective = case
    before = max((s for s in SIZES if s < size), default=None)
    begin = 0 if before is None else 1 << ((before.bit_length() + size.bit_length()) // 2 - 1)
    if collective in OF_ALL_BLOCKS:
        begin *= ranks
    return {"collective": collective, "logging": logging, "nodes": nodes, "ranks": RANKS[ranks], "bytes": begin, "algorithm": algorithm}


def rules_of(medians):
    """`medians`: {(logging, nodes, ranks, collective): {algorithm: {size: us}}}. What fewer ranks have already is not said again."""
    rules, last = [], {}
    for case, times in sorted(medians.items()):
        made = [rule(case, size, algorithm) for size, algorithm in choose(times)]
        logging, nodes, _, collective = case
        same = [(r["bytes"], r["algorithm"]) for r in made]
        if last.get((logging, nodes, collective)) != same:
            rules += made
        last[(logging, nodes, collective)] = same
    return rules


def rules_for_many():
    return [{"collective": collective, "nodes": nodes, "ranks": MANY, "bytes": begin, "algorithm": algorithm}
            for nodes in (1, 2) for collective, steps in FOR_MANY.items() for begin, algorithm in steps]


def measured(mpi, case, names, rounds):
    """{algorithm: {size: median of the rounds}}"""
    samples = {name: {size: [] for size in sizes_of(case[-1])} for name in names}
    for _ in range(rounds):
        for name in names:
            for size, value in measure(mpi, case, name).items():
                samples[name][size].append(value)
    return {name: {size: statistics.median(values) for size, values in of.items()} for name, of in samples.items()}


def run(build, work, rounds, path):
    path.touch()  # not after minutes of measuring
    mpi = competitors.HoldfastMpi(build, work)
    mpi.prepare()
    known_here = algorithms(mpi.bin() / "holdfast")
    if not known_here:
        raise competitors.Unavailable("holdfast names no collectives")
    cases = list(itertools.product((False, True), (1, 2), RANKS, known_here))
    medians = {}
    for number, case in enumerate(cases, 1):
        logging, nodes, ranks, collective = case
        commands.say(f"[{number}/{len(cases)}] {'pessimist' if logging else 'none'}, {'one node' if nodes == 1 else 'several nodes'}, "
                     f"{ranks} ranks, {collective}", end="")
        medians[case] = measured(mpi, case, known_here[collective], rounds)
        commands.say(": " + ", ".join(f"{name} from {size} B" for size, name in choose(medians[case])))
    table = {"machine": machine.title(machine.describe()), "date": machine.today(), "commit": machine.commit(),
             "us": [{"logging": logging, "nodes": nodes, "ranks": ranks, "collective": collective, "algorithm": name, "sizes": times}
                    for (logging, nodes, ranks, collective), of in medians.items() for name, times in of.items()],
             "rules": rules_of(medians) + rules_for_many()}
    path.write_text(json.dumps(table, indent=1) + "\n")
    commands.say(f"{len(table['rules'])} rules: {path}")
