"""Jobs in allocations of Slurm, by holdfast run and by srun with holdfast exec: real daemons (slurm_box.py), nodes n0 to n2."""

import os
import re
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import harness
import secrets_search
import slurm_box
from harness import Case, commands_of, processes_of

BOX = None
WHERE = ["hello", "init", "where", "finalize"]


class Slurm(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def run_in_slurm(self, *words, **more):
        done = BOX.run(*words, **more)
        self.out, self.err, self.code = done.stdout.decode(), done.stderr.decode(), done.returncode

    def expect_in_slurm(self, code, *words, out=None, err=None, **more):
        self.run_in_slurm(*words, **more)
        self.assertEqual(self.code, code, self.err)
        if out is not None:
            self.assertEqual(self.out, out)
        if err is not None:
            self.assertRegex(self.err, err)

    def places(self):
        return sorted(re.findall(r"rank (\d) node \d of \d on (\S+),", self.out))

    def salloc(self, *words):
        return ["salloc", "-Q", *words, harness.HOLDFAST, "run"]

    def exec(self, *words):
        return ["srun", "-Q", "--mpi=pmi2", *words, harness.HOLDFAST, "exec"]

    def start_in_slurm(self, words, marker, ranks=2):
        job = subprocess.Popen([str(word) for word in words], env={**BOX.environment, "LAUNCHER_TEST": marker},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        sleeping = lambda: sum(c.startswith("sleep") for c in commands_of(processes_of(marker)).values())
        self.wait_until(lambda: sleeping() >= ranks, "start")
        return job


class Run(Slurm):
    def test_nodes_and_slots_are_the_allocation(self):
        self.expect_in_slurm(0, *self.salloc("-w", "n[0-1]", "-n4", "--ntasks-per-node=2"), "-n", 4, *self.raw(*WHERE))
        self.assertEqual(self.places(), [("0", "n0"), ("1", "n0"), ("2", "n1"), ("3", "n1")])
        self.assertRegex(self.err, r"^holdfast: 4 ranks on 2 nodes, .*\n$")
        self.expect_in_slurm(0, *self.salloc("-w", "n[0-1]", "--exclusive"), "-n", 5, *self.raw(*WHERE))  # 4 cores each
        self.assertEqual([node for _, node in self.places()], ["n0"] * 4 + ["n1"])
        self.expect_in_slurm(0, *self.salloc("-N3", "-n3"), "-n", 2, "--hosts", "n2,n1", *self.raw(*WHERE))
        self.assertEqual(self.places(), [("0", "n2"), ("1", "n1")])
        self.expect_in_slurm(2, *self.salloc("-w", "n0", "-n2"), "-n", 3, "true", err="3 ranks, but only 2 slots .n0 2.*--oversubscribe")

    def test_sbatch(self):
        script, out = BOX.directory / "script", BOX.directory / "out"
        script.write_text(f"#!/bin/sh\n{harness.HOLDFAST} run -n 2 {harness.RAW} {' '.join(WHERE)}\n")
        self.expect_in_slurm(0, "sbatch", "-W", "-w", "n[0-1]", "-n2", "-o", out, script)
        self.out = out.read_text()
        self.assertEqual(self.places(), [("0", "n0"), ("1", "n1")])

    def test_local_when_asked_for(self):
        self.expect_in_slurm(0, *self.salloc("-N2", "-n2"), "-n", 3, "--launcher", "local", "true")
        self.assertEqual(self.err, "")

    def test_messages_pass_and_the_dead_come_back(self):
        quiet = self.run_job("-n", 4, PROGRAM, "finalize", 0).stdout.decode()
        self.expect_in_slurm(0, *self.salloc("-N2", "-n4"), "-n", 4, "--map-by", "node", "--inject", "kill:rank=1,call=9", PROGRAM,
                             "finalize", 0, out=quiet)
        self.assertIn("SIGKILL", self.err)

    def test_a_node_is_lost(self):
        quiet = self.run_job("-n", 4, PROGRAM, "compute", 1).stdout.decode()
        for words, more, to in ((("-N3", "-n6"), ("--spares", 1), "node 2"), (("-N2", "-n4"), (), "")):
            self.expect_in_slurm(0, *self.salloc(*words, "--ntasks-per-node=2"), "-n", 4, *more, "--inject", "node:1,at=300ms", PROGRAM,
                                 "compute", 1, out=quiet, err=f"node 1 is lost: .*start again on {to}")

    def test_what_fails_is_said(self):
        self.expect_in_slurm(1, *self.salloc("-N2", "-n2"), "-n", 2, "--remote-path", "/no/such/holdfast", "true",
                             err="host n[01]: /no/such/holdfast cannot be run there")
        self.expect_in_slurm(1, *self.salloc("-w", "n0", "-n1"), "-n", 1, "--hosts", "n2", "true",
                             err="host n2: srun could not start an agent there")
        self.expect_in_slurm(7, *self.salloc("-N2", "-n2"), "-n", 2, "sh", "-c", "exit $((OMPI_COMM_WORLD_RANK * 7))",
                             err="rank 1 exited with code 7")
        self.assertRegex(self.expect_usage("-n", 1, "--launcher", "slurm", "true"), "not inside an allocation")

    def expect_usage(self, *words):
        self.expect(2, *words)
        return self.err

    def test_head_is_killed(self):
        marker = uuid.uuid4().hex
        job = self.start_in_slurm(self.salloc("-N2", "-n2") + ["-n", "2", "sleep", "60"], marker)
        head = next(p for p, c in commands_of(processes_of(marker)).items() if c.startswith(f"{harness.HOLDFAST} run"))
        os.kill(head, harness.signal.SIGKILL)
        self.expect_nothing_left(marker)
        job.communicate(timeout=20)


class Exec(Slurm):
    def test_ranks_are_the_tasks(self):
        self.expect_in_slurm(0, *self.exec("-w", "n[0-1]", "-n4", "--ntasks-per-node=2"), *self.raw(*WHERE))
        self.assertEqual(self.places(), [("0", "n0"), ("1", "n0"), ("2", "n1"), ("3", "n1")])
        self.expect_in_slurm(0, *self.exec("-w", "n[0-1]", "-n4", "--ntasks-per-node=2", "--distribution=cyclic"), *self.raw(*WHERE))
        self.assertEqual(self.places(), [("0", "n0"), ("1", "n1"), ("2", "n0"), ("3", "n1")])
        self.expect_in_slurm(0, *self.exec("-N1", "-n2"), *self.raw(*WHERE))
        self.assertEqual(self.err, "")

    def test_messages_pass_and_the_dead_come_back(self):
        quiet = self.run_job("-n", 6, PROGRAM, "finalize", 0).stdout.decode()
        self.expect_in_slurm(0, *self.exec("-N3", "-n6"), "--inject", "kill:rank=1,call=9;kill:rank=4,call=12", PROGRAM,
                             "finalize", 0, out=quiet)
        self.assertEqual(self.err.count("SIGKILL"), 2)

    def test_exit_code_and_input(self):
        self.expect_in_slurm(3, *self.exec("-N2", "-n4"), "sh", "-c", "exit $((OMPI_COMM_WORLD_RANK / 3 * 3))",
                             err="rank 3 exited with code 3; the job ends")
        self.expect_in_slurm(0, *self.exec("-N2", "-n2"), "--label", "cat", stdin=b"words\n", out="[0] words\n")

    def test_what_is_not_understood_is_said_once(self):
        for code, words, text in ((2, ("--bogus", "true"), "unknown option --bogus"), (2, ("-n", 2, "true"), "srun's tasks"),
                                  (2, ("--hosts", "a", "true"), "srun has placed the ranks"), (127, ("no-such-program",), "not found")):
            with self.subTest(words=words):
                self.expect_in_slurm(code, *self.exec("-N2", "-n3"), *words, err=text)
                self.assertEqual(len([line for line in self.err.splitlines() if line.startswith("holdfast")]), 1, self.err)

    def test_all_cores_of_the_step_are_used(self):
        """Although Slurm may bind each task to its own."""
        cores = sorted(os.sched_getaffinity(0))
        self.expect_in_slurm(0, "srun", "-Q", "--mpi=pmi2", "-n1", "taskset", "-c", cores[0], harness.HOLDFAST, "exec",
                             "--report-bindings", "true",
                             err=fr"rank 0 on n\d: not bound, may use .*\(processors? ({cores[0]}.*)?{cores[-1]}\)")

    def test_without_pmi(self):
        self.expect_in_slurm(2, "srun", "-Q", "-N2", "-n3", harness.HOLDFAST, "exec", "true", err="say srun --mpi=pmi2")
        self.assertEqual(self.err.count("holdfast"), 2, self.err)  # one line
        done = subprocess.run([harness.HOLDFAST, "exec", "true"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        self.assertIn("holdfast run -n 4", done.stderr)

    def test_tasks_that_differ(self):
        config = BOX.directory / "multi"
        config.write_text(f"0 {harness.HOLDFAST} exec true\n1 {harness.HOLDFAST} exec false\n")
        self.expect_in_slurm(1, "srun", "-Q", "--mpi=pmi2", "-n2", "--multi-prog", config, err="task 1 was given another command line")

    def test_nothing_is_left(self):
        """After the head, an agent, or the whole step was ended."""
        for victim in ("head", "agent", "scancel"):
            with self.subTest(victim=victim):
                marker = uuid.uuid4().hex
                job = self.start_in_slurm([*self.exec("-N2", "-n4", "-J", marker), "sleep", "60"], marker, ranks=4)
                if victim == "scancel":
                    BOX.run("scancel", "-n", marker)
                else:
                    os.kill(self.task(marker, 0 if victim == "head" else 1), harness.signal.SIGKILL)
                self.expect_nothing_left(marker)
                job.communicate(timeout=20)
                if victim != "scancel":  # then srun says what it likes: 0 once
                    self.assertNotEqual(job.returncode, 0)

    def task(self, marker, node):
        """The process of the first task on that node."""
        for process in processes_of(marker):
            text = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            if f"SLURM_NODEID={node}".encode() in text and b"SLURM_LOCALID=0" in text and b"\0exec\0" in command:
                return process
        self.fail("no such task")


class Key(Slurm):
    def test_the_key_is_nowhere_to_be_read(self):
        """Slurm's own logs, at its most talkative, are among what is searched."""
        for words in (self.salloc("-N2", "-n2") + ["-n", "2"], self.exec("-N2", "-n2")):
            with self.subTest(words=words):
                since = secrets_search.start_of_search()
                job = subprocess.Popen([str(w) for w in words] + self.raw("hello", "init", "r0?key", "sleep:60000"),
                                       env=BOX.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                key = bytes.fromhex(job.stdout.readline().decode())
                self.assertEqual(len(key), 32)
                found, looked = secrets_search.look(key, secrets_search.all_directories(BOX.directory), since)
                self.assertIsNone(job.poll())
                job.terminate()
                _, err = job.communicate(timeout=20)
                found += [form for form in secrets_search.forms(key) if form in err]
                self.assertEqual(found, [])
                self.assertGreater(looked, 10)


if __name__ == "__main__":
    if slurm_box.missing():
        print(f"skipped: {slurm_box.missing()} (sh tools/setup.sh)")
        sys.exit(77)
    at = sys.argv.index("--program")
    PROGRAM = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    with tempfile.TemporaryDirectory(prefix="holdfast-slurm-") as directory:
        BOX = slurm_box.Box(directory)
        try:
            harness.main()
        finally:
            BOX.stop()
