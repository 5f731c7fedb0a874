"""Measures Holdfast against Open MPI and MPICH, all in one run, taking turns. bench/README.md says what and how.

  run.py --build build                       everything
  run.py --build build --quick               a small subset, under a minute
  run.py --build build --only latency        series whose name begins with this, or matches it as a pattern
  run.py --build build --publish             also writes docs/bench
  run.py --build build --tune table.json     instead: the table of algorithms of collectives, for `holdfast run --collectives`

Exit code: 0; 1 when Holdfast failed in a series or left bytes unprotected; 2 for a wrong command line."""

import argparse
import fnmatch
import re
import sys
from pathlib import Path

import commands
import competitors
import drawing
import machine
import publish
import results
import rounds
import series
import table
import tune


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(machine.ROOT / "build"), help="Holdfast's build directory")
    parser.add_argument("--output", help="where results and environments go (BUILD/bench)")
    parser.add_argument("--quick", action="store_true", help="a small subset, one round")
    parser.add_argument("--only", action="append", metavar="NAME", help="only these series; may be repeated")
    parser.add_argument("--competitors", metavar="A,B", help="only these of none, pessimist, openmpi, openmpi-pessimist, mpich")
    parser.add_argument("--rounds", type=int, help="rounds of each series (5; with --quick 1)")
    parser.add_argument("--repeats", type=int, default=40, help="at most so many rounds are repeated after a flip (40)")
    parser.add_argument("--any-distance", action="store_true", help="keep rounds in which the cores' distance flipped")
    parser.add_argument("--no-plots", action="store_true")
    parser.add_argument("--publish", action="store_true", help="write plots and table to docs/bench")
    parser.add_argument("--tune", metavar="FILE", help="measure the algorithms of collectives and write a table of them")
    parser.add_argument("--list", action="store_true", help="name all series and end")
    return parser.parse_args()


def chosen_series(options):
    chosen = series.all_series()
    if options.only:
        chosen = [s for s in chosen if any(s.name.startswith(o) or fnmatch.fnmatch(s.name, o) for o in options.only)]
    elif options.quick:
        chosen = [s for s in chosen if s.name in series.QUICK]
    if not chosen:
        sys.exit(usage(f"no series is called {', '.join(options.only)}; --list names them"))
    return chosen


def usage(text):
    print(f"run.py: {text}", file=sys.stderr)
    return 2


def chosen_competitors(options, build, work):
    everyone = competitors.all_competitors(build, work)
    if not options.competitors:
        return everyone
    names = options.competitors.split(",")
    if unknown := set(names) - {c.name for c in everyone}:
        sys.exit(usage(f"no competitor is called {', '.join(sorted(unknown))}"))
    return [c for c in everyone if c.name in names]


def prepare(everyone, chosen):
    """Installs, compiles, and asks each who it is. Returns who can be measured, and a description of everyone."""
    present, described = [], {}
    for competitor in everyone:
        try:
            competitor.mpi.prepare()
            for one in chosen:
                competitor.mpi.compile(one.program, one.example)
            described[competitor.name] = introduce(competitor)
            present.append(competitor)
        except competitors.Unavailable as reason:
            described[competitor.name] = {"about": None, "error": str(reason)}
            commands.say(f"{competitor.name} cannot be measured: {reason}")
    return present, described


def introduce(competitor):
    """Runs `about`: the library's own name, and whether Open MPI's logging is really at work."""
    program = competitor.mpi.compile("about", example=False)
    done = commands.run(competitor.command(2, series.SHM, program, ()), competitor.environment(series.SHM), 60,
                        f"starting {competitor.name}")
    about, logging = re.search(r"^about (.*)", done.out, re.M), "logging yes" in done.out
    if done.code != 0 or not about:
        raise competitors.Unavailable(f"a job of two ranks does not run: {done.why()}")
    if competitor.name == "openmpi-pessimist" and not logging:
        raise competitors.Unavailable("its message logging does not become active")
    return {"about": about[1], "version": competitor.mpi.version, "error": None, "note": competitor.note}


def tuned(options, build, work):
    try:
        tune.run(build, work, options.rounds or 2, Path(options.tune))
    except (competitors.Unavailable, OSError) as reason:
        commands.say(f"FAILED: {reason}")
        return 1
    return 0


def main():
    options = arguments()
    if options.publish and (options.only or options.quick or options.competitors or options.no_plots):
        return usage("--publish is for a whole run")
    if options.tune and (options.only or options.quick or options.publish or options.competitors):
        return usage("--tune measures the algorithms of collectives and nothing else")
    chosen = chosen_series(options)
    if options.list:
        print("\n".join(s.name for s in chosen))
        return 0
    build = Path(options.build).resolve()
    work = Path(options.output).resolve() if options.output else build / "bench"
    work.mkdir(parents=True, exist_ok=True)
    if options.tune:
        return tuned(options, build, work)
    repetitions = options.rounds or (1 if options.quick else 5)

    here, distance = machine.describe(), machine.Distance(work)
    present, described = prepare(chosen_competitors(options, build, work), chosen)
    commands.say(f"{machine.title(here)}; {len(chosen)} series, {repetitions} round(s); per series the first point's value")
    done = rounds.Rounds(present, work, distance, options).run(chosen, repetitions)
    entry = {"machine": here, "date": machine.today(), "commit": machine.commit(), "quick": options.quick,
             "repetitions": repetitions, "competitors": described, "points": results.summarize(chosen, done), "rounds": done}
    key = machine.key(here)
    results.store(work / "results.json", key, entry)
    commands.say(table.as_text(entry))
    drawing.draw(None if options.no_plots else competitors.HERE / "plots.py", work, key, work / "env")
    commands.say(f"results: {work / 'results.json'}")
    if options.publish:
        commands.say(f"published: {publish.publish(work, key, entry)}")

    found = results.problems(chosen, done)
    for problem in found:
        commands.say(f"FAILED: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
