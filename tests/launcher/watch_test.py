"""Watching a job: metrics, `holdfast top`, and `holdfast report` of what is left."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.error
import urllib.request
from pathlib import Path

import harness
from harness import Case

PROGRAM = None
SERIES = re.compile(r'([a-z_]+)(\{[a-z_]+="[^"\\\n]*"(?:,[a-z_]+="[^"\\\n]*")*\})? (-?[0-9.e+]+)')
ROW = re.compile(r" *(\d+) +(\d+) +(\d+) +(\d+) +\S+ +\S+ +\S+ +\S+ +\S+  (.*)")


def parse_metrics(text):
    """{series: value}; the format's own rules are checked on the way."""
    assert text.endswith("\n")
    values, family, kind = {}, None, None
    families = set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
            assert family not in families, line
            families.add(family)
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name == family and kind in ("counter", "gauge"), line
        else:
            match = SERIES.fullmatch(line)
            assert match and match[1] == family and (kind == "counter") == family.endswith("_total"), line
            series = match[1] + (match[2] or "")
            assert series not in values, line
            values[series] = float(match[3])
    return values


class Job:
    """A running job of the program watched, whose socket is in a directory of its own."""

    def __init__(self, case, *options, ranks=4):
        self.directory = Path(case.enterContext(tempfile.TemporaryDirectory()))
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.directory), "TERM": "xterm"}
        self.report = self.directory / "report.json"
        self.errors = open(self.directory / "stderr", "w+b")
        self.process = subprocess.Popen(
            [harness.HOLDFAST, "run", "-n", str(ranks), "--report", self.report, *map(str, options), PROGRAM, self.directory / "go",
             self.directory / "end"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, env=self.environment)
        case.addCleanup(self.stop)
        self.case, self.ranks = case, ranks

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def said(self):
        return (self.directory / "stderr").read_text()

    def url(self):
        found = []
        said = re.compile(r"^holdfast: metrics at (http://\S+/metrics)$", re.M)
        self.case.wait_until(lambda: found.extend(said.findall(self.said())) or found, "the address")
        return found[0]

    def metrics(self):
        with urllib.request.urlopen(self.url(), timeout=10) as answer:
            self.case.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            return parse_metrics(answer.read().decode())

    def id(self):
        names = []
        places = self.directory / "holdfast"
        self.case.wait_until(lambda: names.extend(p.name for p in places.glob("[!.]*") if p.is_socket()) or names, "its name")
        return names[0]

    def top(self, *words):
        done = subprocess.run([harness.HOLDFAST, "top", *words, self.id()], capture_output=True, env=self.environment, timeout=30,
                              stdin=subprocess.DEVNULL)
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def rows(self, *words):
        """{rank: (node, incarnation, restarts, state)}"""
        return {int(m[1]): (int(m[2]), int(m[3]), int(m[4]), m[5]) for m in map(ROW.fullmatch, self.top(*words).splitlines()) if m}

    def let(self, what):
        (self.directory / what).touch()

    def until_quiet(self):
        self.let("go")
        for _ in range(self.ranks):
            self.case.assertEqual(self.process.stdout.readline(), b"quiet\n")

    def finish(self):
        self.let("end")
        self.case.assertEqual(self.process.wait(timeout=30), 0, self.said())
        return json.loads(self.report.read_text())


class Terminal:
    """`holdfast top` in a terminal of 80x24."""

    def __init__(self, job):
        self.master, self.slave = pty.openpty()
        job.case.addCleanup(os.close, self.master)
        job.case.addCleanup(os.close, self.slave)
        self.size(24, 80)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen([harness.HOLDFAST, "top", "-d", "0.2", job.id()], stdin=self.slave, stdout=self.slave,
                                        stderr=subprocess.PIPE, env=job.environment, preexec_fn=self.control)
        job.case.addCleanup(self.process.stderr.close)
        job.case.addCleanup(self.process.kill)
        self.case, self.text = job.case, ""

    @staticmethod
    def control():
        """This terminal is the session's: it sends SIGWINCH."""
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def size(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")

    def expect(self, pattern):
        """What changes on the screen is written, not more."""
        deadline = time.monotonic() + 15
        while not re.search(pattern, self.text):
            self.case.assertLess(time.monotonic(), deadline, f"{pattern} is not in {self.text!r}")
            self.read(0.2)
        self.text = ""

    def key(self, bytes):
        self.text = ""
        os.write(self.master, bytes)

    def expect_end(self, code):
        deadline = time.monotonic() + 15
        while self.process.poll() is None:
            self.case.assertLess(time.monotonic(), deadline)
            self.read(0.1)
        self.read(0.1)
        self.case.assertEqual(self.process.returncode, code)
        self.case.assertIn("\x1b[?1049l", self.text)
        self.case.assertEqual(termios.tcgetattr(self.slave), self.before)
        self.process.wait()


class Watching(Case):
    def enterContext(self, context):  # unittest has it from Python 3.11 on
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(context)

    def test_a_job_with_a_death_is_seen(self):
        job = Job(self, "--nodes", 2, "--metrics", ":0", "--inject", "kill:rank=1,call=700")
        self.wait_until(lambda: [r for r, row in job.rows("--once").items() if row[3].startswith("waiting for 1,")] == [0, 2], "waits", 60)
        rows = job.rows()  # stdout is no terminal
        self.assertEqual([rows[r][0] for r in range(4)], [0, 0, 1, 1])
        self.assertEqual(rows[1][1:], (1, 1, "running"))
        self.assertTrue(rows[3][3].startswith("waiting for any, "), rows)
        values = job.metrics()
        self.assertEqual(values['holdfast_rank_incarnation{rank="1"}'], 1)
        self.assertEqual(values['holdfast_rank_restarts_total{rank="1"}'], 1)
        self.assertEqual(values['holdfast_rank_node{rank="3"}'], 1)
        self.assertGreater(values['holdfast_rank_waiting_seconds{rank="0"}'], 0)
        self.assertEqual(values['holdfast_ranks{state="waiting"}'], 3)
        job.until_quiet()
        time.sleep(2.5)  # two samples
        rows, values = job.rows(), job.metrics()
        self.assertEqual({row[3] for row in rows.values()}, {"running"})
        report = job.finish()
        self.assertEqual(report["restarts"], 1)
        self.compare(values, report)
        self.check_printed(job)

    # MPI_Finalize is still to come: a few messages without bytes.
    def compare(self, values, report):
        names = {"messages_sent": "messages_sent", "messages_received": "messages_received", "messages_logged": "messages_logged",
                 "determinants": "determinants", "messages_replayed": "messages_replayed", "sends_suppressed": "sends_suppressed",
                 "bytes_sent": "sent_bytes", "bytes_received": "received_bytes", "bytes_logged": "logged_bytes"}
        for rank in report["ranks"]:
            for field, name in names.items():
                watched = values[f'holdfast_rank_{name}_total{{rank="{rank["rank"]}"}}']
                self.assertLessEqual(watched, rank[field], (field, rank))
                self.assertLessEqual(rank[field] - watched, 0 if "bytes" in field else 12, (field, rank))
        self.assertGreaterEqual(report["totals"]["messages_logged"], 1000)

    def check_printed(self, job):
        printed = self.report(0, job.report)
        self.assertIn("4 ranks on 2 nodes, protocol pessimist, log level node", printed)
        self.assertRegex(printed, r"\n1 death of ranks, 1 restart\n.*\n +\S+ s +1 +0 +SIGKILL +700 ")
        self.assertRegex(printed, r"\n +1 +0 \S+ +1 +\d+ ")

    def report(self, code, *words):
        done = subprocess.run([harness.HOLDFAST, "report", *words], capture_output=True, timeout=30)
        self.assertEqual(done.returncode, code, done.stderr)
        if code:
            self.assertEqual(done.stdout, b"")
            self.assertEqual(done.stderr.count(b"\n"), 1)
        return (done.stderr if code else done.stdout).decode()

    def test_what_is_no_report(self):
        directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (directory / "foreign").write_text('{"traceEvents": []}')
        self.assertRegex(self.report(2, directory / "foreign"), r"^holdfast report: \S+/foreign is no report of .*: it has no \"holdfast\"$")
        (directory / "noise").write_bytes(os.urandom(1000))
        self.assertIn("it is no JSON", self.report(2, directory / "noise"))
        self.assertIn("No such file", self.report(2, directory / "missing"))
        self.assertIn("file is required", self.report(2))
        self.assertIn("--everything", self.report(2, "--everything", "x"))

    def test_metrics_addresses(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.expect(1, "-n", 1, "--metrics", f":{port}", "true", out="",
                        err=rf"^holdfast: --metrics 127\.0\.0\.1:{port}: Address already in use; give another address or port\n$")
        self.expect(2, "-n", 1, "--metrics", "nonsense", "true", err=r"^holdfast: --metrics: 'nonsense' is not an address .*\n$")
        self.expect(1, "-n", 1, "--metrics", "203.0.113.7:0", "true", err=r"^holdfast: --metrics 203\.0\.113\.7:0: Cannot assign .*\n$")
        job = Job(self, "--metrics", "[::1]:0", ranks=2)
        self.assertRegex(job.url(), r"^http://\[::1\]:\d+/metrics$")
        self.assertIn("holdfast_job_info", "".join(job.metrics()))

    def test_strangers_at_the_metrics_port_harm_nothing(self):
        job = Job(self, "--metrics", ":0", ranks=2)
        port = int(re.search(r":(\d+)/", job.url())[1])
        kept = []
        for i in range(60):
            stranger = socket.create_connection(("127.0.0.1", port))
            stranger.setblocking(False)
            with contextlib.suppress(OSError):
                stranger.send((b"GET /metrics HTTP/1.1\r\n" if i % 2 else b"") + os.urandom(1 << (i % 17)))
            (kept.append if i % 3 == 0 else socket.socket.close)(stranger)
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(job.url().replace("/metrics", "/other"), timeout=10)
        self.assertEqual(job.metrics()["holdfast_job_info" + '{version="0.1.0",protocol="pessimist",log_level="process"}'], 1)
        job.until_quiet()
        job.finish()
        for stranger in kept:
            stranger.close()

    def test_top_in_a_terminal(self):
        job = Job(self)
        self.wait_until(lambda: "waiting for 1," in job.top(), "waits", 60)
        terminal = Terminal(job)
        terminal.expect("waiting for 1")
        terminal.key(b"s")
        terminal.expect("node")
        terminal.size(8, 60)
        terminal.expect("1-2 of 4")
        terminal.key(b"\x1bOB")
        terminal.expect("2-3")
        terminal.key(b"q")
        terminal.expect_end(0)
        terminal = Terminal(job)
        terminal.expect("STATE")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.expect_end(128 + signal.SIGTERM)
        terminal = Terminal(job)
        terminal.expect("STATE")
        job.until_quiet()
        job.finish()
        terminal.expect_end(0)
        self.assertEqual(terminal.process.stderr.read(), b"holdfast top: the job has ended\n")

    def test_top_of_nothing(self):
        for code, words, why in ((1, ["zzzzzz"], "there is no .*zzzzzz"), (2, ["--live"], ".*--live"), (2, ["-s", "size"], "--sort size: one of"),
                                 (2, ["-d", "0"], ".*0.*in range"), (2, ["-d"], "-d.* requires? 1 argument|--delay:")):
            done = subprocess.run([harness.HOLDFAST, "top", *words], capture_output=True, timeout=30)
            self.assertEqual(done.returncode, code)
            self.assertRegex(done.stderr.decode(), rf"^holdfast top: .*({why}).*\n$")


if __name__ == "__main__":
    at = sys.argv.index("--program")
    PROGRAM = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    harness.main()
