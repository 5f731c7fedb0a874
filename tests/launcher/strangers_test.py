"""Strangers at every listening socket of a running job: silence, random bytes, half a message, a length of 4 GiB, what real members of the
job have said, 200 connections at once. The job prints what it prints without them, and says once a socket that somebody was refused."""

import collections
import os
import random
import re
import select
import socket
import struct
import threading
import time
import unittest
from pathlib import Path

import harness
from harness import Case, processes_of
from lines_job import LinesJob

Listener = collections.namedtuple("Listener", "owner kind address")  # owner: of the process, as in head, agent 0, rank 3

WAIT_S = 8  # for a socket that is to be closed by the other side; longer than it gives a peer to prove itself
CONNECTIONS = 200
CHALLENGE_BYTES = 64  # at most so much is said to who has proved nothing
REFUSED = 3  # wire::BootstrapKind
SOURCE = Path(__file__).resolve().parents[2]
VERSION = int(re.search(r"bootstrap_version = (\d+);", (SOURCE / "src/wire/bootstrap.hpp").read_text())[1])
LISTENING = "0A"


class Recorder(threading.Thread):
    """All that is sent over loopback TCP, by connection and direction, from the first byte on."""

    def __init__(self):
        super().__init__(daemon=True)
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        self.raw.bind(("lo", 0))
        self.said = collections.defaultdict(dict)  # (source port, destination port) -> sequence -> bytes
        self.over = False

    def run(self):
        while not self.over:
            if not select.select([self.raw], [], [], 0.1)[0]:
                continue
            packet, where = self.raw.recvfrom(70000)
            if where[2] == socket.PACKET_HOST and packet[9] == socket.IPPROTO_TCP:
                self.take(packet[(packet[0] & 15) * 4:struct.unpack_from("!H", packet, 2)[0]])
        self.raw.close()

    def take(self, segment):
        source, destination, sequence = struct.unpack_from("!HHI", segment)
        body = segment[(segment[12] >> 4) * 4:]
        if body and len(self.said[source, destination]) < 16:
            self.said[source, destination][sequence] = body

    def said_to(self, port):
        """What each that has connected to the port has said first."""
        return [b"".join(body for _, body in sorted(parts.items())) for (_, to), parts in list(self.said.items()) if to == port]


class Job(LinesJob):
    """Of 4 ranks on 2 nodes and a spare."""

    def __init__(self, case):
        super().__init__(case, "-n", 4, "--nodes", 2, "--spares", 1)

    def listeners(self):
        """Of all its processes. The one for the user's other commands is in a directory of his own: launcher.detached, unit.clients."""
        tcp = {row.split()[9]: row.split()[1] for row in Path("/proc/net/tcp").read_text().splitlines()[1:] if row.split()[3] == LISTENING}
        unix = {row.split()[6]: row.split()[7] for row in Path("/proc/net/unix").read_text().splitlines()[1:]
                if row.split()[3] == "00010000" and len(row.split()) > 7 and row.split()[7].startswith("@")}
        found = []
        for pid in sorted(processes_of(self.marker)):
            for inode in self.sockets_of(pid):
                if inode in tcp:
                    found.append(Listener(self.owner_of(pid), "tcp", int(tcp[inode].split(":")[1], 16)))
                if inode in unix:
                    found.append(Listener(self.owner_of(pid), "unix", "\0" + unix[inode][1:]))
        return found

    @staticmethod
    def sockets_of(pid):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            match = re.match(r"socket:\[(\d+)\]", os.readlink(link))
            if match:
                yield match[1]

    @staticmethod
    def owner_of(pid):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        rank = [entry.partition(b"=")[2].decode() for entry in environment if entry.startswith(b"HOLDFAST_RANK=")]
        return f"rank {rank[0]}" if rank else "agent" if b"agent" in words else "head"


