"""Runs one job of `holdfast run` for the recovery tests and the demo: bounded in time, nothing left behind, its report read."""

import json
import os
import shlex
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Outcome:
    command: list
    exit_code: int  # None: ended by us after the time limit
    stdout: bytes
    stderr: str
    seconds: float
    report: dict = field(default_factory=dict)

    @property
    def kills(self):
        """SIGKILLs that were carried out."""
        kills = self.report.get("kills", [])
        return kills if isinstance(kills, int) else len(kills)

    def shell_line(self):
        return shlex.join(str(word) for word in self.command)


def environment():
    """Without what a surrounding job or MPI has set."""
    drop = ("HOLDFAST_", "OMPI_", "PMI_", "PMIX_", "MPICH_", "LD_LIBRARY_PATH", "LD_PRELOAD")
    return {name: value for name, value in os.environ.items() if not name.startswith(drop)}


def run(build, ranks, program, nodes=1, inject=(), timeout_s=60.0, options=()):
    """program: a list of words. inject: words for --inject. Returns the Outcome, also of a job that failed."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as directory:
        report = Path(directory) / "report.json"
        command = [str(Path(build) / "bin" / "holdfast"), "run", "-n", str(ranks)]
        if nodes != 1:
            command += ["--nodes", str(nodes)]
        for words in inject:
            command += ["--inject", words]
        shown = command + list(options) + [str(word) for word in program]
        command += ["--report", str(report)] + list(options) + [str(word) for word in program]
        started = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(), start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            code = None
            out, err = end(process)
        seconds = time.monotonic() - started
        try:
            content = json.loads(report.read_text())
        except (OSError, ValueError):
            content = {}
        return Outcome(shown, code, out, err.decode(errors="replace"), seconds, content)


def end(process):
    """Ctrl-C first, as a user would; what is still there after that is killed. Returns what it had written."""
    for how, patience_s in ((signal.SIGINT, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            pass
        try:
            return process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            continue
    return b"", b"(the job's pipes are still held open by a process after SIGKILL to the launcher's group)"


def difference(expected, got):
    """The first line that differs, for people."""
    left, right = expected.splitlines(), got.splitlines()
    for number, (a, b) in enumerate(zip(left, right), 1):
        if a != b:
            return f"line {number}: expected {a[:160]!r}, got {b[:160]!r}"
    if len(left) != len(right):
        return f"expected {len(left)} lines, got {len(right)}"
    return "only the ends of lines differ" if expected != got else ""


def complaint(outcome, expected):
    """What is wrong with a run that should have printed `expected`, or None."""
    if outcome.exit_code is None:
        return f"no end after {outcome.seconds:.0f} s"
    if outcome.exit_code != 0:
        return f"exit code {outcome.exit_code}"
    if outcome.stdout != expected:
        return "stdout differs: " + difference(expected, outcome.stdout)
    return None


def commit(root):
    result = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
                            capture_output=True, text=True)
    return result.stdout.strip() or "unknown"
