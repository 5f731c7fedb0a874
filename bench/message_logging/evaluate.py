"""From rounds to what the paper's figures and tables show, and what must hold in every round whatever the times."""

from statistics import median

import results
from measured import KERNELS, SAME_FOR_ALL_RANKS, WITH_EVENTS
from variants import KILLED, NO_LOG, NONE, PROCESS

DIGEST = "digest"


def kept(rounds, name):
    return [r for r in rounds if r["series"] == name and r["kept"]]


def counts(rounds):
    """The least and the most rounds that were kept of a series."""
    by_series = [len(kept(rounds, name)) for name in dict.fromkeys(r["series"] for r in rounds)]
    return min(by_series, default=0), max(by_series, default=0)


def labels(rounds, name):
    found = (label for r in kept(rounds, name) for o in r["outcomes"].values() for label in o["points"])
    return [label for label in dict.fromkeys(found) if label != DIGEST]


def by_round(rounds, name, label):
    return [results.values(r, label) for r in kept(rounds, name)]


def value(rounds, name, label, variant):
    """Median over rounds; None where nothing was measured."""
    found = [values[variant] for values in by_round(rounds, name, label) if variant in values]
    return median(found) if found else None


def to_none(rounds, name, label, variant):
    """The median of the ratios to `none` within a round."""
    return results.ratio(variant, NONE, by_round(rounds, name, label))


def total(rounds, name, variant, field):
    """Of the report of a job: the median over rounds."""
    found = [r["outcomes"][variant][field] for r in kept(rounds, name) if field in r["outcomes"].get(variant, {})]
    return median(found) if found else None


def caught_up(rounds, name, variant):
    """After the death of a rank, in seconds: the median over rounds."""
    found = [time for r in kept(rounds, name) for time in r["outcomes"].get(variant, {}).get("caught_up_s", []) if time is not None]
    return median(found) if found else None


def messages(rounds, name, variant):
    """Without the frames of dependencies, which are counted among what was sent."""
    sent, frames = (total(rounds, name, variant, field) for field in ("messages_sent", "dependency_frames"))
    return None if sent is None else sent - frames


def piggybacked(rounds, name, variant):
    """Bytes of dependencies a message."""
    sent = messages(rounds, name, variant)
    return total(rounds, name, variant, "dependency_bytes") / sent if sent else None


def costs(rounds, what, label, protocol):
    """Of an event's way to the agent, and of waiting until it is stable (Tables I and II): any source, where events are stable when
    they are written, less the same with named sources; and what it takes more where a holder must have them. In the unit of `what`."""
    written = value(rounds, f"cost.{what}.any", label, protocol + PROCESS)
    named = value(rounds, f"cost.{what}.named", label, protocol + PROCESS)
    held = value(rounds, f"cost.{what}.any", label, protocol)
    if None in (written, named, held):
        return None, None
    return written - named, held - written


def problems(rounds):
    """What makes a run fail, as text."""
    found = [f"{variant} failed in {series}: {error}" for (series, variant), error in results.failures(rounds).items()]
    found += digest_problems(rounds)
    for r in rounds:
        for variant, outcome in r["outcomes"].items():
            found += death_problems(r["series"], variant, outcome)
            found += event_problems(r["series"], variant, outcome)
            if not variant.endswith(NO_LOG) and outcome.get("bytes_unprotected", 0) > 0:
                found.append(f"{r['series']}, {variant}: {outcome['bytes_unprotected']} bytes unprotected")
            if variant.endswith(NO_LOG) and outcome.get("bytes_logged", 0) > 0:
                found.append(f"{r['series']}, {variant}: {outcome['bytes_logged']} bytes logged")
    return list(dict.fromkeys(found))


def death_problems(name, variant, outcome):
    """One rank dies where one is to be killed, and catches up."""
    times = outcome.get("caught_up_s", [])
    wanted = 1 if variant.endswith(KILLED) else 0
    if outcome["errors"] or (len(times) == wanted and None not in times):
        return []
    return [f"{name}, {variant}: {len(times)} deaths, caught up after {times} s"]


def digest_problems(rounds):
    """Every protocol computes the same; most kernels the same with any number of ranks, given the same arguments."""
    first, found = {}, []
    for r in rounds:
        kernel, ranks, place = parts(r["series"])
        if kernel not in KERNELS:
            continue
        where = "shm" if place in ("shm", "nodes2", "nodes4") else place
        where = f"loggers.{place}" if r["series"].startswith("loggers.") else where
        same = (kernel, where) if kernel in SAME_FOR_ALL_RANKS else (kernel, where, ranks)
        for variant, outcome in r["outcomes"].items():
            digest = outcome["points"].get(DIGEST)
            if digest is not None and digest != first.setdefault(same, digest):
                found.append(f"{r['series']}, {variant}: digest {digest:.0f}, not {first[same]:.0f}")
    return found


def parts(name):
    """Kernel, ranks and place of a series; (None, None, None) for others."""
    words = name.removeprefix("loggers.").split(".")
    return tuple(words) if len(words) == 3 and words[0] in KERNELS else (None, None, None)


def event_problems(name, variant, outcome):
    """LU and MG have events, with more than one rank; the others never (paper 000, V.B)."""
    kernel, ranks, _ = parts(name)
    if kernel is None or "determinants" not in outcome or variant == NONE:
        return []
    wanted = kernel in WITH_EVENTS and ranks != "n1"
    if wanted == (outcome["determinants"] > 0):
        return []
    return [f"{name}, {variant}: {outcome['determinants']} events"]
