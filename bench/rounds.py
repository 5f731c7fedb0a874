"""When: in every round all competitors of a series take turns, in another order each time, and the cores' distance is
measured before and after. A round in which it flipped is dropped and repeated, a bounded number of times."""

import re

import commands
import jobs
import machine

GIVE_UP_AFTER = 2  # failures of a competitor in one job of a series


class Rounds:
    def __init__(self, competitors, work, distance, options):
        self.competitors, self.work, self.distance = competitors, work, distance
        self.quick, self.any_distance, self.repeats_left = options.quick, options.any_distance, options.repeats
        self.failures = {}  # (series, competitor) -> {number of the job: errors}

    def run(self, series_list, count):
        """All rounds, as a list of dictionaries; the ones that were dropped are in it, marked."""
        rounds = []
        try:
            for repetition in range(count):
                for number, series in enumerate(series_list, 1):
                    commands.say(f"[{repetition + 1}/{count} {number}/{len(series_list)}] {series.name}:", end="")
                    self.until_kept(series, repetition, rounds)
        except KeyboardInterrupt:
            commands.say("\nstopped: what was measured so far")
        return rounds

    def until_kept(self, series, repetition, rounds):
        while True:
            rounds.append(self.one(series, repetition))
            if rounds[-1]["kept"] or self.repeats_left == 0:
                return
            self.repeats_left -= 1
            commands.say("    the cores' distance flipped: dropped, again:", end="")

    def one(self, series, repetition):
        before, others = self.distance.now_ns(), machine.OtherLoad()
        outcomes = {}
        wanted = [c for c in self.competitors if not series.competitors or c.name in series.competitors]
        shift = repetition % max(1, len(wanted))
        for competitor in wanted[shift:] + wanted[:shift]:
            outcomes[competitor.name] = self.take_turn(series, competitor)
        disk = self.disk_mb_s(series)
        busy, after = others.cores(), self.distance.now_ns()
        commands.say(f"  ({nanoseconds(before)} -> {nanoseconds(after)}{f', others {busy:.1f} cores' if busy >= 0.1 else ''})")
        return {"series": series.name, "repetition": repetition, "distance_before_ns": before, "distance_after_ns": after,
                "other_load_cores": busy, "kept": self.any_distance or not machine.flipped(before, after),
                "disk_mb_s": disk, "outcomes": outcomes}

    def take_turn(self, series, competitor):
        commands.say(f" {competitor.name}", end="")
        failed = self.failures.setdefault((series.name, competitor.name), {})
        given_up = [number for number, count in failed.items() if count >= GIVE_UP_AFTER]
        wanted = series.quick if self.quick and series.quick else series.jobs
        outcome = jobs.run_series(series, wanted, competitor, self.work, given_up)
        for number in outcome["errors"]:
            failed[number] = failed.get(number, 0) + 1
        first = next(iter(outcome["points"].values()), None)
        commands.say("" if first is None else f" {first:.3g}", end="")
        commands.say(" FAILED" if outcome["errors"] or first is None else "", end="")
        return outcome

    def disk_mb_s(self, series):
        if not series.disk_mebibytes:
            return None
        program = self.work / "programs" / "disk"
        source = machine.ROOT / "bench" / "programs" / "disk.c"
        environment = commands.clean_environment()
        commands.run(("cc", "-O2", source, "-o", program), environment, 60)
        done = commands.run((program, environment.get("TMPDIR", "/var/tmp"), series.disk_mebibytes), environment, 60)
        found = re.search(r"point disk (\S+)", done.out)
        return float(found[1]) if found else None


def nanoseconds(value):
    return "unknown" if value is None else f"{value:.0f} ns"
