"""Runs other programs: in a clean environment, with a time limit, and with a sign of life when they take long."""

import os
import signal
import subprocess
import sys
import time

PATIENCE_S = 2  # a command that takes longer says so

KEPT = ("HOME", "USER", "TMPDIR", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR")
KEPT_PREFIXES = ("PIP_", "http", "HTTP", "no_proxy", "NO_PROXY")


def clean_environment(first_in_path=None, extra=None):
    """What a login shell would have: nothing of one MPI (LD_LIBRARY_PATH, OMPI_*, MPIR_*) reaches another."""
    kept = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith(KEPT_PREFIXES)}
    path = [str(first_in_path)] if first_in_path else []
    kept["PATH"] = ":".join(path + ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    kept.setdefault("HOME", "/")
    return {**kept, **(extra or {})}


# Starts processes that compute, of the session that the command after them has: the scheduler gives each session a share.
AMONG_STRANGERS = """
import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        for stream in range(3): os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        while True: pass
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Done:
    """Exit code (None: ended after the time limit), stdout, stderr and seconds of a command."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def why(self):
        """One line on why it failed."""
        if self.code is None:
            return f"no end within {self.seconds:.0f} s"
        lines = [line.strip() for line in (self.err + "\n" + self.out).splitlines()]
        said = [line for line in lines if line and not set(line) <= set("-=*") and not line.startswith("point ")]
        return (said[0] if said else f"exit code {self.code}")[:160]


def run(command, environment, limit_s, label=None, strangers=0):
    """Runs to the end or to the limit, beside so many processes that compute. With a label, says so on stdout and then every few seconds
    while it runs."""
    begun = time.monotonic()
    among = (sys.executable, "-c", AMONG_STRANGERS, strangers) if strangers else ()
    process = subprocess.Popen([str(word) for word in (*among, *command)], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               start_new_session=True)
    sign = Sign(label)
    while True:
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
            break
        except subprocess.TimeoutExpired:
            if time.monotonic() - begun > limit_s:
                out, err = end(process)
                return sign.over(Done(None, out, err, time.monotonic() - begun))
            sign.of_life()
        except KeyboardInterrupt:
            end(process)
            raise
    if strangers:
        end(process)
    return sign.over(Done(process.returncode, out, err, time.monotonic() - begun))


def end(process):
    """Ends a job: asks its launcher first, which knows its ranks, then kills the whole session's group."""
    for what, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, what)
            return process.communicate(timeout=patience)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    return "", ""


class Sign:
    """Dots on the current line while something takes long."""

    def __init__(self, label):
        self.label, self.shown = label, False

    def of_life(self):
        if self.label and not self.shown:
            say(f"{self.label} ", end="")
        self.shown = True
        say(".", end="")

    def over(self, done):
        if self.shown and self.label:
            say(f" {done.seconds:.0f} s")
        return done


def say(text, end="\n"):
    sys.stdout.write(text + end)
    sys.stdout.flush()
