"""Agents on other hosts, reached by ssh: real ssh and sshd on loopback ports, keys made for the test."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import harness
import secrets_search
import sshd
from harness import Case, commands_of, processes_of

HOSTS = DIRECTORY = None


class Ssh(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def on(self, hosts, *words):
        return ["--launcher", "ssh", "--launcher-exec", HOSTS.ssh, "--hosts", hosts, *words]

    def places(self):
        return sorted(re.findall(r"rank (\d) node (\d) of (\d) on (\S+),", self.out))

    def test_ranks_are_where_the_hosts_say(self):
        program = self.raw("hello", "init", "where", "finalize")
        self.expect(0, *self.on("n1:2,n2:2", "-n", 4), *program, err="4 ranks on 2 nodes")
        self.assertEqual(self.places(), [("0", "0", "2", "n1"), ("1", "0", "2", "n1"), ("2", "1", "2", "n2"), ("3", "1", "2", "n2")])
        self.expect(0, *self.on("n1:2,n2:2", "-n", 3, "--map-by", "node"), *program)
        self.assertEqual([(rank, host) for rank, _, _, host in self.places()], [("0", "n1"), ("1", "n2"), ("2", "n1")])
        file = Path(DIRECTORY) / "hostfile"
        file.write_text("n2 slots=1  # first\nn1:3\n")
        self.expect(0, "--launcher", "ssh", "--launcher-exec", HOSTS.ssh, "--hostfile", file, "-n", 3, *program)
        self.assertEqual([(rank, host) for rank, _, _, host in self.places()], [("0", "n2"), ("1", "n1"), ("2", "n1")])

    def test_a_message_passes_and_the_dead_come_back(self):
        quiet = self.run_job("-n", 4, PROGRAM, "finalize", 0).stdout
        for options in ([], ["--map-by", "node"], ["--inject", "kill:rank=1,call=9;kill:rank=2,call=12"]):
            with self.subTest(options=options):
                self.expect(0, *self.on("n1:2,n2:2", "-n", 4, *options), PROGRAM, "finalize", 0, out=quiet.decode())

    def test_a_host_is_lost(self):
        """Its ranks go to the spare host, or to the others."""
        quiet = self.run_job("-n", 4, PROGRAM, "compute", 1).stdout.decode()
        for hosts, more, to in (("n1:2,n2:2,n3:2", ["--spares", 1], "node 2"), ("n1:2,n2:2", [], "")):
            with self.subTest(hosts=hosts):
                self.expect(0, *self.on(hosts, "-n", 4, *more, "--inject", "node:1,at=300ms"), PROGRAM, "compute", 1, out=quiet,
                            err=f"node 1 is lost: .*start again on {to}")

    def test_event_loggers(self):
        """On the hosts behind those with ranks. The one is lost, and then a host with ranks."""
        quiet = self.run_job("-n", 4, PROGRAM, "compute", 1).stdout.decode()
        self.expect(0, *self.on("n1:2,n2:2,n3", "-n", 4, "--event-loggers", 1, "--inject", "node:2,at=100ms", "--inject", "node:1,at=600ms"),
                    PROGRAM, "compute", 1, out=quiet, err="node 1 is lost: .*start again on node 0")
        self.assertIn("node 2 is lost: its connection ended; it was an event logger, and none is left", self.err)
        self.expect(2, *self.on("n1:2,n2:2", "-n", 4, "--event-loggers", 1), "true", err="4 ranks, but only 2 slots")

    def test_more_ranks_than_slots(self):
        self.expect(2, *self.on("n1:2,n2", "-n", 4), "true", err="4 ranks, but only 3 slots.*--oversubscribe")
        self.assertEqual(len(self.err.splitlines()), 1)
        self.expect(0, *self.on("n1:2,n2", "-n", 4, "--oversubscribe"), "true")

    def test_exit_codes_input_and_output(self):
        self.expect(7, *self.on("n1,n2", "-n", 2), "sh", "-c", "exit $((OMPI_COMM_WORLD_RANK * 7))", err="rank 1 exited with code 7")
        self.expect(0, *self.on("n2,n1", "-n", 2, "--label"), "cat", stdin=b"words\n", out="[0] words\n")

    def expect_no_start(self, err, *words, code=1):
        self.expect(code, *words, err=err)
        self.assertNotIn("its ranks are lost", self.err)
        ours = [line for line in self.err.splitlines() if line.startswith("holdfast: host ")]
        self.assertEqual(len(ours), 1, self.err)

    def test_host_that_does_not_listen(self):
        self.expect_no_start("host shut cannot be reached: .*Connection refused", *self.on("n1,shut", "-n", 2), "true")

    def test_host_that_does_not_exist(self):
        self.expect_no_start("host no-such.invalid cannot be reached: .*resolve", *self.on("no-such.invalid", "-n", 1), "true")

    def test_host_that_asks_for_a_password(self):
        self.expect_no_start("host locked: ssh asks for a password", *self.on("locked", "-n", 1), "true")

    def test_host_whose_key_is_not_known(self):
        self.expect_no_start("host stranger: ssh does not accept its host key", *self.on("stranger", "-n", 1), "true")
        self.assertRegex(self.err, "holdfast: stranger: .*Host key verification failed")  # ssh's own words

    def test_holdfast_is_not_there(self):
        self.expect_no_start("host n1: /no/such/holdfast cannot be run there",
                             *self.on("n1", "-n", 1, "--remote-path", "/no/such/holdfast"), "true")

    def test_holdfast_of_another_build(self):
        other = Path(DIRECTORY) / "other-build"
        notes = subprocess.run(["readelf", "-n", harness.HOLDFAST], capture_output=True, text=True, check=True).stdout
        build = bytes.fromhex(re.search(r"Build ID: (\w+)", notes)[1])
        image = Path(harness.HOLDFAST).read_bytes()
        self.assertEqual(image.count(build), 1)
        other.write_bytes(image.replace(build, build[::-1]))
        shutil.copymode(harness.HOLDFAST, other)
        self.expect_no_start("host n1: holdfast there is of another build", *self.on("n1", "-n", 1, "--remote-path", other), "true")

    def test_build_is_looked_at_before_the_rest(self):
        """Of a ticket that another build may have made shorter, with stdin left open."""
        agent = subprocess.Popen([harness.HOLDFAST, "agent"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        agent.stdin.write(b"HFTICKET" + 20 * b"x")
        agent.stdin.flush()
        self.assertEqual(agent.wait(10), 3)
        agent.stdin.close()
        self.assertIn(b"another build", agent.stderr.read())
        agent.stderr.close()

    def test_clocks_that_differ(self):
        """An agent whose machine was started long before: times in the report are the head's."""
        if subprocess.run(["unshare", "--time", "--monotonic", "100000", "true"], capture_output=True).returncode != 0:
            self.skipTest("no time namespaces here")
        early = Path(DIRECTORY) / "early"
        early.write_text(f'#!/bin/sh\nexec unshare --time --monotonic 100000 {harness.HOLDFAST} "$@"\n')
        early.chmod(0o755)
        report = self.expect_report(0, *self.on("n1,n2", "-n", 2, "--remote-path", early, "--inject", "kill:rank=1,call=3"),
                                    *self.raw("hello", "init", "call:1", "call:2", "call:3", "call:4", "finalize"))
        self.assertEqual(len(report["failures"]), 1)
        self.assertTrue(0 < report["failures"][0]["time_s"] < 60, report["failures"])

    def test_head_is_not_reached(self):
        self.expect_no_start("host n1: its agent could not connect to this machine.*--head-address",
                             "--launcher", "ssh", "--launcher-exec", self.through_wrong_port(), "--hosts", "n1", "-n", 1, "true")
        self.expect(1, *self.on("n1", "-n", 1, "--head-address", "no-such.invalid"), "true", err="not an address of this machine")
        self.expect(0, *self.on("n1,n2", "-n", 2, "--head-address", "127.0.0.1"), "true")

    def through_wrong_port(self):
        """An ssh that gives the agent a ticket with another port, which nobody listens at."""
        script = Path(DIRECTORY) / "wrong-port"
        script.write_text(f"""#!{sys.executable}
import subprocess, sys
ticket = bytearray(sys.stdin.buffer.raw.read(4096))
ticket[32:34] = (1).to_bytes(2, "little")
sys.exit(subprocess.run([*{HOSTS.ssh.split()!r}, *sys.argv[1:]], input=bytes(ticket)).returncode)
""")
        script.chmod(0o755)
        return str(script)

    def test_nothing_is_left(self):
        """Of ranks and agents over there: when the head is killed, when an ssh client is, and on Ctrl-C."""
        for victim, how in (("run", "KILL"), ("run", "INT"), ("BatchMode", "KILL")):
            with self.subTest(victim=victim, how=how):
                marker = uuid.uuid4().hex
                job = self.start(*self.on("n1,n2", "-n", 2, "-x", f"MARK={marker}"), "sleep", 60, marker=marker)
                self.wait_until(lambda: sum("sleep" in c for c in commands_of(processes_of(marker)).values()) >= 2, "start")
                found = [p for p, c in commands_of(processes_of(marker)).items() if f" {victim}" in c or f"{victim}=" in c]
                self.assertTrue(found)
                os.kill(found[0], getattr(harness.signal, f"SIG{how}"))
                self.expect_nothing_left(marker)
                job.communicate(timeout=20)
                everything = commands_of(int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()).values()
                self.assertEqual([c for c in everything if c.startswith(f"{harness.HOLDFAST} agent")], [])

    def test_the_key_is_nowhere_to_be_read(self):
        since = secrets_search.start_of_search()
        job = self.start(*self.on("n1,n2", "-n", 2, "-v"), *self.raw("hello", "init", "r0?key", "sleep:60000", "finalize"),
                         marker=uuid.uuid4().hex)
        key = bytes.fromhex(job.stdout.readline().decode())
        self.assertEqual(len(key), 32)
        found, looked = secrets_search.look(key, secrets_search.all_directories(DIRECTORY), since)
        self.assertIsNone(job.poll())  # it ran during the search
        job.terminate()
        _, err = job.communicate(timeout=20)
        found += [form for form in secrets_search.forms(key) if form in err]
        self.assertEqual(found, [])
        self.assertGreater(looked, 10)


if __name__ == "__main__":
    if sshd.missing():
        print(f"skipped: {sshd.missing()} (sh tools/setup.sh)")
        sys.exit(77)
    at = sys.argv.index("--program")
    PROGRAM = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    with tempfile.TemporaryDirectory(prefix="holdfast-ssh-") as DIRECTORY:
        HOSTS = sshd.Hosts(DIRECTORY, ["n1", "n2", "n3"])
        try:
            harness.main()
        finally:
            HOSTS.stop()
