"""suite.py BUILD RANKS [--all | FILE ...]: runs the files of mpi4py's own test suite that files.txt lists (those marked `alone` with
one rank only, if not --all; or those named) with RANKS ranks, without the tests that excluded.txt names: as two jobs, one under
mpi4py's own main.py and one under ours, and where one fails its files each as a job of its own. Prints what ran; exit code 1
when something failed."""

import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "recovery"))

import jobs  # noqa: E402


def lines(name):
    text = (HERE / name).read_text().splitlines()
    return [line.strip() for line in text if line.strip() and not line.startswith("#")]


class Suite:
    def __init__(self, build, ranks, everything):
        self.build, self.ranks = build, ranks
        self.source = build / "mpi4py" / "source" / "test"
        if not self.source.is_dir():
            sys.exit(f"{self.source} is missing: run tools/build_mpi4py.py {build} first")
        self.excluded = [word for line in lines("excluded.txt") for word in ("-x", line.split()[0])]
        listed = [line.split() for line in lines("files.txt")]
        self.wrapped = {words[0] for words in listed if "wrapped" in words[1:]}
        alone = {words[0] for words in listed if "alone" in words[1:]}
        self.names = [words[0] for words in listed if ranks == 1 or everything or words[0] not in alone]

    def job(self, names, wrapped):
        """One job over these files. Returns whether every test in them passed and each file had tests."""
        started = time.monotonic()
        start = [HERE / "main.py", self.source] if wrapped else [self.source / "main.py"]
        python = ROOT / "build" / "venv" / "bin" / "python"
        program = [python, *start, "--no-builddir", "-v", "-i", rf"^({'|'.join(names)})(\.py)?$", *self.excluded]
        outcome = jobs.run(self.build, self.ranks, program, timeout_s=120 + 5 * len(names))
        count = re.search(r"Ran (\d+) test", outcome.stderr)
        missing = [name for name in names if not re.search(rf"\({name}\.", outcome.stderr)]
        good = outcome.exit_code == 0 and count is not None and not missing
        what = names[0] if len(names) == 1 else f"{len(names)} files{', files and windows disabled' if wrapped else ''}"
        print(f"{'ok    ' if good else 'FAILED'} {what}: {count[1] if count else 'no'} tests, {self.ranks} ranks, "
              f"{time.monotonic() - started:.1f} s", flush=True)
        if not good:
            self.explain(outcome, missing)
        return good

    def explain(self, outcome, missing):
        ended = "no end in time" if outcome.exit_code is None else f"exit code {outcome.exit_code}"
        print(f"  {ended}; the job: {outcome.shell_line()}")
        if missing:
            print(f"  no test ran of {', '.join(missing)}")
        output = (outcome.stdout.decode(errors="replace") + outcome.stderr).strip().splitlines()
        named = sorted({line for line in output if line.startswith(("ERROR:", "FAIL:"))})
        print("\n".join(f"  | {line[:200]}" for line in named[:40] + output[-12:]), flush=True)

    def run(self, names):
        """Files that failed, also when run alone, or with which the others fail."""
        failed = []
        for wrapped in (False, True):
            group = [name for name in names if (name in self.wrapped) == wrapped]
            if not group or self.job(group, wrapped):
                continue
            alone = [name for name in group if len(group) > 1 and not self.job([name], wrapped)]
            failed += alone or ["together: " + " ".join(group)]
        return failed


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    everything = sys.argv[3:] == ["--all"]
    suite = Suite(Path(sys.argv[1]).resolve(), int(sys.argv[2]), everything)
    failed = suite.run(suite.names if everything else sys.argv[3:] or suite.names)
    print(f"{len(failed)} file(s) failed" + (": " + ", ".join(failed) if failed else ""))
    sys.exit(1 if failed else 0)


main()
