"""From rounds to figures: medians over the rounds that were kept, and ratios, each the median of the ratios within a round,
so that a change of the machine between two rounds does not enter."""

import json
from statistics import median

from competitors import PEERS
from series import HIGHER, NONE_TO_BEST, PESSIMIST_TO_BEST, PESSIMIST_TO_NONE, READY_BYTES, all_series

DISK = "disk"


def summarize(series_list, rounds):
    """One row for every point: series, label, medians and ratios."""
    rows = []
    for series in series_list:
        kept = [r for r in rounds if r["series"] == series.name and r["kept"]]
        labels = list(dict.fromkeys(label for r in kept for o in r["outcomes"].values() for label in o["points"]))
        for label in labels:
            one = row(series, label, [values(r, label) for r in kept])
            rows.append({**one, "missed": missed(series, one)})
    return rows


def values(one_round, label):
    """Competitor -> value in this round; the disk counts as a competitor."""
    found = {name: outcome["points"][label] for name, outcome in one_round["outcomes"].items() if label in outcome["points"]}
    if one_round["disk_mb_s"] is not None:
        found[DISK] = one_round["disk_mb_s"]
    return found


def row(series, label, by_round):
    names = list(dict.fromkeys(name for found in by_round for name in found))
    medians = {name: median(found[name] for found in by_round if name in found) for name in names}
    best = best_peer(medians, series.better)
    return {"series": series.name, "label": label, "unit": series.unit, "better": series.better, "rounds": len(by_round),
            "medians": medians, "best_peer": best, NONE_TO_BEST: ratio("none", best, by_round),
            PESSIMIST_TO_BEST: ratio("pessimist", best, by_round), PESSIMIST_TO_NONE: ratio("pessimist", "none", by_round)}


def best_peer(medians, better):
    """The better of the peers without logging; where there are none, the disk, if it was measured."""
    there = [name for name in PEERS if name in medians] or [name for name in (DISK,) if name in medians]
    pick = max if better == HIGHER else min
    return pick(there, key=medians.get) if there else None


def ratio(name, other, by_round):
    ratios = [found[name] / found[other] for found in by_round if name in found and found.get(other)]
    return median(ratios) if ratios else None


def missed(series, row):
    """The ratios whose goal the row does not reach. A ratio that is not known misses nothing."""
    return [goal.ratio for goal in series.goals
            if (goal.labels is None or row["label"] in goal.labels) and row[goal.ratio] is not None and not reached(goal, row)]


def reached(goal, row):
    if row["better"] == HIGHER:
        return row[goal.ratio] >= goal.bound
    ours, other = {NONE_TO_BEST: ("none", row["best_peer"]), PESSIMIST_TO_BEST: ("pessimist", row["best_peer"]),
                   PESSIMIST_TO_NONE: ("pessimist", "none")}[goal.ratio]
    return row[goal.ratio] <= goal.bound or row["medians"][ours] - row["medians"][other] <= goal.slack


def failures(rounds):
    """(series, competitor) -> first error, of jobs that failed."""
    found = {}
    for r in rounds:
        for name, outcome in r["outcomes"].items():
            for error in outcome["errors"].values():
                found.setdefault((r["series"], name), error)
    return found


def logged(rounds):
    """Series -> bytes and determinants of one round with pessimist, and what was unprotected in all of them."""
    found, ready = {}, {series.name: series.ready_bytes for series in all_series()}
    for r in rounds:
        outcome = r["outcomes"].get("pessimist", {})
        if "bytes_logged" in outcome:
            one = found.setdefault(r["series"], {"bytes_unprotected": 0})
            one.update({k: outcome[k] for k in ("bytes_logged", "determinants", "log_of_a_rank_max")})
            one["bytes_unprotected"] += outcome["bytes_unprotected"]
            one["past_ready_log"] = outcome["log_of_a_rank_max"] > ready.get(r["series"], READY_BYTES)
    return found


def problems(series_list, rounds):
    """What makes the run fail, as text: Holdfast's own failures, and bytes that nobody protects."""
    found = [f"{name} failed in {series}: {error}" for (series, name), error in failures(rounds).items()
             if name in ("none", "pessimist")]
    found += [f"{series}: {one['bytes_unprotected']} bytes unprotected" for series, one in logged(rounds).items()
              if one["bytes_unprotected"] > 0]
    found += [f"{series.name}: no round that was kept" for series in series_list
              if not any(r["kept"] for r in rounds if r["series"] == series.name)]
    return found


def store(path, key, entry):
    """Puts the run of one machine into the file, beside what other machines have there."""
    whole = {"format": 1, "machines": {}}
    if path.exists():
        whole = json.loads(path.read_text())
    whole["machines"][key] = entry
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1) + "\n")
