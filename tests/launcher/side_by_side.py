"""Stories of one test program that mostly wait, several at a time: each in a process of its own, as if it had been named alone.

For programs whose stories share nothing: no directory, no name of a job, no processor that is to be idle.
"""

import concurrent.futures
import subprocess
import sys
import unittest


def names_in(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from names_in(part)
        else:
            yield part.id().removeprefix("__main__.")


def run_stories(module, at_once):
    """Runs every story of the module that is the main program, whose command line has no story; what each says is shown together. Returns
    an exit code."""
    names = list(names_in(unittest.defaultTestLoader.loadTestsFromModule(module)))
    failed = []

    def run(name):
        return subprocess.run([*sys.orig_argv, "--at-once", "1", name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for name, done in zip(names, pool.map(run, names)):
            if done.returncode != 0:
                failed.append(name)
                print(f"== {name}\n{done.stdout.decode(errors='replace')}", flush=True)
    print(f"{len(names)} stories, {at_once} at a time; failed: {', '.join(failed) or 'none'}", flush=True)
    return 1 if failed or not names else 0


def main():
    """unittest.main() of the main program, which may be given --at-once N."""
    at_once = 1
    while "--at-once" in sys.argv:
        at = sys.argv.index("--at-once")
        at_once = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    if at_once > 1 and len(sys.argv) == 1:
        sys.exit(run_stories(sys.modules["__main__"], at_once))
    unittest.main()
