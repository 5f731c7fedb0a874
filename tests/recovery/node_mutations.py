"""The gate of level `node`: while the agent of rank 0 is stopped, nothing that rank 0 determines can become stable, and nothing that depends on it may
leave. Then the node of rank 0 is lost. The ranks must end with the order that was printed; with a library that breaks the rule (a build with
a mutation, --expect failure) they do not.

    node_mutations.py --build build --program PATH-OF-ORDERS [--cases 6] [--protocol optimist] [--unshared] [--holdfast PATH] [--expect failure]
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jobs


def process_of(program, rank, marker):
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if b"HOLDFAST_RANK=%d" % rank in words and marker.encode() in words and (entry / "exe").resolve() == Path(program).resolve():
                return int(entry.name)
        except OSError:
            continue
    return None


def parent_of(process):
    return int(re.search(r"^PPid:\s*(\d+)", Path(f"/proc/{process}/status").read_text(), re.M)[1])


def lose_node_of_rank_0(options, case):
    """Runs one job; returns (exit code, output, errors)."""
    marker = f"NODE_GATE={os.getpid()}-{case}"
    command = [options.holdfast, "run", "-n", 4, "--nodes", 4, "--spares", 1, "--eager-limit", "64K", "--protocol", options.protocol, "-v", options.program, 300, 1000, "large",
               # Rank 1 is on the node of the holder: it may be told at once, with the events. Or nobody there is told anything.
               *([1] if case % 2 else [])]
    name, value = marker.split("=")
    job = subprocess.Popen([str(w) for w in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           bufsize=0, env={**jobs.environment(), name: value}, start_new_session=True)
    begun = [job.stdout.readline() for _ in range(20)]
    process = process_of(options.program, 0, marker)
    if process is not None:
        agent = parent_of(process)
        os.kill(agent, signal.SIGSTOP)
        time.sleep(0.1)
        os.kill(agent, signal.SIGKILL)  # its ranks go with it
    try:
        out, err = job.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        out, err = jobs.end(job)
    return job.returncode, b"".join(begun) + out, err.decode(errors="replace")


def lose_unshared_node_1(options, case):
    """What rank 1 determines is on its node alone, which is lost: rank 0, whose lines depend on it, is an orphan."""
    at = 100 + 20 * case
    words = [options.holdfast, "run", "-n", 4, "--nodes", 4, "--spares", 1, "--protocol", options.protocol, "-v",
             "--inject", f"unshared:node=1,at={at}ms,for=5s", "--inject", f"node:1,at={at + 150}ms", options.program, 300, 1000]
    done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env=jobs.environment())
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def wrong(code, out, err):
    """What is wrong with a run, or None."""
    if code != 0:
        return f"exit code {code}: {err.strip().splitlines()[-1:]}"
    return order_told(out) if " is lost: " in err else "no node was lost: nothing was tested"


def order_told(out):
    """None: every rank was told the orders that were printed."""
    digests = set(re.findall(rb"^rank \d+ digest (\w+)$", out, re.M))
    digest = told = 14695981039346656037
    for line in re.findall(rb"^round \d+:(.*)$", out, re.M):
        for source in line.split():
            digest = ((digest ^ int(source)) * 1099511628211) & (2**64 - 1)
        told = ((told ^ digest) * 1099511628211) & (2**64 - 1)
    return None if digests == {f"{told:016x}".encode()} else f"digests {digests}, that of the orders printed is {told:016x}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--program", required=True)
    parser.add_argument("--cases", type=int, default=6)
    parser.add_argument("--protocol", choices=("pessimist", "optimist"), default="pessimist")
    parser.add_argument("--expect", choices=("success", "failure"), default="success")
    parser.add_argument("--unshared", action="store_true", help="lose node 1 instead, with what it has given to no other")
    parser.add_argument("--holdfast", type=Path, default=None, help="another one than BUILD/bin/holdfast")
    options = parser.parse_args()
    options.holdfast = options.holdfast or options.build / "bin/holdfast"
    for case in range(options.cases):
        lose = lose_unshared_node_1 if options.unshared else lose_node_of_rank_0
        problem = wrong(*lose(options, case))
        if problem:
            print(f"case {case}: {problem}")
            return 0 if options.expect == "failure" else 1
    print(f"{options.cases} cases without a fault")
    return 1 if options.expect == "failure" else 0


if __name__ == "__main__":
    sys.exit(main())
