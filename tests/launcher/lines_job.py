"""A job that goes on with every line that it is given (programs/lines.c)."""

import os
import select
import subprocess
import time
import uuid
from pathlib import Path

import harness
from harness import commands_of, processes_of


class LinesJob:

    def __init__(self, case, *words):
        self.case, self.marker = case, uuid.uuid4().hex
        self.process = subprocess.Popen(case.command(*words, harness.OPTIONS.lines), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env={**os.environ, "LAUNCHER_TEST": self.marker})
        self.out = b""
        case.addCleanup(self.stop)

    def stop(self):
        self.process.kill()
        self.process.communicate()

    def say(self, line):
        """Until it has answered: all ranks have talked with each other then."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + 20
        while not self.out.endswith(line.encode() + b"\n"):
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                self.case.fail(f"no answer to {line}")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                self.case.fail("the job has ended: " + self.process.stderr.read().decode())
            self.out += piece

    def agents(self):
        """Their process ids, in the order in which they were started."""
        agents = [pid for pid, words in commands_of(processes_of(self.marker)).items() if words.split()[1:2] == ["agent"]]
        return sorted(agents, key=lambda pid: (int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]), pid))

    def end(self, code=0):
        out, err = self.process.communicate(timeout=30)
        self.case.assertEqual(self.process.returncode, code, err)
        self.case.expect_nothing_left(self.marker)
        return (self.out + out).decode(), err.decode()
