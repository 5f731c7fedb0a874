"""What users type, and what they are told."""

import os
import re
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import harness
from harness import Case


class CommandLine(Case):
    def test_hostname_runs_n_times(self):
        self.expect(0, "-n", 4, "hostname", out=4 * (os.uname().nodename + "\n"))
        self.assertEqual(self.err, "")

    def test_mpirun_habits(self):
        self.expect(0, "-np", 2, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "--map-by", "slot", "--mca",
                    "btl", "^openib", "--mca", "pml", "ob1", "-ppn", 2, "-genv", "A", "5", "sh", "-c", "echo $A", name="mpirun",
                    out="5\n5\n")
        self.assertEqual(len(self.err.splitlines()), 1, self.err)
        for name in ("--allow-run-as-root", "--mca", "--ppn"):
            self.assertEqual(self.err.count(name), 1, self.err)
        for name in ("--oversubscribe", "--bind-to", "--map-by"):
            self.assertNotIn(name, self.err)

    def test_arguments_of_the_program_are_not_ours(self):
        self.expect(0, "-n", 1, "echo", "-n", "4", "--label", "-np", "--", "x", out="4 --label -np -- x")

    def test_attached_values(self):
        self.expect(0, "-n2", "--protocol=none", "echo", "x", out="x\nx\n")

    def test_environment(self):
        show = ["sh", "-c", "echo $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $PMI_RANK "
                            "$PMI_SIZE $A $B $PYTHONHASHSEED"]
        self.run_job("-n", 2, "--nodes", 2, "-x", "A=1", "-x", "B", *show, env={"B": "2"})
        self.assertEqual(sorted(self.out.splitlines()), ["0 2 0 0 2 1 2 0", "1 2 0 1 2 1 2 0"])
        self.expect(0, "-n", 1, *show, env={"PYTHONHASHSEED": "7"}, out="0 1 0 0 1 7\n")

    def test_variables_follow_the_map(self):
        show = ["sh", "-c", "echo $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE "
                            "$MPI_LOCALRANKID/$MPI_LOCALNRANKS"]
        self.run_job("-n", 5, "--nodes", 2, "--map-by", "node", *show)
        self.assertEqual(sorted(self.out.splitlines()), ["0 0/3 0/3", "1 0/2 0/2", "2 1/3 1/3", "3 1/2 1/2", "4 2/3 2/3"])

    def test_bindings(self):
        """Each rank a core, over the nodes that share this machine; a user's own binding counts."""
        cores = sorted(os.sched_getaffinity(0))
        show = ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"]
        self.expect(0, "-n", 1, "--bind-to", "core", "--report-bindings", *show,
                    err=r"^holdfast: rank 0 on \S+: bound to core 0 of socket 0 \(processors? ")
        self.assertEqual(len(self.err.splitlines()), 1)
        self.expect(0, "-n", 2, "--report-bindings", *show, err="rank 1 on .*: not bound, may use cores? 0")
        if len(cores) == 2:
            self.expect(0, "-n", 2, "--nodes", 2, "--bind-to", "core", "--label", *show)
            self.assertEqual(sorted(re.findall(r"\[(\d)\].*\t(\d+)", self.out)), [("0", str(cores[0])), ("1", str(cores[1]))])
        self.expect(1, "-n", 1 + len(cores), "--bind-to", "core", "true",
                    err=f"{1 + len(cores)} ranks are to be bound to .*--oversubscribe")
        self.expect(0, "-n", 1 + len(cores), "--bind-to", "core", "--oversubscribe", "true")

    def test_a_job_that_a_rank_starts(self):
        """It inherits nothing that was the outer rank's."""
        show = ["sh", "-c", "echo $MPI_LOCALRANKID/$MPI_LOCALNRANKS ${LD_PRELOAD:-nothing}"]
        outer = {"MPI_LOCALRANKID": "5", "MPI_LOCALNRANKS": "9", "LD_PRELOAD": "/elsewhere/libholdfast_recorder.so"}
        self.run_job("-n", 2, "--protocol", "none", *show, env=outer)
        self.assertEqual(sorted(self.out.splitlines()), ["0/2 nothing", "1/2 nothing"])

    def test_the_users_signal(self):
        """It goes to those that catch it, and ends nobody else."""
        catches = ["sh", "-c", "trap 'echo caught; exit 0' USR1; echo ready; while :; do sleep 0.05; done"]
        does_not = ["sh", "-c", "echo ready; read line; echo $line"]
        for protocol, told in (("none", 0), ("pessimist", 1)):
            with self.subTest(protocol=protocol):
                job = subprocess.Popen([str(w) for w in (harness.HOLDFAST, "run", "--protocol", protocol, "--nodes", 2, "-n", 1, *does_not, ":", "-n", 1, *catches)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual([job.stdout.readline() for _ in range(2)], [b"ready\n"] * 2)
                os.kill(job.pid, signal.SIGUSR1)
                self.assertEqual(job.stdout.readline(), b"caught\n")
                out, err = job.communicate(b"still here\n", timeout=20)
                self.assertEqual((job.returncode, out), (0, b"still here\n"), err)
                self.assertEqual(err.count(b"SIGUSR1 goes to the ranks that catch it"), told, err)

    def test_huge_pages(self):
        """Asked for in the environment, unless the user says otherwise; what else the variable says stays."""
        show = ["sh", "-c", "echo $GLIBC_TUNABLES"]
        ours, theirs = "glibc.malloc.hugetlb=1", "glibc.malloc.hugetlb=0:glibc.malloc.check=1"
        self.expect(0, "-n", 1, *show, env={"GLIBC_TUNABLES": ""}, out=ours + "\n")
        self.expect(0, "-n", 1, "-x", "GLIBC_TUNABLES=glibc.malloc.check=1", *show, out=f"glibc.malloc.check=1:{ours}\n")
        self.expect(0, "-n", 1, "-x", f"GLIBC_TUNABLES={theirs}", *show, out=theirs + "\n")

    def test_several_programs(self):
        self.run_job("--label", "-n", 2, "-env", "A", "x", "sh", "-c", "echo $A", ":", "-np", 1, "-wdir", "/usr", "pwd")
        self.assertEqual(sorted(self.out.splitlines()), ["[0] x", "[1] x", "[2] /usr"])

    def test_usage_errors(self):
        for words, text in [((), "which program"), (("-n", 0, "ls"), "at least one rank"), (("-n", -3, "ls"), "at least one rank"),
                            *(((option, "x", "ls"), f"{name}: a whole number is wanted, not 'x'") for option, name in
                              (("-n", "--np"), ("--nodes", "--nodes"), ("--spares", "--spares"), ("--heartbeat", "--heartbeat"))),
                            (("-n", "1.5", "ls"), "a whole number is wanted, not '1.5'"), (("-n", 10**12, "ls"), "1000000000000 is too large"),
                             (("--bogus", "ls"), "unknown option --bogus"), (("-Z", "ls"), "unknown option -Z"),
                            (("-n",), "needs a value"), (("-n", 2), "which program"), (("--protocol", "x", "ls"), "none, pessimist or optimist"),
                            (("--log-level", "node", "ls"), "needs a second node"), (("--log-level", "disk", "ls"), "needs a second node"),
                            (("--log-level", "x", "ls"), "process, node, disk, or several of them"),
                            *((("--nodes", 2, "-n", 2, "--log-level", level, "ls"), "process, node, disk, or several of them") for level in
                              ("node+", "+node", "node+node", "node disk", "process+x")),
                            *((("--nodes", 2, "-n", 2, "--protocol", "pessimist", "--log-level", level, "ls"), "need --protocol optimist") for level in
                              ("process+node", "process+disk", "node+process+disk")),
                            (("--nodes", 2, "-n", 2, "--event-dir", "/tmp", "ls"), "only --log-level disk writes there"),
                            (("--spares", "-1", "ls"), "0 to 256"), (("--spares", "1", "--log-level", "process", "ls"), "nothing outlives a node"),
                            (("--spares", "1", "--hosts", "a:2", "-n", 2, "ls"), "1 host is not enough for ranks and 1 spare node"),
                            (("--event-loggers", "-1", "ls"), "--event-loggers -1: 0 to 256"),
                            (("--event-loggers", "2", "--protocol", "none", "ls"), "protocol none has no determinants"),
                            (("--event-loggers", "2", "--log-level", "process", "ls"), "no other node holds determinants"),
                            (("--event-loggers", "1", "--hosts", "a:2", "-n", 2, "ls"), "1 host is not enough for ranks and 1 event logger"),
                            (("--event-loggers", "2", "--spares", 1, "--hosts", "a:2,b", "-n", 2, "ls"),
                             "2 hosts are not enough for ranks, 1 spare node and 2 event loggers"),
                            (("--event-copies", "0", "--nodes", 2, "-n", 2, "ls"), "--event-copies 0: 1 to 8"),
                            (("--event-copies", "2", "ls"), "needs several nodes"),
                            (("--event-copies", "2", "--nodes", 2, "--log-level", "process", "-n", 2, "ls"), "needs several nodes"),
                            (("--event-copies", "3", "--nodes", 2, "--event-loggers", 1, "-n", 2, "ls"), "needs 3 nodes beside .* 3 in all"),
                            (("--node-timeout", "20", "ls"), "300 ms or more"), (("--log-memory", "x", "ls"), "not a size"), (("--restarts", 10001, "ls"), "0 to 10000"),
                            (("--hostfile", "no/such/file", "ls"), "no/such/file: cannot be read"),
                            (("--hosts", "a:x", "ls"), "a:4"),
                            (("--hosts", "a", "--nodes", 2, "ls"), "give one of them"),
                            (("--map-by", "core", "ls"), "node, slot or ppr:N:node"),
                            (("--hosts", "a:2", "-n", 3, "ls"), "only 2 slots.*--oversubscribe"),
                            (("--launcher", "x", "ls"), "auto, local, ssh or slurm"),
                            (("-n", 3, "--nodes", 2, "--map-by", "ppr:1:node", "ls"), "--oversubscribe"),
                            (("--ppn", 1, "--map-by", "node", "--nodes", 2, "ls"), "one of them"),
                            (("--bind-to", "x", "ls"), "core, socket or none"), (("--inject", "kill:rank=1,at=1s", "ls"), "no rank 1"),
                            *((("--no-sender-log", *more, "ls"), f"--no-sender-log recovers nothing: not with {more[0]}") for more in
                              (("--spares", 1), ("--restarts", 3), ("--on-node-loss", "end"), ("--detach",))),
                            (("--no-sender-log", "--protocol", "none", "ls"), "with protocol pessimist only"),
                            (("--large-messages", "x", "ls"), "auto, direct or copied"), (("--eager-limit", "x", "ls"), "not a size"),
                            (("--eager-limit", 12, "ls"), "1K to 64M"), (("--nodes", 0, "ls"), "--nodes 0"), (("-n", 1, "ls", ":"), "which program")]:
            with self.subTest(words=words):
                self.expect(2, *words, err=text)
                self.assertEqual(len(self.err.splitlines()), 1, self.err)
                self.assertTrue(self.err.startswith("holdfast: "), self.err)

    def test_program_not_there_or_not_executable(self):
        with tempfile.TemporaryDirectory() as directory:
            plain = Path(directory) / "plain"
            plain.write_text("text")
            self.expect(127, "-n", 2, "./no-such-program", err="not found")
            self.expect(127, "-n", 2, "no-such-program", err="not found in PATH")
            self.expect(126, "-n", 2, plain, err="not executable")
            self.expect(126, "-n", 2, directory, err="directory")
            self.expect(127, "-n", 2, "plain2", cwd=directory)
            plain.chmod(plain.stat().st_mode | stat.S_IXUSR)
            self.expect(127, "-n", 2, "plain", cwd=directory, err="did you mean ./plain")
            self.expect(126, "-n", 2, "./plain", cwd=directory, err="Exec format error")
            self.assertEqual(len(self.err.splitlines()), 1, self.err)
            plain.write_text("#!/no/such/interpreter -x\n")
            self.expect(127, "-n", 2, "./plain", cwd=directory, err="cannot run .*/plain: its first line names /no/such/interpreter, which is not there")
            self.assertEqual(len(self.err.splitlines()), 1, self.err)

    def expect_refused(self, directory, option, path, why, **more):
        """With one line, and without running anything."""
        ran = Path(directory) / "ran"
        for background in ((), ("--detach",)):
            with self.subTest(option=option, path=path, background=background):
                self.expect(2, *background, option, path, "-n", 1, "touch", ran, out="", err=f"^holdfast: {option}.*{why}", **more)
                self.assertEqual(len(self.err.splitlines()), 1, self.err)
                self.assertFalse(ran.exists())

    def test_files_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            for option in ("--report", "--trace"):
                self.expect_refused(directory, option, place / "no/such", "no/such: No such file or directory")
                self.expect_refused(directory, option, place, "Is a directory")
                if os.geteuid() != 0:
                    closed = place / f"closed{option}"
                    closed.write_text("before")
                    closed.chmod(0o400)
                    self.expect_refused(directory, option, closed, "Permission denied")
            kept = place / "kept"
            kept.write_text("before")
            self.expect(2, "--report", kept, "--trace", place / "no/such", "-n", 1, "true")
            self.assertEqual((kept.read_text(), [p.name for p in place.iterdir() if "closed" not in p.name]), ("before", ["kept"]))
            self.expect(0, "--report", kept, "--trace", "/dev/null", "-n", 1, "true")
            self.assertIn('"exit_code"', kept.read_text())

    def test_in_a_directory_that_was_removed(self):
        with tempfile.TemporaryDirectory() as directory:
            gone = Path(directory) / "gone"
            gone.mkdir()
            here = os.open(gone, os.O_RDONLY | os.O_DIRECTORY)
            gone.rmdir()
            try:
                for option, more in (("--report", ()), ("--trace", ()), ("--wdir", ()), ("--hostfile", ()),
                                     ("--event-dir", ("--nodes", 2, "--log-level", "disk"))):
                    with self.subTest(option=option):
                        done = subprocess.run(self.command(*more, option, "here", "-n", 1, "true"), capture_output=True, timeout=30,
                                              preexec_fn=lambda: os.fchdir(here))
                        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
                        self.assertRegex(done.stderr.decode(), rf"^holdfast: {option} here: the current directory was removed: give a path.*\n$")
                done = subprocess.run(self.command("-n", 1, "--report", gone.parent / "report", "echo", "x"), capture_output=True, timeout=30,
                                      preexec_fn=lambda: os.fchdir(here))
                self.assertEqual((done.returncode, done.stdout), (0, b"x\n"), done.stderr)
            finally:
                os.close(here)
        self.assertFalse(Path("/here").exists())

    def test_help_and_version(self):
        self.expect(0, "--version")
        self.assertRegex(self.out, r"^holdfast \d+\.\d+\.\d+\n$")
        self.expect(0, "--help")
        self.assertIn("--inject", self.out)
        help_text, version = self.out, "holdfast 0"
        for words, text in ((("run", "-help"), help_text), (("run", "-version"), version), (("exec", "--help"), help_text),
                            (("exec", "-h", "program"), help_text), (("exec", "-n", 2, "--version"), version), (("help",), "holdfast top [JOB]"),
                            (("--help",), "holdfast top [JOB]"), (("-h",), "holdfast top [JOB]"), (("-V",), version)):
            with self.subTest(words=words):
                done = subprocess.run([harness.HOLDFAST, *map(str, words)], capture_output=True, timeout=30, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(text, done.stdout)

    def test_short_names(self):
        """Each that --help prints."""
        self.expect(0, "--help")
        names = set(re.findall(r"(?<![\w-])-\w\b", " ".join(re.findall(r"^  (-\S+)", self.out, re.M)).replace(",", " ")))
        values = {"-n": [1], "-c": [1], "-N": [1], "-x": ["A=1"], "-H": ["localhost", "--launcher", "local"], "-f": ["hosts", "--launcher", "local"]}
        self.assertEqual(names, {"-l", "-v", "-V", "-h", *values})
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "hosts").write_text("localhost\n")
            for name in sorted(names):
                with self.subTest(name=name):
                    self.expect(0, name, *values.get(name, []), "echo", "x", cwd=directory)
        self.expect(0, "-lv", "-n1", "echo", "x", out="[0] x\n")
        for words in (("-lx",), ("-elp",), ("-vhosts", "a")):
            self.expect(2, *words, "true", err=f"^holdfast: unknown option {words[0]} ")

    def test_start_line(self):
        self.expect(0, "-n", 2, "--nodes", 2, "true", err="2 ranks on 2 nodes.*pessimist.*log level node")
        self.expect(0, "-n", 1, "-v", "--protocol", "none", "true", err="1 rank on 1 node.*none")
        self.expect(0, "-n", 1, "--no-sender-log", "true", err="1 rank on 1 node.*no sender log: for measurements, nothing survives")


if __name__ == "__main__":
    harness.main()
