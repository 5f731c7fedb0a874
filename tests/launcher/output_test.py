"""stdin, stdout and stderr: unmixed, exactly once over incarnations, bounded."""

import hashlib
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
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

    def test_full_buffers_tear_no_line(self):
        """As stdio writes to a pipe: pieces that end anywhere, and the next one comes later."""
        program = ("""import os, time
rank = int(os.environ["PMI_RANK"])
text = b"".join(b"rank %d reports that step %03d is done well\\n" % (rank, step) for step in range(150))
for at in range(0, len(text), 700):
    os.write(1, text[at:at + 700])
    os.write(2, text[at:at + 700])
    time.sleep(0.15 + 0.1 * rank)
""")
        for label in ((), ("--label",)):
            with self.subTest(label=label), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
                subprocess.run(self.command("-n", 3, *label, sys.executable, "-c", program), stdin=subprocess.DEVNULL, stdout=out, stderr=error,
                               timeout=60, check=True)
                for file in (out, error):
                    file.seek(0)
                    wanted = [f"{f'[{rank}] ' if label else ''}rank {rank} reports that step {step:03} is done well" for rank in range(3)
                              for step in range(150)]
                    self.assertEqual(sorted(file.read().decode().splitlines()), sorted(wanted))

    def expect_soon(self, fd, text, seconds=10):
        got, deadline = b"", time.monotonic() + seconds
        while got != text:
            self.assertTrue(text.startswith(got) and time.monotonic() < deadline, got)
            if select.select([fd], [], [], 0.1)[0]:
                got += os.read(fd, 100)

    def test_prompt_of_rank_0_comes_through_a_pipe(self):
        job = subprocess.Popen(self.command("-n", 2, "sh", "-c", "test $PMI_RANK = 1 || { printf 'name? '; read name; echo \"hello $name\"; }"),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.expect_soon(job.stdout.fileno(), b"name? ")
        out, _ = job.communicate(b"you\n", timeout=20)
        self.assertEqual((out, job.returncode), (b"hello you\n", 0))

    def test_any_prompt_comes_to_a_terminal(self):
        terminal, end = pty.openpty()
        job = subprocess.Popen(self.command("-n", 2, "sh", "-c", "test $PMI_RANK = 0 || printf 'on rank 1? '; sleep 20"), stdin=subprocess.DEVNULL,
                               stdout=end, stderr=subprocess.DEVNULL)
        os.close(end)
        self.expect_soon(terminal, b"on rank 1? ")
        job.terminate()
        job.wait(timeout=20)
        os.close(terminal)

    def test_unfinished_lines_come_when_the_job_is_ended(self):
        self.expect(3, "-n", 2, "sh", "-c", "printf \"of $PMI_RANK \"; test $PMI_RANK = 0 || { sleep 0.5; exit 3; }; sleep 20")
        self.assertEqual(sorted(self.out.split()), ["0", "1", "of", "of"])

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

    def test_answers_that_cannot_be_written(self):
        """Said, on a full disk; a reader that goes away ends a command as any other."""
        for words in (["--help"], ["--version"], ["run", "--help"], ["ps"]):
            codes = []
            for taken in self.unwritable():
                done = subprocess.run([harness.HOLDFAST, *words], stdout=taken, stderr=subprocess.PIPE, timeout=30)
                codes.append(done.returncode)
                self.assertEqual(done.stderr, b"" if done.returncode < 0 else b"holdfast: cannot write: No space left on device\n")
            self.assertEqual(codes, [1, -signal.SIGPIPE], words)

    def test_errors_that_cannot_be_written(self):
        for words in (["nonsense"], ["run", "--nonsense"], ["ps", "--nonsense"], ["agent"]):
            codes = [subprocess.run([harness.HOLDFAST, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=taken,
                                    timeout=30).returncode for taken in self.unwritable()]
            self.assertEqual(codes, [2, -signal.SIGPIPE], words)

    def test_stopped_when_nobody_reads_its_errors(self):
        for taken in self.unwritable():
            job = subprocess.Popen(self.command("-n", 2, "sh", "-c", "sleep 1; echo done"), stdout=subprocess.PIPE, stderr=taken)
            time.sleep(0.5)
            job.send_signal(signal.SIGTSTP)
            time.sleep(0.2)
            job.send_signal(signal.SIGCONT)
            out, _ = job.communicate(timeout=30)
            self.assertEqual((job.returncode, out), (0, b"done\ndone\n"))

    def test_error_after_output(self):
        self.expect(4, "-n", 1, "sh", "-c", "printf tail; exit 4", out="tail")


if __name__ == "__main__":
    harness.main()
