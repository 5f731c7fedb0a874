"""Protocol optimist with two event loggers: what one of them has is told by the other too, or whoever depends on it never ends
(docs/event-loggers.md). With a `holdfast` whose loggers are apart (a build with a mutation, --expect failure) the job does not end.

    loggers_apart.py --build build --program PATH-OF-ORDERS [--holdfast PATH] [--expect failure]
"""

import argparse
import subprocess
import sys
from pathlib import Path

import jobs

PATIENCE_S = {"success": 60, "failure": 8}


def ends(options):
    command = [options.holdfast, "run", "-n", 4, "--nodes", 4, "--event-loggers", 2, "--protocol", "optimist", options.program, 40, 200]
    job = subprocess.Popen([str(w) for w in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=jobs.environment(), start_new_session=True)
    try:
        out, err = job.communicate(timeout=PATIENCE_S[options.expect])
    except subprocess.TimeoutExpired:
        jobs.end(job)
        return False
    sys.stderr.write(err.decode(errors="replace"))
    return job.returncode == 0 and out.count(b" digest ") == 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--program", required=True)
    parser.add_argument("--expect", choices=tuple(PATIENCE_S), default="success")
    parser.add_argument("--holdfast", type=Path, default=None, help="another one than BUILD/bin/holdfast")
    options = parser.parse_args()
    options.holdfast = options.holdfast or options.build / "bin/holdfast"
    found = ends(options)
    print("the job ended" if found else "the job did not end as it should")
    return 0 if found == (options.expect == "success") else 1


if __name__ == "__main__":
    sys.exit(main())
