"""Who is measured: Holdfast with each protocol, Open MPI with and without its message logging, MPICH. Each knows how it is
installed, how a program is compiled for it and how a job is started."""

import os
from pathlib import Path

import commands
from series import TCP

HERE = Path(__file__).resolve().parent
FLAGS = ("-O2", "-ffp-contract=off", f"-I{HERE / 'programs'}", f"-I{HERE.parent / 'examples'}")
INSTALL_LIMIT_S = 600


class Unavailable(Exception):
    """Why a competitor cannot be measured."""


def python_environment(package, directory):
    """A virtual environment with the package as pinned in requirements.txt; the package's version."""
    pins = [line for line in (HERE / "requirements.txt").read_text().split() if line.startswith(package + "==")]
    if len(pins) != 1:
        raise Unavailable(f"{package} is not pinned in bench/requirements.txt")
    stamp = directory / ".requirement"
    if not (stamp.exists() and stamp.read_text() == pins[0]):
        environment = commands.clean_environment()
        for step in (("/usr/bin/python3", "-m", "venv", directory),
                     (directory / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", pins[0])):
            done = commands.run(step, environment, INSTALL_LIMIT_S, f"installing {pins[0]}")
            if done.code != 0:
                raise Unavailable(f"{pins[0]} cannot be installed: {done.why()}")
        stamp.write_text(pins[0])
    return pins[0].split("==")[1]


class Mpi:
    """An MPI library with a bin directory of its own; programs are compiled once for each."""

    def __init__(self, name, work):
        self.name, self.programs = name, work / "programs" / name
        self.version = None

    def bin(self):
        raise NotImplementedError

    def environment(self):
        return commands.clean_environment(self.bin())

    def compile(self, program, example):
        """The executable, compiled anew when a source or the library is newer."""
        target = self.programs / program
        sources = self.sources(program, example)
        depends = [*sources, *HERE.glob("programs/*.h"), *HERE.parent.glob("examples/*.h"), *self.library()]
        if target.exists() and all(d.stat().st_mtime <= target.stat().st_mtime for d in depends):
            return target
        self.programs.mkdir(parents=True, exist_ok=True)
        if sources[-1].suffix == ".cpp":
            timed = self.programs / "timed.o"
            self.compiler("mpicc", "-c", sources[0], "-o", timed)
            self.compiler("mpicxx", timed, sources[-1], "-o", target, "-lm")
        else:
            self.compiler("mpicc", *sources, "-o", target, "-lm")
        return target

    def sources(self, program, example):
        if not example:
            return [HERE / "programs" / f"{program}.c"]
        found = sorted((HERE.parent / "examples").glob(f"{program}.c*"))
        return [HERE / "programs" / "timed.c", found[0]]

    def library(self):
        return []

    def compiler(self, wrapper, *words):
        done = commands.run((self.bin() / wrapper, *FLAGS, *words), self.environment(), 120, f"compiling for {self.name}")
        if done.code != 0:
            raise Unavailable(f"{wrapper} of {self.name} fails: {done.why()}")


class HoldfastMpi(Mpi):
    def __init__(self, build, work):
        super().__init__("holdfast", work)
        self.build = build

    def bin(self):
        return self.build / "bin"

    def library(self):
        return [path for path in (self.build / "lib").glob("libmpi_abi.so*") if path.is_file()]

    def prepare(self):
        if not (self.bin() / "holdfast").exists():
            raise Unavailable(f"{self.bin() / 'holdfast'} is not there: build first")


class WheelMpi(Mpi):
    def __init__(self, package, work):
        super().__init__(package, work)
        self.directory = work / "env" / package

    def bin(self):
        return self.directory / "bin"

    def prepare(self):
        self.version = python_environment(self.name, self.directory)


class Competitor:
    note = None  # what a reader of the table should know

    def __init__(self, name, mpi, logs=False):
        self.name, self.mpi, self.logs = name, mpi, logs

    def command(self, ranks, rail, program, arguments, options=(), report=None):
        raise NotImplementedError

    def environment(self, rail):
        return self.mpi.environment()


class Holdfast(Competitor):
    """On TCP every rank has a node of its own: nodes share nothing but TCP."""

    def command(self, ranks, rail, program, arguments, options=(), report=None):
        words = [self.mpi.bin() / "holdfast", "run", "-n", ranks, "--protocol", self.name]
        words += ["--nodes", ranks] if rail == TCP else []
        words += options if self.logs else ()
        words += ["--report", report] if report else []
        return [*words, program, *arguments]


class OpenMpi(Competitor):
    @property
    def note(self):
        return OPEN_MPI_LOGGING if self.logs else None

    def command(self, ranks, rail, program, arguments, options=(), report=None):
        words = [self.mpi.bin() / "mpirun", "-n", ranks]
        words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        words += ["--oversubscribe"] if ranks > len(os.sched_getaffinity(0)) else []
        words += ["--mca", "btl", "tcp,self"] if rail == TCP else []
        words += ["--mca", "vprotocol", "pessimist"] if self.logs else []
        return [*words, program, *arguments]


class Mpich(Competitor):
    def command(self, ranks, rail, program, arguments, options=(), report=None):
        return [self.mpi.bin() / "mpiexec", "-n", ranks, program, *arguments]

    def environment(self, rail):
        tcp = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
        return {**self.mpi.environment(), **(tcp if rail == TCP else {})}


def all_competitors(build, work):
    holdfast, openmpi, mpich = HoldfastMpi(build, work), WheelMpi("openmpi", work), WheelMpi("mpich", work)
    return [Holdfast("none", holdfast), Holdfast("pessimist", holdfast, logs=True), OpenMpi("openmpi", openmpi),
            OpenMpi("openmpi-pessimist", openmpi, logs=True), Mpich("mpich", mpich)]


OPEN_MPI_LOGGING = (
    "`--mca vprotocol pessimist` of Open MPI 5 breaks on shared memory at messages of up to 256 bytes (their inline path hands "
    "it a request without a size), and everywhere at any-source receives, which need an event logger that is not in the package")

PEERS = ("openmpi", "mpich")  # without logging: who Holdfast is compared with
