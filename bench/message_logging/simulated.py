"""Figure 5 of paper 000 beyond the ranks that a machine can carry: `holdfast-sim time` for its kernels, on its network.

  simulated.py --build build             tables to the terminal, a minute or two; --quick: a few seconds
  simulated.py --build build --publish   also docs/message-logging/simulated.md and its plot

Nothing is measured and nothing drawn by chance: every run gives the same numbers, on any machine. Exit code: 0; 1 when a run failed."""

import argparse
import csv
import io
import json
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import commands  # noqa: E402
import drawing  # noqa: E402
import machine  # noqa: E402
from measured import KERNELS  # noqa: E402
from page import markdown  # noqa: E402

HERE = Path(__file__).resolve().parent
LIMIT_S = 600
RANKS = {"bt": "16,64,256,1024", "sp": "16,64,256,1024", "cg": "16,64,256,1024", "ft": "16,64,256", "lu": "16,64,256,1024", "mg": "16,64,256"}
PROTOCOLS = ("pessimist", "optimist")

HEAD = """# Message logging with many ranks, simulated

Figure 5 of paper 000 (time over the number of processes, Gigabit Ethernet, up to 256), continued in the simulator. Written by `make bench-simulated
BENCH_ARGS=--publish`. The cores are those of a real job; the kernels have the communication of the NAS parallel benchmarks, class C; what things cost is
given, by default as the paper has it: 45 us and 111 MB/s between nodes of two ranks, 6.3 us for an event (table I), ranks of 1 GFlop/s. The event logger
takes 5 us for a frame of events where nothing else is said: of that the paper says nothing. `holdfast-sim time --help` has all of it.

Not in the model: a library that competes with the program for cores, losses on the network, two messages that meet on the way into a node.

The paper: overhead below 10%; LU alone scales otherwise, since its events grow with the ranks: optimist 6% ahead of pessimist with 256. Here that is between a logger that takes 5 us for a frame and one that takes 10. MG with 256 has 27,648 events a
step for one logger, 138 ms of its work in a step of 52: what the paper measured of MG came from fewer events, or from a logger that takes several at once.

Without event loggers nodes hold each other's events, and under `optimist` what is stable is told along these connections once a millisecond; until it is known
everywhere messages carry it (last table). In a ring of 128 nodes that took so long that LU with every line from any source took 2.36 of none: they are a tree
since (docs/decisions/0015).
"""


class Failed(Exception):
    pass


def simulate(build, kernel, ranks, *words):
    command = (build / "bin" / "holdfast-sim", "time", "--csv", "--kernel", kernel, "--ranks", ranks, *words)
    done = commands.run(command, commands.clean_environment(), LIMIT_S, f"{kernel} {' '.join(words)}")
    if done.code != 0:
        raise Failed(f"{' '.join(map(str, command))}: {done.why()}")
    return list(csv.DictReader(io.StringIO(done.out)))


def scaling(build, quick):
    """Kernel -> rows, with one event logger, as the paper has it."""
    return {kernel: simulate(build, kernel, "16" if quick else RANKS[kernel], "--steps", "1", "--event-loggers", "1") for kernel in KERNELS}


def loggers(build, quick):
    """LU: how many event loggers (0: nodes hold each other's events), and what one needs for a frame of events."""
    ranks = "16" if quick else "256"
    return [{"loggers": n, "us": us, "rows": simulate(build, "lu", ranks, "--steps", "1", "--event-loggers", str(n), "--logger-us", str(us))}
            for n, us in ((0, 5), (1, 1), (1, 5), (1, 10), (2, 10), (4, 10))]


def lines(build, quick):
    """LU where every line of a plane comes from any source, and not the faces alone; the nodes hold each other's events."""
    return simulate(build, "lu", "16" if quick else "16,64,256", "--steps", "1", "--any-planes")


def by_ranks(rows):
    found = {}
    for row in rows:
        found.setdefault(int(row["ranks"]), {})[row["protocol"]] = row
    return found


def piggybacked(row):
    return int(row["dependency_bytes"]) / max(1, int(row["messages"]))


def cells(found):
    """Of one number of ranks: seconds of none, ratios, events, bytes that go with a message."""
    return [f"{float(found['none']['seconds']):.4f}", *(f"{float(found[p]['ratio']):.3f}" for p in PROTOCOLS), found["optimist"]["determinants"],
            f"{piggybacked(found['optimist']):.2f}"]


COLUMNS = ("none, s", *PROTOCOLS, "events", "bytes of dependencies a message")


def scaling_rows(entry):
    return [["kernel", "ranks", *COLUMNS], *([kernel.upper(), str(ranks), *cells(found)] for kernel, rows in entry["scaling"].items()
                                             for ranks, found in by_ranks(rows).items())]


def logger_rows(entry):
    return [["event loggers", "us a frame", *COLUMNS], *([str(one["loggers"] or "- (nodes hold each other's)"), str(one["us"]), *cells(found)]
                                                         for one in entry["loggers"] for found in by_ranks(one["rows"]).values())]


def line_rows(entry):
    return [["ranks", *COLUMNS], *([str(ranks), *cells(found)] for ranks, found in by_ranks(entry["lines"]).items())]


def tables(entry):
    most = max(by_ranks(entry["loggers"][0]["rows"]))
    return "\n".join(("## One step of each kernel, one event logger (figure 5): ratios to none", "", markdown(scaling_rows(entry)), "",
                      f"## LU with {most} ranks: event loggers", "", markdown(logger_rows(entry)), "",
                      "## LU, every line of every plane from any source, without event loggers", "", markdown(line_rows(entry)), ""))


def publish(entry, work, build):
    target = machine.ROOT / "docs" / "message-logging"
    (target / "simulated.md").write_text(f"{HEAD}\n{tables(entry)}\n![ratios to none](simulated.svg)\n")
    drawing.run(HERE / "draw_simulated.py", (work, target), build / "bench" / "env")
    commands.say(f"published: {target / 'simulated.md'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(machine.ROOT / "build"), help="Holdfast's build directory")
    parser.add_argument("--quick", action="store_true", help="16 ranks")
    parser.add_argument("--publish", action="store_true", help="write page and plot to docs/message-logging")
    options = parser.parse_args()
    if options.publish and options.quick:
        parser.error("--publish is for a whole run")
    build = Path(options.build).resolve()
    try:
        entry = {what.__name__: what(build, options.quick) for what in (scaling, loggers, lines)}
    except Failed as reason:
        commands.say(f"FAILED: {reason}")
        return 1
    commands.say(tables(entry))
    if options.publish:
        work = build / "bench" / "simulated.json"
        work.parent.mkdir(parents=True, exist_ok=True)
        work.write_text(json.dumps(entry))
        publish(entry, work, build)
    return 0


if __name__ == "__main__":
    sys.exit(main())
