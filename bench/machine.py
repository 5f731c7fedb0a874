"""Where and when: the machine, the commit, what else the machine is doing, and how far the two cores are from each other at
this moment."""

import datetime
import os
import platform
import re
import resource
import subprocess
import time
from pathlib import Path

import commands

ROOT = Path(__file__).resolve().parent.parent
FLIP = 1.5  # a distance that changed by more than this factor within a round is a flip


def cpu_fields():
    fields = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def describe():
    cpu = cpu_fields()
    model = re.sub(r"\s+", " ", cpu.get("model name", platform.machine()))
    numbers = "/".join(cpu.get(name, "?") for name in ("cpu family", "model", "stepping"))
    memory_kib = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1])
    return {"cpu": model, "family_model_stepping": numbers, "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(memory_kib / (1 << 20)), "kernel": platform.release(),
            "congestion_control": Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()}


def key(machine):
    """A name for the machine that may be part of a file's name."""
    text = f"{machine['cpu']} {machine['family_model_stepping']} {machine['cores']} cores"
    text = re.sub(r"\((r|tm)\)", "", text.lower())
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


def title(machine):
    return f"{machine['cpu']} ({machine['family_model_stepping']}), {machine['cores']} cores, {machine['memory_gib']} GiB"


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def commit():
    """The commit's short name, with a + when the tree has changes."""
    def git(*words):
        return subprocess.run(("git", "-C", str(ROOT), *words), capture_output=True, text=True).stdout.strip()
    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return name + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


class Distance:
    """The cores' distance as one way of a cache line, in ns; None where it cannot be measured."""

    def __init__(self, work):
        self.program = work / "programs" / "distance"
        source = ROOT / "bench" / "programs" / "distance.c"
        self.program.parent.mkdir(parents=True, exist_ok=True)
        done = commands.run(("cc", "-O2", source, "-o", self.program), commands.clean_environment(), 60)
        self.works = done.code == 0 and len(os.sched_getaffinity(0)) > 1

    def now_ns(self):
        if not self.works:
            return None
        done = commands.run((self.program,), commands.clean_environment(), 20)
        found = re.search(r"point one_way_ns ([\d.]+)", done.out)
        return float(found[1]) if found else None


class OtherLoad:
    """How many cores other programs keep busy (the hypervisor's other guests included), since this object was made."""

    def __init__(self):
        self.begun, self.at_start = time.monotonic(), self.foreign_s()

    @staticmethod
    def foreign_s():
        """Processor time of the whole machine, without what is idle and what this program's jobs have used."""
        fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        user, nice, system, _idle, _iowait, irq, softirq, steal = fields
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return busy - sum(u.ru_utime + u.ru_stime for u in used)

    def cores(self):
        seconds = max(time.monotonic() - self.begun, 1e-3)
        return round(max(0.0, self.foreign_s() - self.at_start) / seconds, 2)


def flipped(before_ns, after_ns):
    if before_ns is None or after_ns is None:
        return False
    return max(before_ns, after_ns) > FLIP * min(before_ns, after_ns)
