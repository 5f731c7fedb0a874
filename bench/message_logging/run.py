"""The evaluation of paper 000 (message logging, section V) with Holdfast's protocols, all in one run, taking turns.
bench/message_logging/README.md says what and how.

  run.py --build build                             everything, five rounds
  run.py --build build --quick                     the kernels with few points, one round, under a minute
  run.py --build build --protocols none,pessimist,optimist
  run.py --build build --publish                   also writes docs/message-logging

Exit code: 0; 1 when a job failed, two protocols computed different results, or a kernel has events that should not, or none that should;
2 for a wrong command line."""

import argparse
import fnmatch
import sys
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import commands  # noqa: E402
import competitors  # noqa: E402
import drawing  # noqa: E402
import evaluate  # noqa: E402
import machine  # noqa: E402
import measured  # noqa: E402
import network  # noqa: E402
import page  # noqa: E402
import results  # noqa: E402
import rounds  # noqa: E402
import variants  # noqa: E402

HERE = Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(machine.ROOT / "build"), help="Holdfast's build directory")
    parser.add_argument("--output", help="where results go (BUILD/bench/message_logging)")
    parser.add_argument("--protocols", default="none,pessimist", metavar="A,B", help="`none` first: all are compared with it")
    parser.add_argument("--delay-us", type=int, default=500, help="of the slow network, one way (500)")
    parser.add_argument("--only", action="append", metavar="NAME", help="series whose name begins with this, or matches it as a pattern")
    parser.add_argument("--rounds", type=int, help="rounds of each series (5; with --quick 1)")
    parser.add_argument("--repeats", type=int, default=40, help="at most so many rounds are repeated after a flip (40)")
    parser.add_argument("--any-distance", action="store_true", help="keep rounds in which the cores' distance flipped")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-plots", action="store_true")
    parser.add_argument("--publish", action="store_true", help="write page and plots to docs/message-logging")
    parser.add_argument("--list", action="store_true", help="name all series and end")
    return parser.parse_args()


def usage(text):
    print(f"run.py: {text}", file=sys.stderr)
    return 2


def chosen(options, protocols):
    found = measured.all_series(protocols)
    if options.only:
        return [s for s in found if any(s.name.startswith(o) or fnmatch.fnmatch(s.name, o) for o in options.only)]
    return [s for s in found if measured.is_quick(s)] if options.quick else found


def slow_network(options, work, series_list):
    """The network, or nothing, and why there is none."""
    if not any(s.rail == variants.DELAY for s in series_list):
        return nullcontext(), None
    if why := network.missing():
        return nullcontext(), why
    return network.Network(work, options.delay_us), None


def measure(options, build, work, series_list, protocols):
    with_network, absent = slow_network(options, work, series_list)
    if absent:
        commands.say(f"without the slow network: {absent}")
        series_list = [s for s in series_list if s.rail != variants.DELAY]
    distance, repetitions = machine.Distance(work), options.rounds or (1 if options.quick else 5)
    with with_network as net:
        everyone = variants.all_variants(build, work, protocols, net)
        for one in series_list:
            everyone[0].mpi.prepare()
            everyone[0].mpi.compile(one.program, one.example)
        done = rounds.Rounds(everyone, work, distance, options).run(series_list, repetitions)
    return {"machine": machine.describe(), "date": machine.today(), "commit": machine.commit(), "quick": options.quick,
            "repetitions": repetitions, "protocols": protocols, "delay_us": options.delay_us, "absent": absent,
            "any_distance": options.any_distance, "rounds": done}


def main():
    options = arguments()
    protocols = options.protocols.split(",")
    if protocols[0] != variants.NONE or len(set(protocols)) != len(protocols):
        return usage("--protocols begins with none, and names each once")
    if options.publish and (options.only or options.quick or options.no_plots):
        return usage("--publish is for a whole run")
    series_list = chosen(options, protocols)
    if not series_list:
        return usage(f"no series is called {', '.join(options.only)}; --list names them")
    if options.list:
        print("\n".join(s.name for s in series_list))
        return 0
    build = Path(options.build).resolve()
    work = Path(options.output).resolve() if options.output else build / "bench" / "message_logging"
    work.mkdir(parents=True, exist_ok=True)
    try:
        entry = measure(options, build, work, series_list, protocols)
    except (competitors.Unavailable, network.Unavailable) as reason:
        commands.say(f"FAILED: {reason}")
        return 1
    key = machine.key(entry["machine"])
    results.store(work / "results.json", key, entry)
    commands.say("\n" + page.tables(entry))
    drawing.draw(None if options.no_plots else HERE / "draw.py", work, key, build / "bench" / "env")
    commands.say(f"results: {work / 'results.json'}")
    if options.publish:
        commands.say(f"published: {page.publish(work, key, entry)}")
    found = evaluate.problems(entry["rounds"])
    for problem in found:
        commands.say(f"FAILED: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
