"""build_mpi4py.py BUILD: puts mpi4py for the standard ABI, on our library, into BUILD's virtual environment (build/venv).

From PyPI: the wheel if it knows the standard ABI, else built once from the source package with our mpicc and
MPI4PY_BUILD_MPIABI=1. The source package is kept unpacked in build/mpi4py/source, for its tests. Does nothing when the
module is there already and is no older than our mpi.h.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from pathlib import Path

VERSION = "4.1.0"
ROOT = Path(__file__).resolve().parent.parent


def say(text):
    print(f"mpi4py: {text}", flush=True)


def run(command, log, what, env=None):
    """Runs a command with its output in a log file; says every ten seconds that it is still at work."""
    done = threading.Event()

    def tick():
        started = time.monotonic()
        while not done.wait(10):
            say(f"{what}, {time.monotonic() - started:.0f} s")

    threading.Thread(target=tick, daemon=True).start()
    with open(log, "wb") as out:
        code = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                              env={**os.environ, **(env or {})}).returncode
    done.set()
    if code != 0:
        tail = "\n".join(Path(log).read_text(errors="replace").splitlines()[-15:])
        sys.exit(f"mpi4py: {what} failed (exit code {code}); the end of {log}:\n{tail}")


class Builder:
    def __init__(self, build):
        self.build = build
        self.venv = ROOT / "build" / "venv"
        self.python = self.venv / "bin" / "python"
        self.work = build / "mpi4py"
        self.stamp = self.work / "installed"
        self.work.mkdir(parents=True, exist_ok=True)

    def installed(self):
        """The extension module in the environment, if it is current."""
        modules = list(self.venv.glob("lib/python*/site-packages/mpi4py/MPI*.so"))
        header = ROOT / "include" / "mpi.h"
        fresh = self.stamp.exists() and self.stamp.read_text() == f"{VERSION} {header.stat().st_mtime_ns}"
        return modules[0] if modules and fresh else None

    def pip(self, *words, what, env=None):
        command = [self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]
        run(command, self.work / "pip.log", what, env)

    def source(self):
        """The source package, downloaded and unpacked once."""
        unpacked = self.work / "source"
        if not (unpacked / "setup.py").exists():
            self.pip("download", "--no-deps", "--no-build-isolation", "--no-binary", "mpi4py", "-d", self.work, f"mpi4py=={VERSION}",
                     what="fetching the source package")
            archive = next(self.work.glob(f"mpi4py-{VERSION}.tar.gz"))
            with tarfile.open(archive) as tar:
                safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # newer than Debian 12's Python
                tar.extractall(self.work, **safely)
            shutil.rmtree(unpacked, ignore_errors=True)
            (self.work / f"mpi4py-{VERSION}").rename(unpacked)
        return unpacked

    def wheel_with_standard_abi(self):
        """PyPI's wheel, if it holds a module for the standard ABI."""
        place = self.work / "wheel"
        command = [self.python, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps", "--only-binary", ":all:", "-d", place,
                   f"mpi4py=={VERSION}"]
        if subprocess.run([str(w) for w in command], capture_output=True, stdin=subprocess.DEVNULL).returncode != 0:
            return None  # no wheel for this Python: the source package will do
        for wheel in place.glob("*.whl"):
            if any(re.fullmatch(r"mpi4py/MPI\.mpi_?abi\..*so", name) for name in zipfile.ZipFile(wheel).namelist()):
                return wheel
        return None

    def install(self):
        source = self.source()
        wheel = self.wheel_with_standard_abi()
        if wheel:
            say(f"{wheel.name} knows the standard ABI")
        else:
            say("the wheel on PyPI has no module for the standard ABI: building the source package (once, about a minute)")
            made = self.work / "made"
            shutil.rmtree(made, ignore_errors=True)
            self.pip("wheel", "--no-deps", "--no-build-isolation", "--no-cache-dir", "-w", made, source, what="compiling",
                     env={"MPICC": str(self.build / "bin" / "mpicc"), "MPI4PY_BUILD_MPIABI": "1", "CFLAGS": "-O0 -g0"})
            wheel = next(made.glob("*.whl"))
        self.pip("install", "--no-deps", "--no-index", "--force-reinstall", wheel, what="installing")
        self.stamp.write_text(f"{VERSION} {(ROOT / 'include' / 'mpi.h').stat().st_mtime_ns}")

    def check(self):
        """The module must come up on our library, as a job of one rank."""
        code = "from mpi4py import MPI; print(MPI.Get_library_version().splitlines()[0])"
        result = subprocess.run([self.python, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                env={**os.environ, "LD_LIBRARY_PATH": str(self.build / "lib")})
        if result.returncode != 0:
            sys.exit(f"mpi4py: the module does not come up on our library:\n{result.stderr}")
        say(f"runs on {result.stdout.strip()}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    builder = Builder(Path(sys.argv[1]).resolve())
    if not builder.installed():
        builder.install()
    builder.check()


main()
