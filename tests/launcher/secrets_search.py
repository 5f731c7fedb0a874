"""Looks for a job's key where nobody may find it: arguments and environments of processes, and files."""

import base64
import os
import stat
import time
from pathlib import Path


def forms(key):
    return {key, key.hex().encode(), key.hex().upper().encode(), base64.b64encode(key).rstrip(b"=")}


def look(key, directories, since):
    """Where the key stands: in /proc/*/cmdline and environ, and in files below `directories` that were changed after `since`."""
    found, wanted, looked = [], forms(key), 0
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for name in ("cmdline", "environ"):
                try:
                    text = (process / name).read_bytes()
                except OSError:
                    continue
                looked += 1
                if any(form in text for form in wanted):
                    found.append(str(process / name))
    for directory in directories:
        for root, _, names in os.walk(directory):
            for name in names:
                path = Path(root) / name
                try:
                    status = path.lstat()
                    if not stat.S_ISREG(status.st_mode) or status.st_mtime < since or status.st_size > 1 << 28:
                        continue
                    text = path.read_bytes()
                except OSError:
                    continue
                looked += 1
                if any(form in text for form in wanted):
                    found.append(str(path))
    return found, looked


def all_directories(*more):
    """Where programs leave files, and `more`."""
    own = [Path.home() / ".cache" / "holdfast", Path.home() / ".ssh", *more]
    return [d for d in ("/tmp", "/var/tmp", "/var/log", "/run", "/dev/shm", *map(str, own)) if os.path.isdir(d)]


def start_of_search():
    return time.time() - 1
