"""suite.py SOURCE [DIR ...]: MPICH's own tests (the directory test/mpi of its source package, unpacked), unmodified, on our library.

Builds them with our mpicc in BUILD/mpich and runs what their test lists name, without what differs.txt names. With --kills SEED ranks are
killed while they run, at calls that are drawn, and the tests must end as they do without. Prints what failed, with the command, and how
many passed; exit code 1 when something failed, 2 when the suite cannot be built."""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "recovery"))

import jobs  # noqa: E402

DIRECTORIES = ("attr", "coll", "comm", "datatype", "errhan", "group", "info", "part", "pt2pt", "topo", "errors/pt2pt", "errors/coll",
               "errors/comm", "errors/group", "errors/topo", "errors/datatype")
# Their datatype pool calls three functions that MPI 3.0 removed, and whose successors take the same arguments.
REMOVED = [f"-DMPI_Type_{name}=MPI_Type_create_{name}" for name in ("hvector", "hindexed", "struct")]
LIMIT_S = 120
SAID = ("No Errors", "No errors", "Test Passed")


@dataclass(frozen=True)
class Test:
    directory: str
    name: str
    ranks: int
    arguments: tuple
    variables: tuple

    def label(self):
        return " ".join([f"{self.directory}/{self.name}", str(self.ranks), *self.arguments])


def read_line(directory, line):
    """A line of a test list: NAME RANKS OPTION=VALUE ... Nothing for one that needs an option of MPICH's own."""
    words = re.sub(r"^@\w+@", "", line.split("#")[0]).split()
    if not words:
        return None
    options = [word.split("=", 1) for word in words[2:] if "=" in word]
    variables = tuple(value for key, value in options if key == "env")
    if any(value.startswith("MPIR_CVAR") for value in variables) or any(key == "resultTest" for key, _ in options):
        return None
    ranks = int(words[1]) if len(words) > 1 and words[1].isdigit() else 2
    return Test(directory, words[0].split("/")[-1], ranks, tuple(value for key, value in options if key == "arg"), variables)


def tests_of(suite, directory):
    lists = [at / directory / name for at in (suite.at, suite.source) for name in ("testlist", "testlist.in")]
    text = next(path for path in lists if path.is_file()).read_text()
    return list(dict.fromkeys(filter(None, (read_line(directory, line) for line in text.splitlines()))))


def known_differences(killing):
    lines = [line.split() for line in (HERE / "differs.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {words[0] for words in lines if killing or words[1] != "kills:"}


class Suite:
    def __init__(self, build, source):
        self.build, self.source, self.at = build, source, build / "mpich"

    def prepare(self):
        self.at.mkdir(exist_ok=True)
        prefix = self.at / "prefix"
        self.command(["cmake", "--install", self.build, "--prefix", prefix], self.at)
        if not (self.at / "Makefile").is_file():
            print("configuring MPICH's tests", flush=True)
            self.command([self.source / "configure", f"--with-mpi={prefix}", f"MPICC={prefix / 'bin' / 'mpicc'}", "--disable-fortran",
                          "--disable-cxx", "--disable-rma", "--disable-spawn", f"CFLAGS=-g -O1 {' '.join(REMOVED)}"], self.at)
        for name in ("dtpools", "util"):
            self.command(["make", "-C", self.at / name], self.at)

    def command(self, words, where):
        with open(self.at / "build.log", "ab") as log:
            if subprocess.run([str(word) for word in words], cwd=where, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode != 0:
                print(f"{words[0]} failed: see {log.name}", file=sys.stderr)
                sys.exit(2)

    def program(self, test):
        """Built when it is not there. None: it does not compile."""
        path = self.at / test.directory / test.name
        if not path.is_file():
            with open(self.at / "build.log", "ab") as log:
                subprocess.run(["make", "-C", path.parent, test.name], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return path if path.is_file() else None


def faults(rng, ranks):
    """One kill, or two, of any rank at one of its first calls more often than at a late one."""
    return [f"kill:rank={rng.randrange(ranks)},call={int(10 ** rng.uniform(0.3, 2.3))}" for _ in range(rng.choice((1, 1, 2)))]


def complaint(outcome):
    text = outcome.stdout.decode(errors="replace") + outcome.stderr
    if outcome.exit_code is None:
        return f"no end after {outcome.seconds:.0f} s"
    if outcome.exit_code != 0:
        return f"exit code {outcome.exit_code}"
    return None if any(said in text for said in SAID) else "it does not say that it found no errors"


def run_one(suite, test, program, options, rng):
    inject = faults(rng, test.ranks) if rng else ()
    words = ["env", *test.variables, program, *test.arguments] if test.variables else [program, *test.arguments]
    os.chdir(program.parent)
    outcome = jobs.run(suite.build, test.ranks, words, nodes=min(options.nodes, test.ranks), inject=inject, timeout_s=LIMIT_S,
                       options=options.with_options)
    why = complaint(outcome)
    if why:
        print(f"FAILED {test.label()}: {why}\n  {outcome.shell_line()}", flush=True)
        last = (outcome.stdout.decode(errors="replace") + outcome.stderr).strip().splitlines()[-6:]
        print("\n".join(f"  | {line[:200]}" for line in last), flush=True)
    return not why, outcome.kills


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("directories", nargs="*", metavar="DIR")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--kills", type=int, metavar="SEED")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--only", default="", metavar="PATTERN", help="of names")
    parser.add_argument("--with-options", default=[], type=str.split, help="for holdfast run, in one word")
    options = parser.parse_intermixed_args()
    options.build, options.source = options.build.resolve(), options.source.resolve()
    if not (options.source / "configure").is_file():
        parser.error(f"{options.source} is not the directory test/mpi of MPICH's source package")
    return options


def main():
    options = parse()
    suite = Suite(options.build, options.source)
    suite.prepare()
    rng = random.Random(options.kills) if options.kills is not None else None
    differs, passed, failed, absent, killed, said = known_differences(rng is not None), 0, 0, 0, 0, time.monotonic()
    for directory in options.directories or DIRECTORIES:
        for test in tests_of(suite, directory):
            if f"{test.directory}/{test.name}" in differs or not re.search(options.only, test.name):
                continue
            program = suite.program(test)
            if not program:
                absent += 1
                print(f"does not compile: {test.label()}", flush=True)
                continue
            good, kills = run_one(suite, test, program, options, rng)
            passed, failed, killed = passed + good, failed + (not good), killed + kills
            if time.monotonic() - said > 10:
                said = time.monotonic()
                print(f"{directory}: {passed} passed, {failed} failed so far", flush=True)
    print(f"{passed} passed, {failed} failed, {absent} do not compile, {killed} ranks killed", flush=True)
    return 1 if failed or absent else 0


if __name__ == "__main__":
    sys.exit(main())
