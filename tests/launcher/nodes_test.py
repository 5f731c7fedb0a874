"""Several agents: placement, boards, the proof of the job's key."""

import os
import re
import socket
import uuid
from pathlib import Path

import harness
from harness import Case, commands_of, processes_of


class Nodes(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def test_placement(self):
        self.expect(0, "-n", 3, "--nodes", 2, *self.raw("hello", "init", "where", "finalize"), ":", "-n", 2,
                    *self.raw("hello", "init", "where", "finalize"))
        places = sorted(re.findall(r"rank (\d) node (\d) of 2 on \S+-node\2, app (\d)", self.out))
        self.assertEqual(places, [("0", "0", "0"), ("1", "0", "0"), ("2", "0", "0"), ("3", "1", "1"), ("4", "1", "1")])

    def test_nodes_of_one_machine_share_its_cores(self):
        cores = len(os.sched_getaffinity(0))
        for ranks, shared in ((cores, 0), (cores + 1, 1)):
            self.expect(0, "-n", ranks, "--nodes", 2, *self.raw("hello", "init", "where", "finalize"))
            self.assertEqual(self.out.count(f"oversubscribed {shared}"), ranks)

    def test_hosts_that_are_this_machine_need_no_ssh(self):
        self.expect(0, "-n", 3, "--hosts", f"localhost:2,{os.uname().nodename}", "--launcher-exec", "/no/such/ssh",
                    *self.raw("hello", "init", "where", "finalize"))
        self.assertEqual(sorted(re.findall(r"rank (\d) node (\d) of 2", self.out)), [("0", "0"), ("1", "0"), ("2", "1")])
        self.expect(1, "-n", 1, "--hosts", "elsewhere", "--launcher-exec", "/no/such/ssh", "true", err="program /no/such/ssh not found")

    def test_the_report_names_hosts(self):
        report = self.expect_report(0, "-n", 3, "--nodes", 2, "--map-by", "node", "true")
        self.assertEqual([(r["node"], r["host"]) for r in report["ranks"]], [(n, f"{os.uname().nodename}-node{n}") for n in (0, 1, 0)])

    def test_more_nodes_than_ranks(self):
        self.expect(0, "-n", 2, "--nodes", 3, *self.raw("hello", "init", "finalize"))

    def test_news_of_other_nodes(self):
        self.expect(0, "-n", 2, "--nodes", 2, *self.raw("hello", "init", "r1?0?listen:4711", "r1?0?wait:0:0:3", "r1?0?signal:9",
                    "r0?sleep:200", "r0?port:1", "r0?look_up:1", "r0?sleep:200", "r0?port:1", "r0?segment:1:0:0:0", "finalize"),
                    out="port 0\nport 4711\nabsent\n")  # who does not ask is not told
        self.expect(0, "-n", 2, "--nodes", 2, *self.raw("hello", "init", "r1?0?signal:9", "r0?wait:1:1:1", "r1?wait:0:0:3", "finalize"))

    def test_strangers_are_refused(self):
        marker = uuid.uuid4().hex
        job = self.start("-n", 2, "--nodes", 2, "sleep", 2, marker=marker)
        self.wait_until(lambda: sum("sleep" in c for c in commands_of(processes_of(marker)).values()) >= 2, "start")
        for port in self.ports_of(job.pid):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.settimeout(5)
                stranger.recv(100)  # the challenge
                stranger.sendall((1 << 31).to_bytes(4, "little") + b"x" * 100)
                while stranger.recv(100):
                    pass
        _, err = job.communicate(timeout=20)
        self.assertEqual(job.returncode, 0)
        self.assertIn("refused", err.decode())

    def ports_of(self, pid):
        inodes = set()
        for link in Path(f"/proc/{pid}/fd").iterdir():
            match = re.match(r"socket:\[(\d+)\]", os.readlink(link))
            if match:
                inodes.add(match[1])
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ports = [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]
        self.assertTrue(ports)
        return ports

    def test_the_key_is_nowhere_to_be_read(self):
        marker = uuid.uuid4().hex
        job = self.start("-n", 1, "sleep", 1, marker=marker)
        self.wait_until(lambda: any("agent" in c for c in commands_of(processes_of(marker)).values()), "start")
        agents = [c for c in commands_of(processes_of(marker)).values() if "agent" in c]
        self.assertEqual({c.strip() for c in agents}, {"holdfast agent"})
        job.communicate(timeout=20)


if __name__ == "__main__":
    harness.main()
