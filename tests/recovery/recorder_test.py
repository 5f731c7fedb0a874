"""What programs learn from the C library, and do to files, is the same after a recovery (docs/recorder.md).

    recorder_test.py BUILD CLOCKS FILES NAMES
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "launcher"))
import jobs  # noqa: E402
import side_by_side  # noqa: E402
from some import some, stories_of  # noqa: E402

BUILD, CLOCKS, FILES, NAMES = (Path(sys.argv.pop(1)).resolve() for _ in range(4))
CLEANING, ASKED, SCRATCH, KEPT, ORDERS_READ, ADDED, UNCUT, OWN_FILES, PARTS, MOVED, TREES, LISTED = (NAMES.with_name(f"recovery_{name}") for name in ("cleaning", "asked", "scratch", "kept", "orders_read", "added", "uncut", "own_files", "parts", "moved", "trees", "listed"))
LIBRARY = NAMES.parent.parent / "lib/libmpi_abi.so.1"
HERE = Path(__file__).resolve().parent
LARGE = " " * (1 << 20)  # more than is kept of a file
KILLS = "kill:random,rate=15/s,seed={},max=6"

READS_AND_PRINTS = r'''
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    FILE* log = fopen(argv[1], "r");
    getc(log);
    fclose(log);
    for (int i = 0; i < 3; ++i) fprintf(stderr, "line %d\n", i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) fclose(fopen(argv[1], "w"));
  for (int i = 0; i < 50; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
'''

ALL_ADD = r'''
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE *kept = fopen(argv[1], "a"), *held_back = fopen(argv[1], "a");
  for (int i = 0; i < 40; ++i) {
    FILE* opened = fopen(argv[1], "a");
    fprintf(opened, "opened of rank %d in round %d\n", rank, i);
    fclose(opened);
    fprintf(kept, "kept of rank %d in round %d\n", rank, i);
    fflush(kept);
    usleep(3000); /* else it is over before it is killed */
    fprintf(held_back, "held back of rank %d in round %d\n", rank, i);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  fclose(held_back);
  MPI_Finalize();
}
'''

TURNS = r'''
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, ranks, count, any = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int held = open(argv[1], O_RDWR);
  for (int i = 0; i < 60; ++i) {
    if (i % ranks == rank) {
      FILE* file = fopen(argv[1], "r+");
      if (fscanf(file, "%d", &count) != 1) return 3;
      rewind(file);
      fprintf(file, "%04d", count + 1);
      fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(5000); /* the node is lost among the turns */
  }
  if (rank == 0) MPI_Send(&any, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&any, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) usleep(500000); /* the node is lost between the receiving and the writing */
  if (rank == 1 && pwrite(held, "last", 4, 6) != 4) return 3;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
'''

OVERTAKEN = r'''
#include <fcntl.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>
enum { MANY = 600 }; /* more than most calls send */
int main(int argc, char** argv) {
  int rank, any = 0;
  MPI_Request sends[MANY];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int held = open(argv[1], O_RDWR), finished = strcmp(argv[2], "finished") == 0;
  if (rank == 1) {
    for (int i = 0; i < MANY; ++i) MPI_Send_init(&any, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &sends[i]);
    if (pwrite(held, "old!", 4, 0) != 4) return 3;
    MPI_Startall(MANY, sends);
    if (!finished) usleep(500000); /* the node is lost here */
    if (!finished && pwrite(held, "last", 4, 4) != 4) return 3;
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
  }
  if (rank == 0) {
    for (int i = 0; i < MANY; ++i) MPI_Recv(&any, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (pwrite(held, "new!", 4, 0) != 4) return 3;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 1 && finished) usleep(500000); /* or here */
  if (rank == 1 && finished && pwrite(held, "last", 4, 4) != 4) return 3;
}
'''

ELSEWHERE = r'''
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, rank;
static void await_turn(int own) {
  pthread_mutex_lock(&mutex);
  while (turn != own) pthread_cond_wait(&turned, &mutex);
}
static void give_turn(int to) {
  turn = to;
  pthread_cond_signal(&turned);
  pthread_mutex_unlock(&mutex);
}
static void* call(void* name) {
  for (int i = 0; i < 8; ++i) {
    await_turn(1);
    MPI_Barrier(MPI_COMM_WORLD);
    long seen = -1;
    int file = open(name, O_RDONLY);
    if (rank == 1 && pread(file, &seen, sizeof seen, 0) == sizeof seen) printf("%ld\n", seen);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    give_turn(0);
  }
  return NULL;
}
int main(int argc, char** argv) {
  int level;
  pthread_t caller;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int file = rank == 0 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
  pthread_create(&caller, NULL, call, argv[1]);
  for (int i = 0; i < 8; ++i) {
    await_turn(0);
    long count = 0;
    if (rank == 0 && pread(file, &count, sizeof count, 0) >= 0) ++count;
    if (rank == 0 && pwrite(file, &count, sizeof count, 0) != sizeof count) return 3;
    give_turn(1);
  }
  pthread_join(caller, NULL);
  MPI_Finalize();
}
'''

LISTS = r'''
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int is_file(const struct dirent* entry) { return strcmp(entry->d_name, "file") == 0; }
static int list_and_remove(const char* path, int by_scandir) {
  if (by_scandir) {
    struct dirent** found;
    int count = scandir(path, &found, is_file, alphasort);
    if (count < 0) return 1;
    char file[4200];
    snprintf(file, sizeof file, "%s/file", path);
    unlink(file);
    for (int i = 0; i < count; ++i) free(found[i]);
    free(found);
    return 0;
  }
  DIR* directory = opendir(path);
  if (!directory) return 1;
  for (struct dirent* entry; (entry = readdir(directory));) {
    if (is_file(entry) && unlinkat(dirfd(directory), "file", 0) != 0) return 1;
  }
  closedir(directory);
  return 0;
}
int main(int argc, char** argv) {
  int rank;
  char path[4096], file[4200];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 30; ++i) {
    snprintf(path, sizeof path, "%s/made_%d", argv[1], i % 3);
    snprintf(file, sizeof file, "%s/file", path);
    if (rank == 1 && (mkdir(path, 0755) != 0 || close(creat(file, 0644)) != 0)) perror(path), MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      struct stat status;
      if (i % 2 == 0 && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))) MPI_Abort(MPI_COMM_WORLD, 4);
      for (volatile int k = 0; k < 5000000; ++k); /* a replay is mostly here */
      if (list_and_remove(path, i % 4 < 2) != 0) perror(path), MPI_Abort(MPI_COMM_WORLD, 5);
      if (rmdir(path) != 0) perror(path), MPI_Abort(MPI_COMM_WORLD, 6);
      printf("%d\n", i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
'''

COUNTS = r'''
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 50; ++i) {
    FILE* file = fopen(argv[1], "r+");
    int count = getc(file);
    fseek(file, argv[2] ? i : 0, SEEK_SET);
    putc(argv[2] ? 'x' : count + 1, file);
    fclose(file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
'''

SNAPSHOTS = r'''
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, open_files = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 40; ++i) {
    char name[600];
    snprintf(name, sizeof name, "%s/%d_%d", argv[1], rank, i);
    FILE* file = fopen(name, "w");
    fprintf(file, "%d\n", i);
    fclose(file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int fd = 512; fd < 1024; ++fd) open_files += fcntl(fd, F_GETFD) != -1;
  printf("%d\n", open_files);
  MPI_Finalize();
}
'''


class Recorder(unittest.TestCase):
    def run_killed(self, program, ranks=3, seed=1, **more):
        outcome = jobs.run(BUILD, ranks, program, inject=[KILLS.format(seed)], timeout_s=60, **more)
        self.assertGreater(outcome.kills, 0, outcome.shell_line())
        return outcome

    def check_clocks(self, outcome):
        self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
        self.assertNotIn("differ", outcome.stderr, outcome.shell_line())
        text = outcome.stdout.decode()
        self.assertEqual(len(re.findall(r"^round \d+:", text, re.M)), 300, text[-500:])
        self.assertEqual(len(set(re.findall(r"process (\d+)", text))), 1, "rank 0 has one process id")
        times = [float(t) for t in re.findall(r"round \d+: ([\d.]+) s", text)]
        self.assertEqual(times, sorted(times), "its clock does not go back")

    def test_clocks_and_random_numbers_say_the_same(self):
        for seed in some(range(1, 7), 3):
            self.check_clocks(self.run_killed([CLOCKS, 300], seed=seed))

    def test_on_several_nodes(self):
        for seed in some(range(1, 4), 2):
            self.check_clocks(self.run_killed([CLOCKS, 300], seed=seed, nodes=3))

    def test_after_the_loss_of_a_node(self):
        for seed in some(range(1, 4), 2):
            outcome = jobs.run(BUILD, 3, [CLOCKS, 300], nodes=3, options=["--spares", "1"], timeout_s=60,
                               inject=[f"node:random,rate=8/s,seed={seed},max=1"])
            self.assertIn("is lost", outcome.stderr, outcome.shell_line())
            self.check_clocks(outcome)

    def test_without_it_they_do_not(self):
        outcomes = [self.run_killed([CLOCKS, 300], seed=seed, options=["--record-libc", "no"]) for seed in range(1, 3)]
        self.assertTrue(any(o.exit_code != 0 or "differ" in o.stderr for o in outcomes))

    def test_in_a_wrapper(self):
        for words in (["bash", "-c", f"date > /dev/null; {CLOCKS} 300; date > /dev/null; true"],
                      ["sh", "-c", f"echo $$ > /dev/null; {CLOCKS} 300"]):
            self.check_clocks(self.run_killed(words))

    def test_python(self):
        self.check_python()

    def test_python_that_calls_mpi_in_a_child(self):
        self.check_python("forked")

    def python_clocks(self, directory, *words):
        (Path(directory) / "told.py").write_text("what = 'imported'\n")
        subprocess.run(["/usr/bin/python3", "-m", "compileall", "-q", directory], check=True)
        return ["/usr/bin/python3", HERE / "programs/python_clocks.py", LIBRARY, 40, directory, *words]

    def check_python(self, *words):
        for seed in some(range(1, 4), 2):
            with tempfile.TemporaryDirectory() as directory:
                outcome = self.run_killed(self.python_clocks(directory, *words), seed=seed)
            self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
            self.assertNotIn("differ", outcome.stderr)
            lines = [line.split() for line in outcome.stdout.decode().splitlines()]
            self.assertEqual([line[0] for line in lines], [str(i) for i in range(40)])
            for same in (1, 2, 5):  # when it began, what it drew, its process id
                self.assertEqual(len({line[same] for line in lines}), 1, lines[:3])

    @unittest.skipIf(subprocess.run(["unshare", "-T", "--monotonic", "1", "true"], capture_output=True).returncode != 0,
                     "the system gives no process clocks of its own")
    def test_on_a_host_that_has_been_up_longer_or_shorter(self):
        other = "exec unshare -T --monotonic 5000000 --boottime 5000000 \"$@\""
        for first, later in (("exec \"$@\"", other), (other, "exec \"$@\"")):
            for python in False, True:
                with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as modules:
                    program = self.python_clocks(modules) if python else [CLOCKS, 300]
                    script = f"if mkdir {directory}/$HOLDFAST_RANK 2> /dev/null; then {first}; else {later}; fi"
                    outcome = self.run_killed(["sh", "-c", script, "sh", *program])
                self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
                self.assertNotIn("differ", outcome.stderr)
                if not python:
                    self.check_clocks(outcome)
                    self.assertLess(float(re.findall(r"^round 299: ([\d.]+) s", outcome.stdout.decode(), re.M)[0]), 1000)

    def test_python_removes_trees_of_others(self):
        program = ["/usr/bin/python3", HERE / "programs/python_files.py", LIBRARY]
        for at in 200, 300, 400:
            with tempfile.TemporaryDirectory() as directory:
                (Path(directory) / "of_before").mkdir()
                outcome = jobs.run(BUILD, 2, program + [directory, 60], inject=[f"kill:rank=0,at={at}ms", f"kill:rank=0,at={at + 250}ms"])
                self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
                self.assertGreater(outcome.kills, 0, outcome.shell_line())
                self.assertEqual(outcome.stdout.decode().splitlines(), [f"{i} True False" for i in range(60)])
                self.assertEqual(os.listdir(directory), [])

    def test_directories_that_are_listed_and_removed(self):
        with tempfile.TemporaryDirectory() as name:
            directory, made = Path(name), Path(name) / "made"
            program = self.build(LISTS, directory)
            made.mkdir()
            for seed in some(range(12), 3):
                self.check_trees([program, made], made, f"random,rate=25/s,seed={seed},max=8")

    def test_trees_that_another_rank_removes(self):
        with tempfile.TemporaryDirectory() as directory:
            for seed in some(range(12), 2):
                self.check_trees([TREES, directory], directory, f"random,rate=25/s,seed={seed},max=8", *(["--nodes", "2"] if seed % 2 else []))
            for call in some(range(3, 92), 2):
                self.check_trees([TREES, directory, "renames"], directory, f"rank=1,call={call}")

    def check_trees(self, program, directory, kill, *options):
        outcome = jobs.run(BUILD, 2, program, options=options, inject=[f"kill:{kill}"])
        self.assertEqual((outcome.exit_code, outcome.stdout.split()), (0, [b"%d" % i for i in range(30)]), outcome.shell_line() + outcome.stderr)
        self.assertEqual(os.listdir(directory), [], outcome.shell_line())

    def test_python_leaves_trees_of_others(self):
        program = ["/usr/bin/python3", HERE / "programs/python_tree.py", LIBRARY]
        with tempfile.TemporaryDirectory() as directory:
            outcome = jobs.run(BUILD, 2, program + [directory], inject=["kill:rank=0,call=4"])
            self.assertEqual((outcome.exit_code, outcome.kills), (0, 1), outcome.shell_line() + outcome.stderr)
            files = [str(Path(directory) / "tree" / name) for name in ("below/file", "file")]
            self.assertEqual(outcome.stdout.decode(), f"{files} 1\n", outcome.stderr)
            self.assertEqual(os.listdir(directory), [])

    def test_files(self):
        for seed in some(range(1, 7), 3):
            with tempfile.TemporaryDirectory() as directory:
                outcome = self.run_killed([FILES, directory], seed=seed)
                self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
                self.assertNotIn("differ", outcome.stderr)
                log = (Path(directory) / "rank1/log").read_text()
                self.assertEqual(log, "".join(f"{i}\n" for i in range(40)), "added to once a round")

    def test_names_of_files(self):
        def found(directory):
            return {p.relative_to(directory).as_posix(): os.readlink(p) if p.is_symlink() else p.read_text() if p.is_file() else None
                    for p in Path(directory).rglob("*")}

        def run(seed=None):
            with tempfile.TemporaryDirectory() as directory:
                for rank in range(3):
                    (Path(directory) / f"rank{rank}").mkdir()
                    (Path(directory) / f"rank{rank}/md.log").write_text("of an earlier job\n")
                outcome = jobs.run(BUILD, 3, [NAMES, directory]) if seed is None else self.run_killed([NAMES, directory], seed=seed)
                self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
                self.assertNotIn("differ", outcome.stderr)
                return found(directory)

        wanted = run()
        self.assertEqual(wanted["rank0/#md.log.1#"], "of an earlier job\n")
        self.assertEqual(wanted["rank0/case1/log"], "".join(f"{i}\n" for i in range(1, 30, 3)))
        seed = int(os.environ.get("HOLDFAST_SEED", 1))
        for seed in some(range(seed, seed + 6), 3):
            self.assertEqual(run(seed), wanted, f"HOLDFAST_SEED={seed}")

    def test_what_another_rank_writes_stays(self):
        rounds = 1200
        lines = "".join(f"{i}\n" for i in range(rounds))
        for call in 150, 300:
            with tempfile.TemporaryDirectory() as name:
                directory = Path(name)
                for left in ["out_0", "out_1", "log_1"] + [f"late_{i}" for i in range(rounds)]:
                    (directory / left).write_text("of an earlier job\n")
                outcome = jobs.run(BUILD, 2, [CLEANING, directory], inject=[f"kill:rank=0,call={call}"])
                self.assertEqual((outcome.exit_code, outcome.kills), (0, 1), outcome.shell_line() + outcome.stderr)
                wanted = {"out_0": "".join(f"{i}\n" for i in range(rounds // 2)), "out_1": lines, "log_1": lines, "log_1.bak": "of an earlier job\n"}
                wanted |= {f"late_{i}": f"{i}\n" for i in range(rounds)}
                self.assertEqual({p.name: p.read_text() for p in directory.iterdir()}, wanted)

    def test_files_in_a_directory_that_is_gone(self):
        seed = int(os.environ.get("HOLDFAST_SEED", 1))
        for seed in some(range(seed, seed + 4), 2):
            with tempfile.TemporaryDirectory() as directory:
                kills = [f"kill:rank={seed % 3},call={call}" for call in (10 + 7 * seed % 30, 45 + 11 * seed % 30)]
                outcome = jobs.run(BUILD, 3, [SCRATCH, directory], inject=kills)
                self.assertEqual(outcome.exit_code, 0, f"HOLDFAST_SEED={seed}: " + outcome.shell_line() + outcome.stderr)
                self.assertGreater(outcome.kills, 0, outcome.shell_line())
                bytes_of = [3 * (5 * len(f"{i}\n") + 4) for i in range(40)]
                self.assertEqual(outcome.stdout.decode().splitlines(), [f"round {i}: {n} bytes" for i, n in enumerate(bytes_of)])
                self.assertEqual(os.listdir(directory), [])

    def test_files_that_do_not_stay(self):
        seed = int(os.environ.get("HOLDFAST_SEED", 1))
        for seed in some(range(seed, seed + 4), 2):
            with tempfile.TemporaryDirectory() as directory:
                (Path(directory) / "state_0").write_text("41\n")
                kills = [f"kill:rank={(seed + i) % 3},call={call}" for i, call in enumerate((12 + 5 * seed % 40, 30 + 7 * seed % 30))]
                nodes = dict(nodes=3, options=["--spares", "1"]) if seed % 4 == 0 else {}
                outcome = jobs.run(BUILD, 3, [KEPT, directory], inject=kills, **nodes)
                self.assertEqual(outcome.exit_code, 0, f"HOLDFAST_SEED={seed}: " + outcome.shell_line() + outcome.stderr)
                self.assertGreater(outcome.kills, 0, outcome.shell_line())
                orders = 3 * sum(sum(range(i, i + 1000)) for i in range(30))
                parts = sum(sum(range(i * 100 + rank, i * 100 + rank + 20)) for i in range(30) for rank in range(3))
                self.assertEqual(outcome.stdout.decode(), f"{orders} {parts + 42 + 43}\n")
                self.assertEqual({p.name: p.read_text()[:5] for p in Path(directory).iterdir()}, {"state_0": "43\n", "orders": "29\n30"})

    def test_others_read_what_was_written_last(self):
        with tempfile.TemporaryDirectory() as directory:
            outcome = jobs.run(BUILD, 2, [ORDERS_READ, directory], inject=["kill:rank=0,call=41"])
            self.assertEqual((outcome.exit_code, outcome.kills), (0, 1), outcome.shell_line() + outcome.stderr)
            self.assertEqual(outcome.stdout.decode().split(), [str(i) for i in range(25)])
            self.assertEqual((Path(directory) / "orders").read_text(), "24\nmore\n")

    def test_files_that_one_rank_adds_to(self):
        seed = int(os.environ.get("HOLDFAST_SEED", 1))
        for seed in some(range(seed, seed + 6), 3):
            with tempfile.TemporaryDirectory() as name:
                directory = Path(name)
                for old in "old", "kept":
                    (directory / old).write_text("1000\n")
                kills = [f"kill:rank=0,call={3 + 5 * seed % 30}", f"kill:rank=0,at={120 + 7 * seed % 60}ms"]
                options = ["--nodes", "2", "--protocol", "optimist"] if seed % 3 == 0 else []
                outcome = jobs.run(BUILD, 2, [ADDED, directory], inject=kills, options=options)
                self.assertEqual((outcome.exit_code, outcome.kills > 0), (0, True), f"HOLDFAST_SEED={seed}: " + outcome.shell_line() + outcome.stderr)
                lines = "".join(f"{i}\n" for i in range(40))
                wanted = {"old": "1000\n" + lines, "new": lines, "patched": "".join(f"{chr(97 + i % 26)}0" for i in range(40)), "begun": lines, "begun_too": lines, "emptied": "".join(f"{i}\n" for i in range(5, 40)), "descriptor": lines, "kept": "1000\n" + "".join(f"{i:0200}\n" for i in range(40))}
                self.assertEqual({p.name: p.read_text() for p in directory.iterdir()}, wanted, f"HOLDFAST_SEED={seed}")

    def check_moved(self, mode, wanted, kills=("rank=0,call=20", "rank=1,call=30")):
        """`wanted`: what each rank leaves where an earlier job has left a log, by name."""
        for kill in kills:
            with tempfile.TemporaryDirectory() as name:
                directory = Path(name)
                for rank in range(2):
                    (directory / f"log{rank}").write_text("1000\n" * 100)
                outcome = jobs.run(BUILD, 2, [MOVED, directory, mode], inject=[f"kill:{kill}"] if kill else [])
                self.assertEqual((outcome.exit_code, outcome.kills), (0, 1), outcome.shell_line() + outcome.stderr)
                self.assertEqual({p.relative_to(directory).as_posix(): p.read_text() if p.is_file() else None for p in directory.rglob("*")},
                                 {name.format(rank): text for rank in range(2) for name, text in wanted.items()}, outcome.shell_line())

    def test_logs_that_are_rotated(self):
        self.check_moved("rotated", {"next{}": "".join(f"{i}\n" for i in range(20, 30))})

    def test_a_log_that_is_renamed_while_it_is_open(self):
        self.check_moved("renamed", {"next{}": "1000\n" * 100 + "".join(f"{i}\n" for i in range(30))})

    def test_a_rank_that_is_killed_behind_a_renaming(self):
        self.check_moved("renamed_last", {"next{}": "1000\n" * 100 + "".join(f"{i}\n" for i in range(30)), "killed": None}, [None])

    def test_a_log_that_is_cut_while_it_is_open(self):
        self.check_moved("cut", {"log{}": "106\n" + "".join(f"{i}\n" for i in range(11, 30))})

    def test_directories_that_are_renamed(self):
        lines = "".join(f"{i}\n" for i in range(30))
        self.check_moved("directory", {"log{}": "1000\n" * 100, "next{}": None, "next{}/open": lines, "log{}.state": None, "log{}.state/in29": "29\n"})

    def test_directories_that_are_synced(self):
        self.check_moved("synced", {"log{}": "1000\n" * 100})

    def test_files_are_not_emptied_again(self):
        for kill in "rank=1,call=4", "rank=0,call=4", "rank=1,at=30ms", "rank=1,call=3", "rank=0,call=3":
            with tempfile.TemporaryDirectory() as name:
                directory = Path(name)
                for old in "result", "end":
                    (directory / old).write_text("of an earlier job\n" * 10)
                outcome = jobs.run(BUILD, 2, [UNCUT, directory], inject=[f"kill:{kill}"])
                self.assertEqual((outcome.exit_code, outcome.kills), (0, 1), outcome.shell_line() + outcome.stderr)
                self.assertEqual(outcome.stdout, b"20000 lines\n", outcome.shell_line())
                wanted = {"result": "the result of a week\n", "field": "HEADER\nrank 1\n", "lines": "".join(f"{i}\n" for i in range(20000)),
                          "end": "\0\0\0\x004\0\0\0\x009\0\0\0\x0014"}
                self.assertEqual({p.name: p.read_text() for p in directory.iterdir()}, wanted, outcome.shell_line())

    def own_files(self, inject, *more):
        with tempfile.TemporaryDirectory() as directory:
            outcome = jobs.run(BUILD, 3, [OWN_FILES, directory, *more], inject=inject, timeout_s=60)
            self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
            return sorted(outcome.stdout.splitlines()), {p.name: p.read_bytes() for p in Path(directory).iterdir()}, outcome

    def check_own_files(self, kills, *more):
        printed, files, _ = self.own_files([], *more)
        for kill in kills:
            with self.subTest(kill=kill):
                printed_again, files_again, outcome = self.own_files([f"kill:{kill}"], *more)
                self.assertEqual(printed_again, printed, outcome.shell_line() + outcome.stderr)
                self.assertEqual({name for name in files_again.keys() | files.keys() if files_again.get(name) != files.get(name)}, set(), outcome.shell_line())

    def test_what_a_rank_does_to_its_own_files(self):
        self.check_own_files(["rank=0,call=31"])

    def test_own_files_at_any_time(self):
        self.check_own_files(some(["rank=0,call=9", "rank=1,call=30", *(f"random,rate=25/s,seed={seed},max=4" for seed in range(1, 7))], 2))

    def test_own_files_that_a_child_changes(self):
        self.check_own_files(["rank=2,call=4", "rank=2,call=40"], "child")

    def parts(self, inject=(), options=()):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            (directory / "old").write_bytes((5).to_bytes(8, "little") + b"of an earlier job\n")
            (directory / "large").write_bytes(bytes(range(256)) * 8000)
            outcome = jobs.run(BUILD, 3, [PARTS, directory], inject=inject, options=options, timeout_s=60)
            self.assertEqual(outcome.exit_code, 0, outcome.shell_line() + outcome.stderr)
            return outcome, {p.name: p.read_bytes() for p in directory.iterdir()}

    def check_parts(self, kills, options=()):
        undisturbed, files = self.parts()
        for kill in kills:
            with self.subTest(kill=kill, options=options):
                outcome, files_again = self.parts([kill], options)
                self.assertEqual(outcome.stdout, undisturbed.stdout, outcome.shell_line() + outcome.stderr)
                self.assertEqual({name for name in files_again.keys() | files.keys() if files_again.get(name) != files.get(name)}, set(), outcome.shell_line())

    def test_files_that_several_ranks_write(self):
        self.check_parts([f"kill:rank={rank},call={call}" for rank, call in [(0, 14), *some([(0, 9), (1, 18), (2, 5), (1, 9), (0, 18), (2, 16)], 2)]])

    def test_files_that_several_ranks_write_at_any_time(self):
        self.check_parts([f"kill:random,rate=60/s,seed={seed},max=8" for seed in some(range(1, 13), 3)])

    def test_files_that_several_ranks_of_several_nodes_write(self):
        kills = [f"kill:random,rate=40/s,seed={seed},max=5" for seed in range(1, 5)]
        # Under optimist, who depended on what is lost with a node has written by then: files do not wait (recorder.md, Files).
        for protocol, lost in ("pessimist", some(["node:1,at=60ms", "node:0,at=90ms"], 1)), ("optimist", []):
            self.check_parts(lost + some(kills, 1), ["--nodes", "3", "--spares", "1", "--protocol", protocol])

    def test_a_file_that_ranks_write_in_turn_when_a_node_is_lost(self):
        """Long before, in, and behind the turns, where nothing follows its last event but a writing that it had not come to."""
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program, file = self.build(TURNS, directory), directory / "file"
            for protocol, at in some([("pessimist", 200), ("pessimist", 300), ("optimist", 200), ("optimist", 300)], 2) + some([("pessimist", 800), ("optimist", 800)], 1):
                file.write_text("0000      ")
                outcome = jobs.run(BUILD, 3, [program, file], options=["--nodes", "3", "--spares", "1", "--protocol", protocol], inject=[f"node:1,at={at}ms"])
                self.assertEqual((outcome.exit_code, file.read_text()), (0, "0060  last"), outcome.shell_line() + outcome.stderr)

    def test_a_file_that_is_written_over_before_a_node_is_lost(self):
        """By a call that sends much, and where the others have left MPI."""
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program, file = self.build(OVERTAKEN, directory), directory / "file"
            for when in "running", "finished":
                file.write_text("XXXXYYYY")
                outcome = jobs.run(BUILD, 3, [program, file, when], options=["--nodes", "3", "--spares", "1"], inject=["node:1,at=300ms"])
                self.assertEqual((outcome.exit_code, file.read_text(), outcome.kills), (0, "new!last", 1), outcome.shell_line() + outcome.stderr)

    def test_what_a_directory_lists(self):
        left = {f"kept_1_{i}" for i in range(24)} | {f"made_{rank}_{i}" for rank in (1, 2) for i in (22, 23)}
        drawn = random.Random(os.environ.get("HOLDFAST_SEED"))
        kills = [([f"kill:rank=1,call={drawn.randrange(2, 78)}", f"kill:rank=2,call={drawn.randrange(2, 54)}"], []) for _ in range(3)]
        lost = [([f"node:{drawn.randrange(1, 3)},at={drawn.randrange(20, 120)}ms"], ["--nodes", "3", "--spares", "1", "--protocol", protocol]) for protocol in ("pessimist", "optimist")]
        for inject, options in kills + lost:
            with tempfile.TemporaryDirectory() as directory:
                outcome = jobs.run(BUILD, 3, [LISTED, directory], options=options, inject=inject)
                self.assertEqual((outcome.exit_code, outcome.stdout, {file.name for file in Path(directory).iterdir()}), (0, b"191364940\n", left), outcome.shell_line() + outcome.stderr)

    def test_a_file_of_the_main_thread_where_another_one_calls_mpi(self):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program = self.build(ELSEWHERE, directory)
            for call in some(range(4, 15), 3):
                outcome = jobs.run(BUILD, 2, [program, directory / f"count{call}"], inject=[f"kill:rank=0,call={call}"])
                self.assertEqual((outcome.exit_code, outcome.kills, outcome.stdout.split()), (0, 1, [b"%d" % i for i in range(1, 9)]), outcome.shell_line() + outcome.stderr)

    def test_a_large_file_that_is_read_and_written(self):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program, file = self.build(COUNTS, directory), directory / "file"
            for counts in False, True:
                file.write_text(LARGE + "!")
                outcome = jobs.run(BUILD, 1, [program, file, *([] if counts else ["places"])], inject=["kill:rank=0,call=20"])
                self.assertEqual(outcome.exit_code, 1 if counts else 0, outcome.shell_line() + outcome.stderr)
                self.assertEqual(f"cannot be recovered: {file} was changed" in outcome.stderr, counts, outcome.stderr)
                if not counts:
                    self.assertEqual(file.read_text(), "x" * 50 + LARGE[50:] + "!")

    def test_a_log_that_all_ranks_add_to(self):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program, log = self.build(ALL_ADD, directory), directory / "log"
            wanted = sorted(["of an earlier job", *(f"{how} of rank {rank} in round {i}" for rank in range(3) for i in range(40) for how in ("opened", "kept", "held back"))])
            for kill in some(["rank=0,call=9", "rank=1,call=30", *(f"random,rate=40/s,seed={seed},max=5" for seed in range(1, 9))], 3):
                log.write_text("of an earlier job\n")
                outcome = jobs.run(BUILD, 3, [program, log], inject=[f"kill:{kill}"])
                self.assertEqual((outcome.exit_code, outcome.kills > 0), (0, True), outcome.shell_line() + outcome.stderr)
                self.assertEqual(sorted(log.read_text().splitlines()), wanted, outcome.shell_line() + outcome.stderr)

    def build(self, text, directory):
        source, program = directory / "p.c", directory / "p"
        source.write_text(text)
        subprocess.run([BUILD / "bin/mpicc", source, "-o", program, "-lpthread"], check=True)
        return program

    def test_finished_files_take_no_room_twice(self):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program = self.build(SNAPSHOTS, directory)
            for kill in [], ["kill:rank=0,call=36"]:
                outcome = jobs.run(BUILD, 2, [program, directory], inject=kill)
                self.assertEqual((outcome.exit_code, outcome.kills, set(outcome.stdout.split())), (0, len(kill), {b"0"}), outcome.shell_line() + outcome.stderr)
            self.assertEqual({(directory / f"{rank}_{i}").read_text() for rank in range(2) for i in range(40)}, {f"{i}\n" for i in range(40)})

    def test_the_reason_is_seen_behind_what_was_printed_before(self):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            program = self.build(READS_AND_PRINTS, directory)
            (directory / "log").write_text(LARGE + "of an earlier job\n")
            outcome = jobs.run(BUILD, 2, [program, directory / "log"], inject=["kill:rank=0,call=20"])
            self.assertEqual(outcome.exit_code, 1, outcome.stderr)
            self.assertIn(f"cannot be recovered: {directory}/log was changed", outcome.stderr)

    def test_a_stream_that_was_not_read(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "file"
            for word, padding, code in ("asks", LARGE, 0), ("reads", "", 0), ("reads", LARGE, 1):
                file.write_text("1000\n" + padding)
                outcome = jobs.run(BUILD, 1, [ASKED, file, word], inject=["kill:rank=0,call=30"])
                self.assertEqual(outcome.exit_code, code, outcome.shell_line() + outcome.stderr)
                self.assertEqual((file.read_text(), Path(f"{file}.before").read_text()), ("2000\n", "1000\n" + padding))
                self.assertEqual("cannot be recovered" in outcome.stderr, code == 1, outcome.stderr)

    def test_no_name(self):
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "no_name"
            subprocess.run(["cc", "-w", "-O0", HERE / "programs/no_name.c", "-o", program], check=True)
            outcome = jobs.run(BUILD, 1, [program])
            self.assertEqual((outcome.exit_code, outcome.stdout, outcome.stderr), (0, b"ok\n", ""))

    def test_a_file_that_another_one_has_replaced(self):
        for padding, code in ("", 0), (LARGE, 1):
            with tempfile.TemporaryDirectory() as directory:
                read = Path(directory) / "read"
                read.write_text("1000\n" + padding)
                outcome = self.run_killed([FILES, directory, "over", read])
                self.assertEqual(outcome.exit_code, code, outcome.stderr)
                self.assertEqual(f"cannot be recovered: {read} was changed" in outcome.stderr, code == 1, outcome.stderr)

    def test_a_static_program_is_named(self):
        with tempfile.TemporaryDirectory() as directory:
            source, program = Path(directory) / "p.c", Path(directory) / "p"
            source.write_text("int main(void) { return 0; }\n")
            subprocess.run(["cc", "-static", source, "-o", program], check=True)
            outcome = jobs.run(BUILD, 1, [program])
            self.assertIn("not recorded, and may differ after a recovery: the program is linked statically", outcome.stderr)
            quiet = jobs.run(BUILD, 1, [program], options=["--record-libc", "no"])
            self.assertEqual(quiet.stderr, "")

    def test_a_wrapper_that_takes_it_away_is_named(self):
        taken = ["sh", "-c", f"LD_PRELOAD= exec {CLOCKS} 10"]
        outcome = jobs.run(BUILD, 3, taken)
        self.assertEqual(outcome.exit_code, 0, outcome.stderr)
        self.assertEqual(outcome.stderr.count("not recorded, and may differ after a recovery: the recorder"), 1, outcome.stderr)
        for options in ["--record-libc", "no"], ["--protocol", "none"]:
            self.assertEqual(jobs.run(BUILD, 3, taken, options=options).stderr, "")
        self.assertEqual(jobs.run(BUILD, 3, ["sh", "-c", f"exec {CLOCKS} 10"]).stderr, "")

    def test_who_has_it(self):
        for options, has in ([], True), (["--record-libc", "no"], False), (["--protocol", "none"], False):
            outcome = jobs.run(BUILD, 1, ["sh", "-c", "echo $LD_PRELOAD"], options=options)
            self.assertEqual(b"holdfast_recorder" in outcome.stdout, has, options)

    def test_a_wrong_word(self):
        outcome = jobs.run(BUILD, 1, ["true"], options=["--record-libc", "maybe"])
        self.assertEqual(outcome.exit_code, 2)
        self.assertIn("--record-libc maybe: yes or no", outcome.stderr)


load_tests = stories_of(Recorder, 32)


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)
    side_by_side.main()
