"""How jobs end: exit codes, signals, interrupts, deaths of the launcher's own processes; nothing stays behind."""

import os
import signal
import subprocess
import time
import uuid

import harness
from harness import Case, commands_of, processes_of


class Ends(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def test_exit_codes(self):
        self.expect(3, "-n", 3, "sh", "-c", "test $PMI_RANK = 1 && exit 3; sleep 20", err="rank 1 exited with code 3")
        self.assertEqual(len(self.err.splitlines()), 1, self.err)

    def test_signal_without_mpi_ends_the_job(self):
        self.expect(137, "-n", 2, "sh", "-c", "test $PMI_RANK = 1 && kill -9 $$; sleep 20", err="rank 1 was killed by SIGKILL")

    def test_protocol_none(self):
        self.expect(139, "-n", 2, "--protocol", "none", *self.raw("hello", "init", "r1?signal:11", "sleep:20000"),
                    err="rank 1 was killed by SIGSEGV")

    def test_abort(self):
        self.expect(7, "-n", 2, *self.raw("hello", "init", "r1?abort:7", "sleep:20000"), err="rank 1 aborted the job with code 7: told to")

    def test_exit_without_finalize(self):
        self.expect(1, "-n", 2, *self.raw("hello", "init", "r0?exit:0", "sleep:20000"), err="rank 0 exited without calling MPI_Finalize")

    def test_exit_without_init_while_others_call_it(self):
        for late in ("0", "0.5"):
            words = f"test $PMI_RANK = 2 && exec sleep {late}; exec {' '.join(map(str, self.raw('hello', 'init', 'sleep:20000')))}"
            self.expect(1, "-n", 3, "sh", "-c", words, err="rank 2 exited without calling MPI_Init, which rank [01] has called", timeout=15)
        self.expect(0, "-n", 3, "true")

    def test_second_program_of_a_rank_is_refused(self):
        one = " ".join(self.raw("hello", "init", "finalize"))
        self.expect(9, "-n", 1, "sh", "-c", f"{one}; {one}", err="one MPI program a rank")

    def test_stray_children_end(self):
        marker = uuid.uuid4().hex
        self.expect(0, "-n", 2, "sh", "-c", "sleep 300 & setsid sleep 300 & exit 0", env={"LAUNCHER_TEST": marker})
        self.expect_nothing_left(marker)

    def interrupt(self, number, code, words, again=False, at_most=10):
        marker = uuid.uuid4().hex
        job = self.start(*words, marker=marker)
        self.wait_until(lambda: sum("sleep" in c or "raw" in c for c in commands_of(processes_of(marker)).values()) >= 3, "start")
        time.sleep(0.1)
        began = time.monotonic()
        job.send_signal(number)
        if again:
            time.sleep(0.2)
            job.send_signal(number)
        job.communicate(timeout=20)
        self.assertEqual(job.returncode, code)
        self.assertLess(time.monotonic() - began, at_most)
        self.expect_nothing_left(marker)

    def test_ctrl_c(self):
        self.interrupt(signal.SIGINT, 130, ("-n", 3, "sleep", 100), at_most=1.9)

    def test_nohup(self):
        marker = uuid.uuid4().hex
        job = subprocess.Popen(self.command("-n", 2, "sleep", 1.5), env={**os.environ, "LAUNCHER_TEST": marker}, stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGHUP, signal.SIGINT)])
        self.wait_until(lambda: sum("sleep" in c for c in commands_of(processes_of(marker)).values()) >= 2, "start")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGHUP):
            job.send_signal(number)
        self.assertEqual(job.wait(timeout=20), 0)
        self.interrupt(signal.SIGHUP, 129, ("-n", 3, "sleep", 100), at_most=1.9)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM, 143, ("-n", 3, "--nodes", 2, "sleep", 100), at_most=1.9)

    def test_ctrl_c_of_ranks_that_ignore_sigterm(self):
        words = ("-n", 3, "sh", "-c", "trap '' TERM; while :; do sleep 0.2; done")
        self.interrupt(signal.SIGINT, 130, words)
        self.interrupt(signal.SIGINT, 130, words, again=True, at_most=1.9)

    def kill_one(self, which, words):
        marker = uuid.uuid4().hex
        job = self.start(*words, marker=marker)
        self.wait_until(lambda: sum("sleep" in c for c in commands_of(processes_of(marker)).values()) >= 3, "start")
        if which == "head":
            job.kill()
        else:
            agents = [pid for pid, c in commands_of(processes_of(marker)).items() if c.startswith("holdfast agent")]
            self.assertTrue(agents)
            os.kill(agents[0], signal.SIGKILL)
        _, err = job.communicate(timeout=20)
        self.expect_nothing_left(marker)
        return job.returncode, err.decode()

    def test_death_of_the_head(self):
        self.kill_one("head", ("-n", 3, "--nodes", 2, "sh", "-c", "sleep 100; true"))

    def test_death_of_an_agent(self):
        for nodes in (1, 3):
            code, err = self.kill_one("agent", ("-n", 4, "--nodes", nodes, "sh", "-c", "sleep 100; true"))
            self.assertEqual(code, 1)
            self.assertRegex(err, r"node \d is lost: its connection ended; its ranks cannot start again")

    def test_agent_by_hand(self):
        done = subprocess.run([harness.HOLDFAST, "agent"], capture_output=True, close_fds=True)
        self.assertEqual(done.returncode, 2)

    def test_foreign_mpi(self):
        # Any library of that name will do: it is the loaded file that counts.
        marker = f"/tmp/holdfast-test-{uuid.uuid4().hex}"
        os.mkdir(marker)
        library = f"{marker}/libmpi.so.40"
        try:
            source = f"{marker}/x.c"
            with open(source, "w") as file:
                file.write("int x;")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
            script = "sleep 0.3; exit 0"
            self.run_job("-n", 2, "env", f"LD_PRELOAD={library}", "sh", "-c", script)
            self.assertEqual(self.code, 1)
            self.assertIn(library, self.err)
            self.run_job("-n", 2, "env", f"LD_PRELOAD={library}", "sleep", "30")
            self.assertEqual(self.code, 1)
            self.assertIn(library, self.err)
        finally:
            subprocess.run(["rm", "-r", marker], check=True)


if __name__ == "__main__":
    harness.main()
