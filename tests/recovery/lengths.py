"""How much a program computes, so that what is to be lost is lost while it runs, on any machine."""

import collections
import math

TIMES_MAX = 64


class Lengths:
    """Programs that compute `times` what they compute at least; what was long enough for one kind of run is remembered."""

    def __init__(self):
        self.times = collections.defaultdict(lambda: 1)

    def undisturbed(self, kind, at_least_s, run):
        """run(times) -> (Outcome, what is wrong with it or None, the seconds it computed). Returns (times, Outcome, what is wrong) of the
        first run that computed for at_least_s."""
        while True:
            times = self.times[kind]
            outcome, problem, computed_s = run(times)
            if problem or computed_s >= at_least_s or times == TIMES_MAX:
                return times, outcome, problem
            self.times[kind] = min(TIMES_MAX, math.ceil(1.2 * times * at_least_s / max(0.01, computed_s)))
