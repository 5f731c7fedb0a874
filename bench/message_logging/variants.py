"""Who is measured: Holdfast with each protocol, with and without its sender log, and with events that are stable where they are written."""

from pathlib import Path

import competitors
from competitors import Holdfast, HoldfastMpi

HERE = Path(__file__).resolve().parent
NONE, PESSIMIST, OPTIMIST = "none", "pessimist", "optimist"
NO_LOG, PROCESS, COVERED = "-no-log", "-process", "-covered"
KILLED = "-killed"
KILLED_AFTER_S = 1
COVERED_CALLS = 100  # as if every rank had a checkpoint at each so many of its MPI calls
LOGGERS = {f"-el{n}": n for n in (1, 2, 4)}  # kind -> event loggers
SHM, DELAY = "shm", "delay"


class Programs(HoldfastMpi):
    """The programs of this directory, and those of bench/ beside it."""

    def sources(self, program, example):
        own = HERE / "programs" / f"{program}.c"
        return [own] if own.exists() else super().sources(program, example)

    def library(self):
        return [*super().library(), *HERE.glob("programs/*.h")]


class Variant(Holdfast):
    """`place`: shm, nodes2, nodes4 or delay. Clocks are not recorded: the programs read one, of which the paper's protocols do not
    know."""

    def __init__(self, mpi, protocol, kind, network):
        super().__init__(protocol + kind, mpi, logs=protocol != NONE)
        self.protocol, self.kind, self.network = protocol, kind, network

    def command(self, ranks, place, program, arguments, options=(), report=None):
        words = self.network.prefix() if place == DELAY else []
        words += [self.mpi.bin() / "holdfast", "run", "-n", ranks, "--protocol", self.protocol, "--record-libc", "no"]
        where = [] if place == SHM else ["--nodes", place.removeprefix("nodes")]
        words += self.network.options(LOGGERS.get(self.kind, 0)) if place == DELAY else where
        words += options if self.logs else ()
        words += ["--no-sender-log"] if self.kind == NO_LOG else ["--log-level", "process"] if self.kind == PROCESS else []
        words += ["--inject", f"covered:calls={COVERED_CALLS}"] if self.kind == COVERED else []
        words += ["--inject", f"kill:rank=1,at={KILLED_AFTER_S}s"] if self.kind == KILLED else []
        words += ["--event-loggers", LOGGERS[self.kind]] if self.kind in LOGGERS else []
        words += ["--report", report] if report else []
        return [*words, program, *arguments]


def all_variants(build, work, protocols, network):
    mpi = Programs(build, work)
    kinds = lambda protocol: ("",) if protocol == NONE else ("", NO_LOG, PROCESS, COVERED, KILLED)  # noqa: E731
    pairs = [(protocol, kind) for protocol in protocols for kind in kinds(protocol)]
    pairs += [(OPTIMIST, kind) for kind in ("", *LOGGERS) if (OPTIMIST, kind) not in pairs]
    return [Variant(mpi, protocol, kind, network) for protocol, kind in pairs]


Unavailable = competitors.Unavailable
