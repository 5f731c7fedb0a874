"""TCP ports for daemons of a test, below those that the system gives to connections."""

import os
import socket


def free_ports(count):
    """The first of so many in a row that nobody listens at; another process begins to look elsewhere."""
    for first in range(21000 + os.getpid() % 500 * 20, 32000, count):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")
