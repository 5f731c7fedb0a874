"""instructions_test.py BUILD PROGRAM: instructions that an MPI_Send and an MPI_Recv of 8 bytes execute, counted by callgrind, with each
protocol. Fails when they are more than LIMITS. What a machine's load cannot change is guarded here; times are measured by bench/."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, PROGRAM = (Path(word).resolve() for word in sys.argv[1:3])
# A seventh above what is needed, for other compilers and C libraries.
LIMITS = {("none", "Send"): 660, ("none", "Recv"): 1190, ("pessimist", "Send"): 840, ("pessimist", "Recv"): 1300}
FEW, MANY = 20, 80
LEAST = 50  # less is no send or receive


def instructions(protocol, call, count):
    """In all calls of this function by rank 1, with all that they call."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        done = subprocess.run([BUILD / "bin" / "holdfast", "run", "--protocol", protocol, "-n", "1", PROGRAM, str(count), ":", "-n", "1",
                               "valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}",
                               f"--toggle-collect=PMPI_{call}", PROGRAM, str(count)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        totals = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
        assert totals, "callgrind counted nothing"
        return int(totals[1])


class Instructions(unittest.TestCase):
    def test_eight_bytes(self):
        for (protocol, call), limit in LIMITS.items():
            # On a busy machine a message may not be there yet, and its receiver spins: the least of several counts.
            few, many = [], []
            for _ in range(6):
                few.append(instructions(protocol, call, FEW))
                many.append(instructions(protocol, call, MANY))
                each = (min(many) - min(few)) / (MANY - FEW)
                if LEAST < each <= limit:
                    break
            print(f"{protocol}: MPI_{call} of 8 bytes: {each:.0f} instructions, at most {limit}", flush=True)
            with self.subTest(protocol=protocol, call=call):
                self.assertGreater(each, LEAST, "this counts something else")
                self.assertLessEqual(each, limit)


if not shutil.which("valgrind"):
    print("valgrind is not installed: apt-get install valgrind")
    sys.exit(77)
unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
