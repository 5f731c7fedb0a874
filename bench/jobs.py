"""One job of one competitor: started, read, and for Holdfast its report."""

import json
import re

import commands
from series import RECORD_ALIGN

LIMIT_S = 90
POINT = re.compile(r"^point (\S+) (\S+)$", re.M)


def run_series(series, jobs, competitor, work, given_up=()):
    """The outcome of all jobs of a series but those given up: {"points": {label: value}, "errors": {job: text}} and, for
    Holdfast, bytes."""
    outcome = {"points": {}, "errors": {}}
    program = competitor.mpi.compile(series.program, series.example)
    for number, arguments in enumerate(jobs):
        if number in given_up:
            continue
        report = work / "report.json" if competitor.mpi.name == "holdfast" else None
        if report:
            report.unlink(missing_ok=True)
        command = competitor.command(series.ranks, series.rail, program, arguments, series.options(), report)
        done = commands.run(command, competitor.environment(series.rail), LIMIT_S, strangers=series.strangers)
        points = {label: float(value) for label, value in POINT.findall(done.out)}
        if done.code != 0 or not points:
            outcome["errors"][number] = done.why() if done.code != 0 else "printed no result"
            continue
        outcome["points"].update(points)
        if report:
            add_report(outcome, report, number)
    return outcome


def add_report(outcome, path, number):
    """Bytes of all jobs together; of a rank's log, record heads included, the largest."""
    if not path.exists():
        outcome["errors"][number] = "wrote no report"
        return
    report = json.loads(path.read_text())
    for field in ("bytes_logged", "messages_logged", "bytes_unprotected", "determinants", "messages_sent", "dependency_frames",
                  "dependency_bytes", "log_left"):
        outcome[field] = outcome.get(field, 0) + report["totals"][field]
    outcome["caught_up_s"] = [death["caught_up_after_s"] for death in report["failures"]]
    logs = [rank["bytes_logged"] + RECORD_ALIGN * rank["messages_logged"] for rank in report["ranks"]]
    outcome["log_of_a_rank_max"] = max([outcome.get("log_of_a_rank_max", 0), *logs])
