"""What the tests of the ABI need to know of the table of functions."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "api"))

import generate  # noqa: E402


def functions():
    return generate.read_table()[0]


def names():
    """All names of the C API, without profiling names."""
    return [name for function in functions() for name, _ in function.forms()]
