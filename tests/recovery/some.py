"""Of stories that are alike a few, other ones each time: `make check` is short, and `make soak`, with HOLDFAST_ALL_STORIES=1, tells all."""

import os
import random
import unittest


def some(stories, count):
    stories = list(stories)
    if os.environ.get("HOLDFAST_ALL_STORIES") == "1":
        return stories
    return random.sample(stories, min(count, len(stories)))


def stories_of(case, count):
    """A module's load_tests: so many of the stories of its one test case, if none is named."""
    def load_tests(loader, tests, pattern):
        return unittest.TestSuite(case(name) for name in some(loader.getTestCaseNames(case), count))

    return load_tests
