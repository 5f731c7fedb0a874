"""suite.py BUILD RANKS [FILE ...]: runs the files of mpi4py's own test suite that files.txt lists (or those named), each as a job of
its own with RANKS ranks, without the tests that excluded.txt names. Prints a line per file; exit code 1 when one fails."""

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


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, ranks = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    source = build / "mpi4py" / "source" / "test"
    python = ROOT / "build" / "venv" / "bin" / "python"
    if not source.is_dir():
        sys.exit(f"{source} is missing: run tools/build_mpi4py.py {build} first")
    excluded = [word for line in lines("excluded.txt") for word in ("-x", line.split()[0])]
    listed = [line.split() for line in lines("files.txt")]
    wrapped = {words[0] for words in listed if "wrapped" in words[1:]}
    alone = {words[0] for words in listed if "alone" in words[1:]}
    failed = []
    for name in sys.argv[3:] or [words[0] for words in listed if ranks == 1 or words[0] not in alone]:
        started = time.monotonic()
        start = [HERE / "main.py", source] if name in wrapped else [source / "main.py"]
        program = [python, *start, "--no-builddir", "-q", "-i", rf"{name}\.py$", *excluded]
        outcome = jobs.run(build, ranks, program, timeout_s=120)
        count = re.search(r"Ran (\d+) test", outcome.stderr)
        good = outcome.exit_code == 0 and count is not None and int(count[1]) > 0
        print(f"{'ok    ' if good else 'FAILED'} {name}: {count[1] if count else 'no'} tests, {ranks} ranks, "
              f"{time.monotonic() - started:.1f} s", flush=True)
        if not good:
            failed.append(name)
            what = "no end after 120 s" if outcome.exit_code is None else f"exit code {outcome.exit_code}"
            print(f"  {what}; the job: {outcome.shell_line()}")
            output = (outcome.stdout.decode(errors="replace") + outcome.stderr).strip().splitlines()
            named = sorted({line for line in output if line.startswith(("ERROR:", "FAIL:"))})
            print("\n".join(f"  | {line[:200]}" for line in named[:40] + output[-12:]), flush=True)
    print(f"{len(failed)} file(s) failed" + (": " + ", ".join(failed) if failed else ""))
    sys.exit(1 if failed else 0)


main()
