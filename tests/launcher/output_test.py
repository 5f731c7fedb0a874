"""stdin, stdout and stderr: unmixed, exactly once over incarnations, bounded."""

import hashlib
import os
import subprocess
import time
from pathlib import Path

import harness
from harness import Case


class Output(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def test_lines_of_ranks_are_not_mixed(self):
        self.expect(0, "-n", 4, *self.raw("hello", "init", "lines:2000", "finalize"))
        lines = self.out.splitlines()
        for rank in range(4):
            self.assertEqual([line for line in lines if line.startswith(f"rank {rank} ")],
                             [f"rank {rank} line {i} of many" for i in range(2000)])
        self.assertEqual(len(lines), 8000)

    def test_label(self):
        self.run_job("--label", "-n", 3, "sh", "-c", "echo a; echo b >&2; printf c")
        self.assertEqual(sorted(self.out.split()), sorted(3 * ["a", "c"] + 2 * ["[0]", "[1]", "[2]"]))
        self.assertEqual(sorted(self.err.splitlines()), ["[0] b", "[1] b", "[2] b"])

    def test_unfinished_line_comes_soon(self):
        job = subprocess.Popen(self.command("-n", 1, "sh", "-c", "printf 'name? '; sleep 5"), stdout=subprocess.PIPE)
        began = time.monotonic()
        self.assertEqual(os.read(job.stdout.fileno(), 100), b"name? ")
        self.assertLess(time.monotonic() - began, 3)
        job.terminate()
        job.communicate()

    def test_binary_output_is_exact(self):
        data = os.urandom(3_000_000)
        done = self.run_binary("-n", 1, "cat", stdin=data)
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())

    def run_binary(self, *words, stdin):
        return subprocess.run(self.command(*words), input=stdin, capture_output=True, timeout=60)

    def test_stdin_goes_to_rank_0_only(self):
        self.expect(0, "--label", "-n", 3, "cat", stdin=b"one\ntwo\n", out="[0] one\n[0] two\n")

    def test_stdin_from_a_file(self):
        with open(__file__, "rb") as file:
            done = subprocess.run(self.command("-n", 2, "cat"), stdin=file, capture_output=True, timeout=60)
        self.assertEqual(done.stdout, Path(__file__).read_bytes())

    def test_stdin_is_given_again(self):
        self.expect(0, "-n", 2, *self.raw("hello", "init", "r0?echo", "r0?0?signal:9", "finalize"), stdin=b"a\nb\nlast",
                    out="a\nb\nlast")

    def test_exactly_once(self):
        self.expect(0, "-n", 2, *self.raw("hello", "init", "lines:500", "r1?0?signal:9", "part:begun", "r1?1?sleep:200",
                                          "r1?1?signal:9", "say: and ended", "r1?2?signal:9", "finalize"))
        lines = sorted(self.out.splitlines())
        wanted = sorted([f"rank {rank} line {i} of many" for rank in range(2) for i in range(500)] + 2 * ["begun and ended"])
        self.assertEqual(lines, wanted)

    def test_difference_is_reported_once(self):
        self.expect(0, "-n", 1, *self.raw("hello", "init", "incarnation", "say:x", "0?signal:9", "1?signal:9", "finalize"),
                    out="rank 0 incarnation 0\nx\n", err="line 1 of its standard output differs")
        self.assertEqual(self.err.count("differs"), 1, self.err)

    def test_slow_reader_bounds_memory(self):
        job = subprocess.Popen(self.command("-n", 2, "sh", "-c", "yes $PMI_RANK | head -c 30000000"), stdout=subprocess.PIPE)
        time.sleep(1.5)
        kib = [int(line.split()[1]) for line in Path(f"/proc/{job.pid}/status").read_text().splitlines() if line.startswith("VmRSS")][0]
        self.assertLess(kib, 64 * 1024)
        total = 0
        while piece := os.read(job.stdout.fileno(), 1 << 20):
            total += len(piece)
        self.assertEqual(total, 60_000_000)
        job.communicate()
        self.assertEqual(job.returncode, 0)

    def test_reader_that_goes_away(self):
        command = " ".join(self.command("-n", 2, "yes")) + " | head -3"
        done = subprocess.run(["bash", "-c", command + "; echo ${PIPESTATUS[0]}"], capture_output=True, timeout=30)
        self.assertEqual(done.stdout.decode().split(), ["y", "y", "y", "141"])

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(self.command("-n", 2, "sh", "-c", "echo x; sleep 20"), stdout=full, stderr=subprocess.PIPE, timeout=30)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.decode(), "holdfast: standard output cannot be written: No space left on device; the job ends\n")
            done = subprocess.run(self.command("-n", 2, "sh", "-c", "echo x >&2; echo y"), stdout=subprocess.PIPE, stderr=full, timeout=30)
            self.assertEqual((done.returncode, done.stdout), (0, b"y\ny\n"))

    def test_error_after_output(self):
        self.expect(4, "-n", 1, "sh", "-c", "printf tail; exit 4", out="tail")


if __name__ == "__main__":
    harness.main()
