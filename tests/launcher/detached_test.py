"""Jobs in the background: run --detach, ps, attach, logs, kill; what stays when a head is killed."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import harness
from harness import Case, commands_of, processes_of


class Detached(Case):
    """Each test is a user of its own: directories for sockets and kept output that nobody else uses."""

    def setUp(self):
        self.home = Path(tempfile.mkdtemp(prefix="holdfast-detached-"))
        self.marker = uuid.uuid4().hex
        self.runtime, self.state = self.home / "run", self.home / "state"
        self.runtime.mkdir()
        self.env = {**os.environ, "HOLDFAST_RUNTIME_DIR": str(self.runtime / "holdfast"), "XDG_STATE_HOME": str(self.state),
                    "LAUNCHER_TEST": self.marker}
        self.shm = self.in_memory()

    def tearDown(self):
        def gone():  # one that was killed may write for a moment longer, one that was being started is seen only now
            self.signal_all(signal.SIGKILL)
            return not processes_of(self.marker)

        self.wait_until(gone, "the end of all processes of this test")
        shutil.rmtree(self.home)

    def signal_all(self, number):
        for pid in sorted(processes_of(self.marker), reverse=True):  # children first: the end of their parent would continue stopped ones
            try:
                os.kill(pid, number)
            except ProcessLookupError:  # ended with another
                pass

    def holdfast(self, *words, stdin=b"", timeout=30, code=None):
        done = subprocess.run([harness.HOLDFAST, *map(str, words)], input=stdin, capture_output=True, timeout=timeout, env=self.env)
        self.out, self.err, self.code = done.stdout.decode(), done.stderr.decode(), done.returncode
        if code is not None:
            self.assertEqual(self.code, code, self.out + self.err)
        return self.out

    def detach(self, *words, **more):
        job = self.holdfast("run", "--detach", *words, code=0, **more).strip()
        self.assertRegex(job, "^[a-z]{6}$")
        return job

    def raw(self, *words):
        return [harness.RAW, *words]

    def follow(self, *words, **more):
        process = subprocess.Popen([harness.HOLDFAST, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   **{"stdin": subprocess.DEVNULL, **more})
        self.addCleanup(self.reap, process)
        return process

    def reap(self, process):
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()

    def jobs(self, *words):
        return {job["job"]: job for job in json.loads(self.holdfast("ps", "--json", *words, code=0))}

    def wait_for_end(self, job):
        self.wait_until(lambda: self.jobs("-a").get(job, {}).get("state") in ("ended", "lost"), f"the end of {job}")
        return self.jobs("-a")[job]

    def sockets(self):
        return sorted(self.runtime.rglob("*"))

    def in_memory(self):
        return {name for name in os.listdir("/dev/shm") if not name.startswith("holdfast-names.")}  # the program of another test makes those

    def expect_nothing_of_it(self):
        self.expect_nothing_left(self.marker)
        self.wait_until(lambda: not self.sockets(), f"{self.sockets()} to be removed")
        self.assertLessEqual(self.in_memory(), self.shm)

    def kill_head(self, keeper=False):
        """And first, if wanted, the process that would start another one."""
        heads = [job for job in self.jobs().values()]
        self.assertEqual(len(heads), 1)
        for pid in ([heads[0]["keeper"]] if keeper else []) + [heads[0]["head"]]:
            os.kill(pid, signal.SIGKILL)


class Background(Detached):
    def test_output_and_exit_code(self):
        job = self.detach("-n", 2, "--label", "sh", "-c", "sleep 0.5; echo out; echo err >&2; test $PMI_RANK = 0 || { sleep 0.5; exit 7; }")
        self.assertRegex(self.err, f"job {job} runs in the background")
        self.holdfast("attach", "--no-input", job, code=7)
        self.assertEqual(sorted(self.out.splitlines()), ["[0] out", "[1] out"])
        self.assertRegex(self.err, r"(?s)\[0\] err.*rank 1 exited with code 7")
        kept = (self.out, self.err)
        self.holdfast("logs", job, code=0)
        self.assertEqual((self.out, self.err), kept)
        self.assertEqual(self.jobs("-a")[job]["exit_code"], 7)
        report = json.loads((self.state / "holdfast" / job / "report.json").read_text())
        self.assertEqual((report["exit_code"], report["rank_count"]), (7, 2))
        self.expect_nothing_of_it()

    def test_the_id_comes_first(self):
        """Whoever cannot be told something else has it."""
        for taken in self.unwritable():
            command = [harness.HOLDFAST, "run", "--detach", "-n", "1", "sleep", "1"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=taken, env=self.env, timeout=30)
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stdout.decode(), r"^[a-z]{6}\n$")
            done = subprocess.run(command, stdout=taken, stderr=subprocess.PIPE, env=self.env, timeout=30)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), r"^holdfast: cannot write: [A-Z].*; job [a-z]{6} runs in the background .*\n$")
        self.assertEqual(len(self.jobs("-a")), 4)

    def test_a_job_that_ends_at_once(self):
        job = self.detach("-n", 2, "echo", "x")
        self.wait_for_end(job)
        self.assertEqual(self.holdfast("logs", code=0), "x\nx\n")

    def test_a_job_that_cannot_start(self):
        for words, code, text in [(("/no/such/program",), 127, "not found"),
                                  (("--wdir", "/no/such", "true"), 127, "cannot enter the directory"),
                                  # One of them could.
                                  (("sleep", 100, ":", "--wdir", "/no/such", "true"), 127, "cannot enter the directory"),
                                  (("--hosts", "elsewhere", "--launcher-exec", "/no/such/ssh", "true"), 1, "/no/such/ssh")]:
            self.holdfast("run", "--detach", "-n", 1, *words, code=code)
            self.assertIn(text, self.err)
            self.assertEqual(self.out, "")
        self.assertEqual(self.jobs("-a"), {})
        self.assertEqual(list(self.state.rglob("output*")), [])
        self.expect_nothing_of_it()

    def test_the_terminal_may_go(self):
        shell, terminal = pty.fork()
        if shell == 0:
            script = f"{harness.HOLDFAST} run --detach -n 2 --nodes 2 sh -c 'sleep 1.5; echo done; tty; true' 2>/dev/null; sleep 100"
            os.execve("/bin/sh", ["sh", "-c", script], self.env)
        job = os.read(terminal, 100).decode().strip()
        self.assertRegex(job, "^[a-z]{6}$")
        os.kill(shell, signal.SIGKILL)
        os.close(terminal)
        os.waitpid(shell, 0)
        self.wait_for_end(job)
        self.assertEqual(sorted(self.holdfast("logs", job).splitlines()), ["done", "done", "not a tty", "not a tty"])

    def test_nothing_of_the_caller_is_held(self):
        read, write = os.pipe()
        os.set_inheritable(write, True)
        started = subprocess.run([harness.HOLDFAST, "run", "--detach", "-n", "1", "sleep", "100"], env=self.env, close_fds=False,
                                 stdin=subprocess.PIPE, capture_output=True, timeout=20)
        os.close(write)
        self.assertEqual(os.read(read, 1), b"", "a pipe of the caller's is open")
        os.close(read)
        self.holdfast("kill", started.stdout.decode().strip(), code=0)

    def test_a_slow_start_can_be_interrupted(self):
        script = self.home / "ssh"
        script.write_text("#!/bin/sh\nexec sleep 100\n")
        script.chmod(0o755)
        job = self.follow("run", "--detach", "--hosts", "elsewhere", "--launcher-exec", str(script), "-n", "1", "true")
        self.wait_until(lambda: any("sleep" in c for c in commands_of(processes_of(self.marker)).values()), "start")
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20)
        self.assertEqual(job.returncode, 130)
        self.expect_nothing_of_it()

    def test_it_recovers(self):
        job = self.detach("-n", 4, "--nodes", 2, "--spares", 1, "--inject", "kill:rank=0,at=0.2s", "--inject", "node:1,at=0.5s",
                          *self.raw("hello", "init", "sleep:1200", "incarnation", "finalize"))
        self.holdfast("attach", "--no-input", code=0)
        self.assertEqual(len(self.out.splitlines()), 4)
        self.assertIn("rank 0 incarnation 1", self.out)
        self.assertRegex(self.err, "node 1 is lost: .* start again on node 2")
        self.assertGreaterEqual(self.jobs("-a")[job]["restarts"], 3)

    def test_limit_of_output(self):
        job = self.detach("--output-limit", "1M", "-n", 1, "sh", "-c", "seq 1000000; echo end")
        self.wait_for_end(job)
        self.assertLessEqual(sum(file.stat().st_size for file in (self.state / "holdfast" / job).glob("output*")), 1 << 20)
        lines = self.holdfast("logs", code=0).splitlines()
        self.assertEqual(lines[-2:], ["1000000", "end"])
        self.assertGreater(int(lines[1]), 500_000)
        self.assertEqual(lines[1:-1], [str(n) for n in range(int(lines[1]), 1_000_001)], "no line is missing or torn")
        self.assertRegex(self.err, r"^holdfast: \d+ KiB of older output were dropped \(--output-limit\)\n$")

    def test_so_many_ended_jobs_are_kept(self):
        jobs = []
        for _ in range(22):
            jobs.append(self.detach("-n", 1, "true"))
            self.wait_for_end(jobs[-1])
        self.assertLessEqual(set(self.jobs("-a")), set(jobs[1:]))
        self.assertEqual(len(self.jobs("-a")), 21)  # the newest has ended since
        self.assertEqual(self.holdfast("ps", "--clear", code=0), "21 ended jobs cleared\n")
        self.assertEqual(self.jobs("-a"), {})


class Attach(Detached):
    def test_from_where_the_last_reader_was(self):
        job = self.detach("-n", 1, "sh", "-c", "echo one; read x; echo two; read x; echo three")
        first = self.follow("attach", job, stdin=subprocess.PIPE)
        self.assertEqual(first.stdout.readline(), b"one\n")
        time.sleep(0.2)
        first.send_signal(signal.SIGINT)
        _, err = first.communicate(timeout=10)
        self.assertEqual(first.returncode, 130)
        self.assertEqual(err.decode(), f"holdfast: detached from job {job}, which goes on (holdfast attach {job})\n")
        second = self.follow("attach", job[:3], stdin=subprocess.PIPE)
        second.stdin.write(b"x\n")
        second.stdin.flush()
        self.assertEqual(second.stdout.readline(), b"two\n")
        out, _ = second.communicate(b"x\n", timeout=10)
        self.assertEqual((out, second.returncode), (b"three\n", 0))
        self.assertEqual(self.holdfast("logs", job), "one\ntwo\nthree\n")

    def test_an_unfinished_line_waits_for_a_terminal(self):
        job = self.detach("-n", 2, "sh", "-c", "test $PMI_RANK = 0 || printf 'on rank 1? '; sleep 100")
        time.sleep(0.5)
        self.assertEqual(self.holdfast("logs", job), "")
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        reader = subprocess.Popen([harness.HOLDFAST, "attach", "--no-input", job], env=self.env, stdin=subprocess.DEVNULL, stdout=end,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(self.reap, reader)
        os.close(end)
        self.assertTrue(select.select([terminal], [], [], 10)[0])
        self.assertEqual(os.read(terminal, 100), b"on rank 1? ")
        self.holdfast("kill", job, code=0)

    def test_from_start(self):
        self.detach("-n", 1, "sh", "-c", "echo one; read x")
        for _ in range(2):
            reader = self.follow("attach", "--from-start", "--no-input")
            self.assertEqual(reader.stdout.readline(), b"one\n")
            reader.kill()
            reader.communicate()
        self.holdfast("kill", code=0)

    def test_much_input(self):
        text = b"".join(b"%d\n" % n for n in range(200_000))
        self.detach("-n", 2, "--nodes", 2, "sh", "-c", "test $PMI_RANK = 1 || { sleep 0.5; cat; }")
        self.holdfast("attach", stdin=text, code=0)
        self.assertEqual(self.out.encode(), text)

    def test_input_that_nobody_reads(self):
        job = self.detach("-n", 1, "sh", "-c", "echo on; exec sleep 100")
        writer = self.follow("attach", job, stdin=subprocess.PIPE)
        os.set_blocking(writer.stdin.fileno(), False)
        written = idle = 0
        while idle < 20 and written < 4 << 20:
            try:
                written += os.write(writer.stdin.fileno(), b"x" * 65536)
                idle = 0
            except BlockingIOError:
                idle += 1
                time.sleep(0.02)
        self.assertLess(written, 2 << 20, "what waits is bounded")
        self.assertEqual(self.jobs()[job]["state"], "running")
        self.holdfast("kill", code=0)
        writer.wait(timeout=10)
        self.assertEqual(writer.returncode, 143)
        writer.communicate()

    def test_a_reader_that_stands_still(self):
        job = self.detach("-n", 1, "sh", "-c", "echo 0; sleep 0.5; seq 300000")
        reader = self.follow("attach", job)
        self.assertEqual(reader.stdout.readline(), b"0\n")
        reader.send_signal(signal.SIGSTOP)
        self.wait_for_end(job)
        reader.send_signal(signal.SIGCONT)
        out, err = reader.communicate(timeout=20)
        self.assertEqual(out.decode(), "".join(f"{n}\n" for n in range(1, 300_001)))
        self.assertEqual(reader.returncode, 0, err)

    def test_logs_follow(self):
        job = self.detach("-n", 1, "sh", "-c", "echo one; sleep 0.5; echo two; exit 3")
        self.assertEqual(self.holdfast("logs", "-f", code=0), "one\ntwo\n")
        self.wait_for_end(job)
        self.assertEqual(self.holdfast("logs", "-f", job, code=0), "one\ntwo\n")

    def test_the_head_is_killed_with_its_keeper_meanwhile(self):
        job = self.detach("-n", 4, "--nodes", 4, "sh", "-c", "echo one; exec sleep 100")
        reader = self.follow("attach", "--no-input")
        for _ in range(4):
            reader.stdout.readline()
        self.kill_head(keeper=True)
        _, err = reader.communicate(timeout=10)
        self.assertEqual((reader.returncode, err.decode().splitlines()[-1]),
                         (1, f"holdfast: the head of job {job} was killed, and the job has ended with it"))
        self.expect_nothing_of_it()
        self.assertEqual(self.jobs("-a")[job]["state"], "lost")
        self.assertEqual(self.holdfast("logs"), 4 * "one\n")
        self.holdfast("attach", job, code=1)
        self.assertEqual(self.err, f"holdfast attach: job {job} has ended: its head was killed (holdfast logs {job})\n")


class Names(Detached):
    def test_ps(self):
        self.assertRegex(self.holdfast("ps", code=0), r"^JOB +STARTED +STATE +RANKS +NODES +RESTARTS +OUTPUT +COMMAND\n$")
        job = self.detach("-n", 3, "--nodes", 2, "sleep", 100)
        terminal = self.follow("run", "-n", "1", "sleep", "101")
        self.wait_until(lambda: [job["state"] for job in self.jobs().values()] == ["running"] * 2, "start")
        rows = [re.split(" {2,}", line) for line in self.holdfast("ps", code=0).splitlines()]
        self.assertEqual({(*row[2:], row[0] == job) for row in rows[1:]},
                         {("running", "3", "2", "0", "kept", "sleep 100", True),
                          ("running", "1", "1", "0", "terminal", "sleep 101", False)})
        other = next(name for name in self.jobs() if name != job)
        for command in ("attach", "logs"):
            self.holdfast(command, other, code=1)
            self.assertEqual(self.err, f"holdfast {command}: job {other} was not started with --detach: "
                                       "its output goes to its own terminal\n")
        self.holdfast("kill", code=1)
        self.assertRegex(self.err, f"which running job\\? There are .*{job}")
        self.holdfast("kill", other, job[:4], code=0)
        terminal.communicate(timeout=10)
        self.assertEqual(terminal.returncode, 143)
        self.assertEqual(self.jobs(), {})
        self.assertEqual(self.jobs("-a")[job]["exit_code"], 143)
        self.expect_nothing_of_it()

    def test_ps_counts_event_loggers(self):
        job = self.detach("-n", 2, "--nodes", 2, "--event-loggers", 3, "sleep", 100)
        self.wait_until(lambda: [job["state"] for job in self.jobs().values()] == ["running"], "start")
        self.assertEqual(self.jobs()[job]["event_loggers"], 3)
        head, row = (re.split(" {2,}", line) for line in self.holdfast("ps", code=0).splitlines())
        self.assertEqual(head, ["JOB", "STARTED", "STATE", "RANKS", "NODES", "LOGGERS", "RESTARTS", "OUTPUT", "COMMAND"])
        self.assertEqual(row[2:], ["running", "2", "2", "3", "0", "kept", "sleep 100"])
        self.holdfast("kill", job, code=0)
        self.expect_nothing_of_it()

    def test_kill(self):
        script = "trap '' TERM; echo on; while :; do sleep 0.1; done"
        for words, at_least, at_most in (((), 1.9, 6), (("--now",), 0, 1.5)):
            job = self.detach("-n", 2, "sh", "-c", script)
            self.wait_until(lambda: self.holdfast("logs", job).count("on") == 2, "two ranks that do not end when asked to")
            began = time.monotonic()
            self.holdfast("kill", *words, code=0)
            self.assertTrue(at_least < time.monotonic() - began < at_most, time.monotonic() - began)
            self.expect_nothing_of_it()

    def test_wrong_use(self):
        for words, code, text in [(("attach",), 1, "holdfast attach: there is no running job (holdfast ps -a)"),
                                  (("kill", "nosuch"), 1, "holdfast kill: there is no running job nosuch (holdfast ps -a)"),
                                  (("logs", "../../etc"), 1, "holdfast logs: there is no job ../../etc (holdfast ps -a)"),
                                  (("ps", "x"), 2, "holdfast ps: .*x"), (("attach", "a", "b"), 2, "holdfast attach: .*b"),
                                  (("logs", "--bogus"), 2, "holdfast logs: .*--bogus"),
                                  (("run", "--output-limit", "2M", "true"), 2, "holdfast: --output-limit: only .* --detach"),
                                  (("run", "--detach", "--output-limit", "2K", "true"), 2, "holdfast: --output-limit 2K: 1M or more")]:
            with self.subTest(words=words):
                self.holdfast(*words, code=code)
                self.assertRegex(self.err, "^" + re.sub(r"[()]", r"\\\g<0>", text))
                self.assertEqual(len(self.err.splitlines()), 1, self.err)
        for command in ("ps", "attach", "logs", "kill"):
            self.assertIn("holdfast " + command, self.holdfast(command, "--help", code=0))

    def test_a_head_that_stands_still(self):
        job = self.detach("-n", 1, "sleep", 100)
        head = self.jobs()[job]["head"]
        os.kill(head, signal.SIGSTOP)
        self.assertEqual(self.jobs()[job]["state"], "no answer")
        self.holdfast("kill", job, code=1)
        self.assertRegex(self.err, f"job {job}: the job does not answer")
        os.kill(head, signal.SIGCONT)
        self.wait_for_end(job)  # what was asked is done


class Sockets(Detached):
    def test_no_directory_no_job_in_the_background(self):
        place = self.runtime / "holdfast"
        elsewhere = self.home / "elsewhere"
        elsewhere.mkdir()

        def check(text):
            self.holdfast("run", "--detach", "-n", 1, "true", code=1)
            self.assertRegex(self.err, f"^holdfast: .*{text}")
            self.holdfast("ps", code=1)
            self.assertRegex(self.err, f"^holdfast ps: .*{text}")
            self.holdfast("run", "-n", 1, "echo", "x", code=0)
            self.assertEqual(self.out, "x\n")
            self.assertRegex(self.err, f"^holdfast: holdfast ps will not show this job: .*{text}")
            self.assertEqual(list(self.state.rglob("output*")), [])

        place.symlink_to(elsewhere)
        check("is not a directory")
        place.unlink()
        place.mkdir()
        place.chmod(0o755)
        check(r"is open to other users \(mode 0755\): chmod 700")
        self.env["HOLDFAST_RUNTIME_DIR"] = "/etc"  # which is nothing to be changed
        check(r"/etc (is open to|belongs to) .*: name a directory that is, or can be made, yours alone$")
        self.env["HOLDFAST_RUNTIME_DIR"] = str(place)
        place.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(place, 12345, 12345)
            check("belongs to another user")
            os.chown(place, 0, 0)
        self.wait_for_end(self.detach("-n", 1, "true"))

    def test_kept_output_is_the_users_alone(self):
        (self.state / "holdfast").mkdir(parents=True)
        (self.state / "holdfast").chmod(0o777)
        self.holdfast("run", "--detach", "-n", 1, "true", code=1)
        self.assertRegex(self.err, r"^holdfast: .*/state/holdfast is open to other users")
        (self.state / "holdfast").chmod(0o700)
        job = self.detach("-n", 1, "true")
        self.wait_for_end(job)
        for path in (self.state / "holdfast").rglob("*"):
            if path.is_dir():
                self.assertEqual(path.stat().st_mode & 0o077, 0, path)
        self.expect_nothing_of_it()

    def test_a_killed_head_leaves_nothing(self):
        for nodes in (1, 4):
            self.follow("run", "-n", "4", "--nodes", str(nodes), *self.raw("hello", "init", "sleep:60000"))
            self.wait_until(lambda: any(job["state"] == "running" for job in self.jobs().values()), "start")
            self.kill_head()
            self.expect_nothing_of_it()

    def test_injected(self):
        self.holdfast("run", "-n", 4, "--nodes", 4, "--inject", "head,at=0.3s", *self.raw("hello", "init", "sleep:60000"))
        self.assertEqual(self.code, -signal.SIGKILL)
        self.expect_nothing_of_it()
        self.holdfast("run", "-n", 1, "--inject", "head,at=100s", *self.raw("hello", "init", "finalize"), code=0)
        self.assertRegex(self.err, "head,at=100s was not carried out")

    def kill_all_of_it(self):
        self.signal_all(signal.SIGSTOP)  # agents too, before one hears of another's death
        self.signal_all(signal.SIGKILL)
        self.expect_nothing_left(self.marker)

    def test_a_name_without_a_head_is_removed(self):
        for clean in (("ps",), ("run", "-n", "1", "true"), ("run", "--detach", "-n", "1", "true")):
            job = self.detach("-n", 1, "sleep", 100)
            self.kill_all_of_it()
            self.assertIn(job, [path.name for path in self.sockets()])
            self.holdfast(*clean, code=0)
            self.assertNotIn(job, [path.name for path in self.sockets()])
            self.assertEqual(self.jobs("-a")[job]["state"], "lost")

    def test_a_name_that_was_removed_comes_back(self):
        job = self.detach("-n", 1, "sleep", 100)
        shutil.rmtree(self.runtime / "holdfast")
        self.assertEqual(self.holdfast("ps", "--clear", code=0), "0 ended jobs cleared\n")
        self.wait_until(lambda: job in self.jobs(), "the name")
        self.holdfast("kill", job, code=0)
        self.expect_nothing_of_it()

    def test_directories(self):
        """$XDG_RUNTIME_DIR/holdfast where that is the user's own directory."""
        del self.env["HOLDFAST_RUNTIME_DIR"]
        self.env["XDG_RUNTIME_DIR"] = str(self.runtime)
        job = self.detach("-n", 1, "sleep", 100)
        self.assertIn(self.runtime / "holdfast" / job, self.sockets())
        self.env["XDG_RUNTIME_DIR"] = str(self.home / "none")
        other = self.detach("-n", 1, "sleep", 100)
        place = Path(f"/tmp/holdfast-{os.geteuid()}")
        self.assertTrue((place / other).is_socket())
        self.assertEqual(place.stat().st_mode & 0o7777, 0o700)
        self.env["XDG_RUNTIME_DIR"] = str(self.runtime)
        self.assertLessEqual({job, other}, set(self.jobs()))
        self.holdfast("kill", job, other, code=0)
        self.assertFalse((place / other).exists())
        self.expect_nothing_of_it()

    def test_clients_that_talk_nonsense(self):
        job = self.detach("-n", 1, "sh", "-c", "sleep 1.5; echo end")
        path = str(self.runtime / "holdfast" / job)
        crowd = []
        for n in range(70):  # more than are let in
            crowd.append(socket.socket(socket.AF_UNIX))
            crowd[-1].connect(path)
            try:
                crowd[-1].sendall([b"\0" * 70_000, b'{"request":"input","data":"!"}\n', b'{"request":"attach"}\n{"request":',
                                   b"\n" * 1000][n % 4])
            except (BrokenPipeError, ConnectionResetError):
                pass
        for client in crowd[:32]:
            client.close()
        self.wait_until(lambda: self.jobs()[job]["state"] == "running", "room for another client")
        self.holdfast("logs", "-f", job, code=0)
        self.assertEqual(self.out, "end\n")
        for client in crowd:
            client.close()


if __name__ == "__main__":
    harness.main()
