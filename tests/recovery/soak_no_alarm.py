"""No false alarm: a job of 4 nodes whose ranks compute and talk, beside busy processes of normal priority on every core, for so long. No
node may be declared lost, nothing may be said, and what is printed is what a job prints that has the machine for itself.

    soak_no_alarm.py --build build [--seconds 20] [--busy K] [--log FILE]
"""

import argparse
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import jobs

NODES, RANKS, COMPUTE_US, IN_FLIGHT = 4, 8, 2000, 4
ANSWER_S = 60


class Job:
    """Goes on with every line that it is given (tests/launcher/programs/lines.c)."""

    def __init__(self, build, compute_us=COMPUTE_US):
        command = [build / "bin/holdfast", "run", "-n", RANKS, "--nodes", NODES, "--spares", 1, build / "bin/launcher_lines", compute_us]
        self.process = subprocess.Popen([str(w) for w in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=jobs.environment(), start_new_session=True)
        self.answers, self.out = queue.Queue(), []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def say(self, number):
        self.process.stdin.write(b"line %d\n" % number)
        self.process.stdin.flush()

    def hear(self):
        answer = self.answers.get(timeout=ANSWER_S)
        if answer is None:
            raise RuntimeError("the job has ended")
        self.out.append(answer)

    def run(self, goes_on):
        """As long as goes_on(lines so far); gives the longest time between two answers."""
        longest, last, said = 0.0, None, 0
        while goes_on(said):
            self.say(said)
            said += 1
            if said < IN_FLIGHT:
                continue
            self.hear()
            now = time.monotonic()
            longest, last = max(longest, now - (last or now)), now
        while len(self.out) < said:
            self.hear()
        return longest

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=ANSWER_S)
        return self.process.returncode, self.process.stderr.read().decode()


def under_load(build, seconds, busy):
    """Lines answered, the longest pause between two, exit code, and what was said."""
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    job = Job(build)
    try:
        deadline = time.monotonic() + seconds
        longest = job.run(lambda _: time.monotonic() < deadline)
        code, err = job.end()
    except (RuntimeError, queue.Empty, OSError) as problem:
        out, err = jobs.end(job.process)
        return job.out, 0.0, None, f"{problem}\n{err.decode(errors='replace')}"
    finally:
        for one in load:
            one.kill()
            one.wait()
    return job.out, longest, code, err


def problem_of(build, out, code, err):
    if code != 0:
        return f"exit code {code}: {err}"
    alone = Job(build, 0)
    alone.run(lambda said: said < len(out))
    _, quiet = alone.end()
    if err != quiet:
        return f"it said: {err}"
    difference = jobs.difference(b"".join(alone.out), b"".join(out))
    return f"it printed something else: {difference}" if difference else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--busy", type=int, default=len(os.sched_getaffinity(0)), help="busy processes (default: as many as cores)")
    parser.add_argument("--log", default=None, help="the result is added there")
    options = parser.parse_args()
    build = Path(options.build).resolve()
    out, longest, code, err = under_load(build, options.seconds, options.busy)
    problem = problem_of(build, out, code, err)
    text = (f"{options.seconds:.0f} s, {RANKS} ranks on {NODES} nodes beside {options.busy} busy processes: {len(out)} lines, the longest pause "
            f"{longest:.2f} s: {'FAILED: ' + problem if problem else 'no alarm, the same output'}")
    print(text)
    if options.log:
        with open(options.log, "a") as log:
            log.write(text + "\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
