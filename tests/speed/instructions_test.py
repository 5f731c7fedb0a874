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
LIMITS = {("none", "Send"): 660, ("none", "Recv"): 1190, ("pessimist", "Send"): 840, ("pessimist", "Recv"): 1300,
          ("none", "Bcast"): 1350, ("none", "Scatter"): 1120, ("none", "Scan"): 1560, ("pessimist", "Allreduce"): 2200}
FEW, MANY = 20, 80
LEAST = 50  # less is no call that communicates


def program(call, count):
    if call in ("Send", "Recv"):
        return [MESSAGE, str(count)]
    return [COLLECTIVE, call, str(ROOT.get(call, 0)), "1", str(count)]


def instructions(protocol, call, count):
    """In all calls of this function by rank 1, with all that they call."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        words = program(call, count)
        done = subprocess.run([BUILD / "bin" / "holdfast", "run", "--protocol", protocol, "-n", "1", *words, ":", "-n", "1",
                               "valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}",
                               f"--toggle-collect=PMPI_{call}", *words], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        totals = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
        assert totals, "callgrind counted nothing"
        return int(totals[1])


class Instructions(unittest.TestCase):
    def test_eight_bytes(self):
        for (protocol, call), limit in LIMITS.items():
            # On a busy machine a message may not be there yet, and its receiver spins: the least of several counts, of two at least, since
            # spinning among the few calls would hide instructions of the many.
            few, many = [], []
            for counted in range(1, 7):
                few.append(instructions(protocol, call, FEW))
                many.append(instructions(protocol, call, MANY))
                each = (min(many) - min(few)) / (MANY - FEW)
                if counted > 1 and LEAST < each <= limit:
                    break
            print(f"{protocol}: MPI_{call} of 8 bytes: {each:.0f} instructions, at most {limit}", flush=True)
            with self.subTest(protocol=protocol, call=call):
                self.assertGreater(each, LEAST, "this counts something else")
                self.assertLessEqual(each, limit)


if not shutil.which("valgrind"):
    print("valgrind is not installed: apt-get install valgrind")
    sys.exit(77)
unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
