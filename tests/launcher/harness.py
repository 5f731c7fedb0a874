"""Runs `holdfast run` for the launcher's tests."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import side_by_side

HOLDFAST = RAW = OPTIONS = None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--holdfast", required=True)
    parser.add_argument("--raw")
    parser.add_argument("--lines", type=os.path.abspath)
    parser.add_argument("--at-once", type=int, default=1)
    options, rest = parser.parse_known_args()
    module = sys.modules["__main__"]
    if options.at_once > 1 and not rest:
        sys.exit(side_by_side.run_stories(module, options.at_once))
    module_harness = sys.modules[__name__]
    module_harness.HOLDFAST, module_harness.RAW = os.path.abspath(options.holdfast), options.raw and os.path.abspath(options.raw)
    module_harness.OPTIONS = options
    unittest.main(module=module, argv=[sys.argv[0], *rest])


def processes_of(marker):
    """Processes, zombies aside, whose command line or environment holds the marker."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in text:
            found.append(int(entry.name))
    return found


class Case(unittest.TestCase):
    maxDiff = None

    def command(self, *words, name=None):
        if name:
            return [str(Path(HOLDFAST).parent / name), *map(str, words)]
        return [HOLDFAST, "run", *map(str, words)]

    def run_job(self, *words, stdin=b"", timeout=60, name=None, env=None, cwd=None):
        done = subprocess.run(self.command(*words, name=name), input=stdin, capture_output=True, timeout=timeout,
                              env={**os.environ, **(env or {})}, cwd=cwd)
        self.out, self.err, self.code = done.stdout.decode(), done.stderr.decode(), done.returncode
        return done

    def expect(self, code, *words, out=None, err=None, **more):
        self.run_job(*words, **more)
        self.assertEqual(self.code, code, self.err)
        if out is not None:
            self.assertEqual(self.out, out)
        if err is not None:
            self.assertRegex(self.err, err)

    def expect_report(self, code, *words, **more):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "report.json"
            self.expect(code, "--report", path, *words, **more)
            return json.loads(path.read_text())

    def start(self, *words, marker):
        """A job whose processes all carry `marker` in their environment."""
        return subprocess.Popen(self.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, "LAUNCHER_TEST": marker})

    def wait_until(self, condition, what, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"not within {seconds} s: {what}")
            time.sleep(0.01)

    def unwritable(self):
        """Files that take nothing: on a disk that is full, and a pipe that nobody reads."""
        with open("/dev/full", "wb") as full:
            yield full
        read, write = os.pipe()
        os.close(read)
        with open(write, "wb") as pipe:
            yield pipe

    def expect_nothing_left(self, marker):
        self.wait_until(lambda: not processes_of(marker), f"processes {processes_of(marker)} to end")


def commands_of(pids):
    out = {}
    for pid in pids:
        try:
            out[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            pass
    return out


__all__ = ["Case", "main", "processes_of", "commands_of", "signal"]
