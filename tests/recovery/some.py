"""Of stories that are alike a few, other ones each time: `make check` is short, and `make soak`, with HOLDFAST_ALL_STORIES=1, tells all."""

import os
import random


def some(stories, count):
    stories = list(stories)
    if os.environ.get("HOLDFAST_ALL_STORIES") == "1":
        return stories
    return random.sample(stories, min(count, len(stories)))
