"""The table, for the terminal and as Markdown, and the notes below it."""

from statistics import median

import machine
from results import failures, logged
from series import NONE_TO_BEST, PESSIMIST_TO_BEST, PESSIMIST_TO_NONE

HEADINGS = ("none", "pessimist", "openmpi", "openmpi-pessimist", "mpich", "disk")
QUIET_CORES = 0.1  # what other programs may use before the table says so


def number(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def quotient(row, ratio):
    if row[ratio] is None:
        return "-"
    return f"{row[ratio]:.2f}" + (" !" if ratio in row["missed"] else "")


def what(row):
    return f"{row['series']} {row['label']}" if row["label"] != "seconds" else row["series"]


def lines(entry):
    """The rows as lists of cells, heading first."""
    failed = failures(entry["rounds"])
    present = [name for name in HEADINGS if name in entry["competitors"] or any(name in r["medians"] for r in entry["points"])]
    yield ["", "unit", *present, "none/best", "pess/best", "pess/none"]
    for row in entry["points"]:
        cells = [number(row["medians"][name]) if name in row["medians"] else missing(entry, failed, row, name)
                 for name in present]
        yield [what(row), row["unit"], *cells,
               *(quotient(row, ratio) for ratio in (NONE_TO_BEST, PESSIMIST_TO_BEST, PESSIMIST_TO_NONE))]


def missing(entry, failed, row, name):
    if entry["competitors"].get(name, {}).get("error"):
        return "absent"
    return "failed" if (row["series"], name) in failed else ""


def congestion(of):
    """The machine's choice; Holdfast's own inside a machine is reno (docs/tcp.md). Older results do not say."""
    return f", TCP's congestion control {of['congestion_control']}" if "congestion_control" in of else ""


def notes(entry):
    yield (f"{machine.title(entry['machine'])}, kernel {entry['machine']['kernel']}{congestion(entry['machine'])}; "
           f"{entry['date']}; commit {entry['commit']}; {entry['repetitions']} round(s){', quick' if entry['quick'] else ''}.")
    yield distances(entry["rounds"])
    yield from disturbance(entry["rounds"])
    yield ("Medians over rounds. Ratios are medians of the ratios within a round; best: the better of Open MPI and MPICH, "
           "both without logging (or the disk). Units of time: lower is better; of rate: higher. !: misses its goal "
           "(bench/series.py).")
    for name, competitor in entry["competitors"].items():
        if competitor["error"]:
            yield f"{name} is absent: {competitor['error']}"
        elif competitor.get("note"):
            yield f"{name}: {competitor['note']}"
    for (name, reason), where in grouped(failures(entry["rounds"])).items():
        yield f"{name} failed in {', '.join(where)}: {reason}"
    yield from logs(entry["rounds"])


def distances(rounds):
    kept = [(r["distance_before_ns"] + r["distance_after_ns"]) / 2 for r in rounds
            if r["kept"] and r["distance_before_ns"] is not None and r["distance_after_ns"] is not None]
    dropped = sum(not r["kept"] for r in rounds)
    if not kept:
        return f"The cores' distance is not known; {dropped} rounds dropped."
    return (f"The cores' distance, one way: {min(kept):.0f} to {max(kept):.0f} ns over the rounds; {dropped} of {len(rounds)} "
            "rounds dropped because it flipped.")


def disturbance(rounds):
    loads = [r["other_load_cores"] for r in rounds if r["kept"]]
    if loads and median(loads) >= QUIET_CORES:
        yield (f"Other programs kept {median(loads):.2g} cores busy in the median round (up to {max(loads):.2g}): these figures "
               "are not those of a quiet machine.")


def grouped(found):
    """(Competitor, error) -> series, so that one cause is told once."""
    by_reason = {}
    for (series, name), error in found.items():
        by_reason.setdefault((name, error_kind(error)), []).append(series)
    return by_reason


def error_kind(error):
    """Without the number of the process at its beginning."""
    return error.split("] ", 1)[1] if error.startswith("[") and "] " in error else error


def logs(rounds):
    of = logged(rounds)
    if not of:
        return
    yield (f"pessimist logged {sum(o['bytes_logged'] for o in of.values()) / 1e6:.0f} MB and "
           f"{sum(o['determinants'] for o in of.values())} determinants in a round; unprotected in all rounds: "
           f"{sum(o['bytes_unprotected'] for o in of.values())} bytes.")
    past = [series for series, one in of.items() if one["past_ready_log"]]
    if past:
        yield "Past the ready log: " + ", ".join(past) + "."


def as_text(entry):
    table = list(lines(entry))
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    out = ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]) for row in table]
    return "\n".join(["", *out, "", *notes(entry)])


def as_markdown(entry):
    table = list(lines(entry))
    rule = ["---", "---", *["---:"] * (len(table[0]) - 2)]
    out = ["| " + " | ".join(cells) + " |" for cells in (table[0], rule, *table[1:])]
    return "\n".join([*out, "", *(f"- {note}" for note in notes(entry))])
