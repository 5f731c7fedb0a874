"""make demo: programs on four ranks, undisturbed and then with ranks killed in the middle; both answers compared bit for bit.

    demo.py --build build [--only c|python]
"""

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "recovery"))

import jobs  # noqa: E402

RANKS = 4


def say(text=""):
    print(text, flush=True)


class Progress:
    """Says every two seconds that something long is still at work."""

    def __init__(self, what):
        self.what = what
        self.done = threading.Event()

    def __enter__(self):
        self.started = time.monotonic()
        self.thread = threading.Thread(target=self.tick, daemon=True)
        self.thread.start()

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()

    def tick(self):
        while not self.done.wait(2):
            say(f"    ... {self.what}, {time.monotonic() - self.started:.0f} s")


def run(build, program, inject=()):
    with Progress("running"):
        outcome = jobs.run(build, RANKS, program, inject=inject, timeout_s=120)
    say(f"  $ {outcome.shell_line().replace(str(ROOT) + '/', '')}")
    for line in outcome.stdout.decode(errors="replace").splitlines()[-2:]:
        say(f"    {line}")
    if outcome.exit_code != 0:
        how = "did not end within two minutes" if outcome.exit_code is None else f"ended with exit code {outcome.exit_code}"
        sys.exit(f"the job {how}:\n{outcome.stderr}")
    return outcome


def timeline(report):
    def milliseconds(value):
        return "-" if value is None else f"{1000 * value:.1f} ms"

    row = "    {:>9}  {:>4}  {:8}  {:>14}  {:>15}  {:>15}  {:>17}"
    say(row.format("time", "rank", "signal", "detected after", "restarted after", "caught up after", "messages replayed"))
    for failure in report.get("failures", []):
        at = failure.get("time_s")
        say(row.format("-" if at is None else f"{at:.3f} s", failure["rank"], failure["signal"],
                       milliseconds(failure.get("detected_after_s")), milliseconds(failure.get("restarted_after_s")),
                       milliseconds(failure.get("caught_up_after_s")), failure.get("messages_replayed") or 0))


def act(build, title, why, program, kills):
    """One program, undisturbed and killed. True when both printed the same bytes."""
    say(f"\n== {title}\n")
    for line in why:
        say(f"  {line}")
    say("\n  Undisturbed:")
    calm = run(build, program)
    say(f"    ({calm.seconds:.2f} s)\n\n  With SIGKILL to running ranks:")
    hurt = run(build, program, kills(calm.seconds))
    say(f"    ({hurt.seconds:.2f} s)\n")
    timeline(hurt.report)
    total = hurt.report.get("totals", {})
    say(f"    {hurt.kills} kills, {total.get('messages_logged', 0)} messages logged, "
        f"{total.get('sends_suppressed', 0)} sends not repeated, {total.get('bytes_unprotected', 0)} bytes unprotected")
    same = hurt.stdout == calm.stdout
    say(f"\n  {len(calm.stdout)} bytes of output, bit for bit: {'the same' if same else 'DIFFERENT'}")
    if not same:
        say("  " + jobs.difference(calm.stdout, hurt.stdout))
    if hurt.kills < 2:
        say("  but fewer than two kills met a running rank: that shows nothing")
        return False
    return same


def kills_at(*rank_and_part):
    """Kills given ranks after given parts of the undisturbed run's time."""
    return lambda seconds: [f"kill:rank={rank},at={1000 * part * seconds:.0f}ms" for rank, part in rank_and_part]


def c_programs(build):
    examples = build / "examples"
    good = act(build, "Any-source receives: a master hands out tasks, four ranks",
               ["Rank 0 takes results from whichever worker comes first (MPI_ANY_SOURCE, MPI_Waitany): who comes first differs",
                "from run to run, so it is logged. Rank 2 is killed twice, rank 0, the master itself, once."],
               [examples / "master_worker", "--tasks", 1500, "--size", 2500], kills_at((2, 0.2), (0, 0.4), (2, 0.6)))
    good &= act(build, "A stencil: heat on a plate, four ranks",
                ["Every rank waits for its neighbours in every step: without recovery one death stops all. Two ranks are killed at",
                 "the same time, and one of them again later."],
                [examples / "heat", "--size", 700, "--steps", 1200, "--every", 200], kills_at((1, 0.3), (3, 0.3), (1, 0.6)))
    return good


def python_program(build):
    say("\n== mpi4py: a client that nobody here wrote\n")
    code = subprocess.run([sys.executable, str(ROOT / "tools" / "build_mpi4py.py"), str(build)], stdin=subprocess.DEVNULL).returncode
    if code != 0:
        return False
    return act(build, "Python: pickled objects from any source, numpy buffers, collectives, four ranks",
               ["The same interpreter and the same mpi4py as everywhere; its ranks are killed like any others."],
               [build / "venv" / "bin" / "python" if (build / "venv").exists() else sys.executable,
                ROOT / "tests" / "recovery" / "programs" / "mpi4py_mix.py", 4000],
               kills_at((1, 0.15), (2, 0.3), (0, 0.45)))


def explain():
    say("""
== What happened

  The agent saw each death at once (pidfd) and started the rank again from the beginning of its program. The new incarnation ran at
  full speed through its past: messages came out of its peers' logs in shared memory, choices that depend on time (which source
  came first, what a test found) out of its predecessor's event log, and what it would have sent or printed again was compared and
  dropped. The other ranks went on computing; none was rolled back or restarted. docs/architecture.md says how.""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--only", choices=("c", "python"))
    options = parser.parse_args()
    build = Path(options.build).resolve()
    good = True
    if options.only != "python":
        good &= c_programs(build)
    if options.only != "c":
        good &= python_program(build)
    explain()
    say("\ndemo: " + ("every answer was the same, bit for bit" if good else "FAILED, see above"))
    sys.exit(0 if good else 1)


main()