class Strangers(Case):
    def setUp(self):
        self.random = random.Random(int(os.environ.get("HOLDFAST_SEED", 1)))
        self.held = []

    def tearDown(self):
        for one in self.held:
            one.close()

    def connect(self, to):
        kind = (socket.AF_INET, socket.SOCK_STREAM) if to.kind == "tcp" else (socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stranger = socket.socket(*kind)
        stranger.settimeout(WAIT_S)
        stranger.connect(("127.0.0.1", to.address) if to.kind == "tcp" else to.address)
        self.held.append(stranger)
        return stranger

    def send(self, stranger, words, and_no_more=False):
        try:
            stranger.sendall(words)
            if and_no_more:
                stranger.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused after the first bytes

    def expect_nothing_more(self, to, stranger):
        """It is told at most a challenge, and what is wrong; a rank that computes has not even looked."""
        got = b""
        try:
            while piece := stranger.recv(65536):
                got += piece
        except ConnectionError:
            pass
        except TimeoutError:
            self.assertIn("rank", to.owner, f"{to} does not close the connection of a stranger")
        if to.kind == "unix" and got:
            self.assertEqual(struct.unpack_from("<I", got)[0], REFUSED, got)
        else:
            self.assertLessEqual(len(got), CHALLENGE_BYTES, f"{to}: {got[:80]}")

    def attack(self, to, recorded):
        silent = self.connect(to)  # held until the job has ended
        self.assertIsNotNone(silent)
        attempts = [self.random.randbytes(300), b"\xff" * 8 + self.random.randbytes(100), struct.pack("<I", 0) + b"x" * 8,
                    struct.pack("<II", 100, 2) + b"x" * 10, *recorded]
        if to.kind == "tcp":
            attempts.append(self.random.randbytes(200_000))
        pending = []
        for words in attempts:
            stranger = self.connect(to)
            self.send(stranger, words, and_no_more=to.kind == "tcp")
            pending.append(stranger)
        crowd = [self.connect(to) for _ in range(CONNECTIONS)]
        for stranger in crowd:
            self.send(stranger, b"\0")
        for stranger in crowd:
            stranger.close()
        return pending

    def expect_said_once(self, err, listeners):
        """Each of these sockets had strangers who spoke: one line each, and no other line."""
        lines = collections.Counter(line for line in err.splitlines() if "refused" in line)
        self.assertEqual(set(lines.values()), {1}, err)
        said = {"head": 0, "agent": 0, "rank": 0, "process": 0}
        for line in lines:
            kinds = (("refused process", "process"), ("holdfast: rank ", "rank"), ("holdfast: node ", "agent"), ("", "head"))
            said[next(kind for words, kind in kinds if words in line)] += 1
        expected = {"head": 0, "agent": 0, "rank": 0, "process": 0}
        for one in listeners:
            expected["process" if one.kind == "unix" else one.owner.split()[0]] += 1
        self.assertEqual(said, expected, err)

    def test_every_socket(self):
        recorder = Recorder() if os.geteuid() == 0 else None
        if recorder:
            recorder.start()
        job = Job(self)
        job.say("begin")
        listeners = job.listeners()
        # head; log service, events and ranks of each agent; the rail of each rank
        self.assertEqual(collections.Counter((one.owner.split()[0], one.kind) for one in listeners),
                         {("head", "tcp"): 1, ("agent", "tcp"): 6, ("agent", "unix"): 3, ("rank", "tcp"): 4})
        everything = [words for one in listeners if one.kind == "tcp" for words in (recorder.said_to(one.address) if recorder else [])]
        if recorder:
            self.assertGreaterEqual(len(everything), len(listeners) - 5)
            recorder.over = True
            recorder.join()
        pending = []
        for one in listeners:
            if one.kind == "tcp":
                self.random.shuffle(everything)
                recorded = (recorder.said_to(one.address) + everything)[:12] if recorder else []
            else:
                recorded = [struct.pack("<I", 4) + b"\0" * 16, struct.pack("<Iii", 1, VERSION, 99), struct.pack("<Iii", 1, VERSION, 0)]
            pending += [(one, stranger) for stranger in self.attack(one, recorded)]
            job.say(f"strangers at {one.owner} {one.kind}")
        for one, stranger in pending:
            self.expect_nothing_more(one, stranger)
        job.say("end")
        out, err = job.end()
        given = [line.partition(" ")[2] for line in out.splitlines()]
        undisturbed = Job(self)
        for line in given:
            undisturbed.say(line)
        expected, quiet = undisturbed.end()
        self.assertEqual(out, expected)
        self.assertNotIn("refused", quiet)
        self.expect_said_once(err, listeners)
        self.assertEqual(len(err.splitlines()), len(quiet.splitlines()) + len(listeners), err)
        if not recorder:
            print("not root: no handshake was recorded and said again")

    @unittest.skipIf(os.geteuid() != 0, "needs another user")
    def test_another_user_at_the_socket_of_the_ranks(self):
        job = Job(self)
        job.say("begin")
        for one in job.listeners():
            if one.kind != "unix":
                continue
            child = os.fork()
            if child == 0:
                os.setuid(65534)
                stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                stranger.connect(one.address)
                try:
                    stranger.send(struct.pack("<Iii", 1, VERSION, 0))
                    os._exit(1 if stranger.recv(1000) else 0)
                except OSError:
                    os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0, f"{one} answers another user")
        job.say("end")
        _, err = job.end()
        self.assertEqual(err.count("is no rank of this job"), 3, err)


if __name__ == "__main__":
    harness.main()
