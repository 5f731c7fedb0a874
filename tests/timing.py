"""For tests that measure times."""

import functools


def best_of_three(test):
    """A time that something else on the machine has spoilt is measured again; one that is too long is so every time."""
    @functools.wraps(test)
    def measured(self):
        for attempt in range(2):
            try:
                return test(self)
            except AssertionError as failure:
                print(f"{test.__name__}: attempt {attempt + 1}: {str(failure)[:200]}", flush=True)
        return test(self)
    return measured
