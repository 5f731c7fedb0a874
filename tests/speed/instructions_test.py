"""instructions_test.py BUILD ONE_MESSAGE ONE_COLLECTIVE: instructions that an MPI_Send, an MPI_Recv and collectives of 8 bytes execute,
counted by callgrind, with each protocol. Fails when they are more than LIMITS. What a machine's load cannot change is guarded here; times
are measured by bench/."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, MESSAGE, COLLECTIVE = (Path(word).resolve() for word in sys.argv[1:4])
# A seventh above what is needed, for other compilers and C libraries. Rank 1 is counted; of a collective ROOT is the root, where it has
# one.
ROOT = {"Bcast": 0, "Scatter": 1}
LIMITS = {("none", "Send"): 630, ("none", "Recv"): 1125, ("pessimist", "Send"): 790, ("pessimist", "Recv"): 1210,
          ("none", "Bcast"): 1320, ("none", "Scatter"): 1075, ("none", "Scan"): 1520, ("pessimist", "Allreduce"): 2135}
CALLS = 30
LEAST = 50  # less is no call that communicates


def program(call):
    if call in ("Send", "Recv"):
        return [MESSAGE, str(CALLS)]
    return [COLLECTIVE, call, str(ROOT.get(call, 0)), "1", str(CALLS)]


def instructions(protocol, call):
    """In each call of this function by rank 1, with all that it calls."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        words, function = program(call), f"PMPI_{call}"
        done = subprocess.run([BUILD / "bin" / "holdfast", "run", "--protocol", protocol, "-n", "1", *words, ":", "-n", "1",
                               "valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}",
                               f"--toggle-collect={function}", f"--dump-after={function}", *words],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        dumps = [(Path(directory) / f"callgrind.out.{i}").read_text() for i in range(1, CALLS + 1)]
        totals = [re.search(r"^(?:totals|summary): (\d+)", dump, re.MULTILINE) for dump in dumps]
        assert all(totals), "callgrind counted nothing"
        return [int(total[1]) for total in totals]


class Instructions(unittest.TestCase):
    def test_eight_bytes(self):
        for (protocol, call), limit in LIMITS.items():
            # On a busy machine a message may not be there yet, and its receiver spins: the least of all calls.
            least = min(instructions(protocol, call))
            for _ in range(3):
                if least > limit:
                    least = min(least, *instructions(protocol, call))
            print(f"{protocol}: MPI_{call} of 8 bytes: {least} instructions, at most {limit}", flush=True)
            with self.subTest(protocol=protocol, call=call):
                self.assertGreater(least, LEAST, "this counts something else")
                self.assertLessEqual(least, limit)


if not shutil.which("valgrind"):
    print("valgrind is not installed: apt-get install valgrind")
    sys.exit(77)
unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
