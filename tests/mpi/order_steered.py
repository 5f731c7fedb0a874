"""The order-steered program (order_steered.c) as a job: undisturbed runs differ from each other, and every run, with ranks
killed or not, ends with exit code 0 and says that all streams agree.

    order_steered.py --build build --program PATH [--cases 12] [--seed S] [--only I] [--steps 3000] [--protocol optimist] [--expect failure]

Under optimist nodes are lost with what their ranks have determined last.

The seed is fresh and printed. With `--expect failure` the program has been built with one of the mutations that break
message logging on purpose: that must show, in one of the cases at least.
"""

import argparse
import random
import secrets
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "recovery"))
import jobs  # noqa: E402

AGREED = b"streams agree, final state "


def complaint(outcome):
    if outcome.exit_code is None:
        return f"no end after {outcome.seconds:.0f} s"
    if outcome.exit_code != 0:
        lines = [line for line in outcome.stderr.splitlines() if "SIGKILL" not in line and "detected after" not in line]
        return f"exit code {outcome.exit_code}: {' / '.join(lines[-3:]) or 'nothing on stderr'}"
    if not outcome.stdout.startswith(AGREED) or outcome.stdout.count(b"\n") != 1:
        return f"stdout is {outcome.stdout[:200]!r}"
    return None


def undisturbed(options):
    """Two runs that differ in what chance decided. Returns how long one took, and what is wrong."""
    words = [options.program, options.steps]
    runs = []
    for _ in range(2):
        runs.append(jobs.run(options.build, 4, words, timeout_s=options.timeout))
        wrong = complaint(runs[-1])
        if wrong:
            return 0, f"undisturbed run: {wrong}\n  {runs[-1].shell_line()}"
    if runs[0].stdout == runs[1].stdout:
        return 0, "two undisturbed runs ended in the same state: nothing steers the program, so it tests nothing"
    return min(run.seconds for run in runs), None


def draw(number, options, span_s):
    """Case `number`: ranks, nodes and injections, a function of seed and number."""
    choose = random.Random(f"{options.seed}/{number}")
    nodes = choose.choice((1, 3))
    ranks = choose.randint(max(2, nodes), 6)
    kills = choose.choice((1, 2, 5))
    times = sorted(choose.uniform(0.05, 0.9) * span_s * ranks / 4 for _ in range(kills))
    inject = [f"kill:rank={choose.randrange(ranks)},at={1000 * t:.1f}ms" for t in times]
    if options.protocol == "optimist":
        ranks, nodes = max(ranks, 3), choose.choice((2, 3))
        at, lost = 1000 * choose.uniform(0.1, 0.8) * span_s * ranks / 4, choose.randrange(nodes)
        alone = choose.uniform(1, 40)
        inject = inject[:choose.randrange(3)] + [f"unshared:node={lost},at={at:.1f}ms,for=5s", f"node:{lost},at={at + alone:.1f}ms"]
    return ranks, nodes, inject, choose.randrange(1 << 31)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--cases", type=int, default=12)
    parser.add_argument("--seed", default=None)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--protocol", choices=("pessimist", "optimist"), default="pessimist")
    parser.add_argument("--expect", choices=("success", "failure"), default="success")
    options = parser.parse_args()
    options.seed = options.seed or secrets.token_hex(4)
    print(f"seed {options.seed}", flush=True)
    span_s, wrong = undisturbed(options)
    if wrong and options.expect == "failure":
        print(f"found out, as it should be: {wrong}")
        return
    if wrong:
        sys.exit(wrong)
    failures, kills, rolled_back = [], 0, 0
    for number in range(options.cases) if options.only is None else [options.only]:
        ranks, nodes, inject, seed = draw(number, options, span_s)
        words = ["--protocol", options.protocol] + (["--spares", "1"] if options.protocol == "optimist" else [])
        outcome = jobs.run(options.build, ranks, [options.program, options.steps, seed], nodes, inject, options.timeout, words)
        rolled_back += len(outcome.report.get("rolled_back", []))
        kills += outcome.kills
        wrong = complaint(outcome)
        print(f"case {number}: {ranks} ranks, {nodes} nodes, {outcome.kills} of {len(inject)} kills, "
              f"{outcome.seconds:.1f} s: {wrong or 'ok'}", flush=True)
        if not wrong:
            continue
        failures.append(number)
        if options.expect == "failure":
            break
        print(f"  {outcome.shell_line()}\n  again: {sys.argv[0]} --build {options.build} --program {options.program} "
              f"--steps {options.steps} --seed {options.seed} --only {number}", flush=True)
    if options.expect == "failure":
        if not failures:
            sys.exit("the mutation was not found out")
        print("found out, as it should be")  # without a kill even, where nodes that connect meet what is in both log and rail
    elif failures:
        sys.exit(f"{len(failures)} cases failed: {failures}")
    elif kills == 0:
        sys.exit("no kill was carried out")
    elif options.protocol == "optimist" and rolled_back == 0:
        sys.exit("no rank was rolled back: nothing was tested")


if __name__ == "__main__":
    main()
