"""Of a rank whose node is lost, only ranks that are being recovered too may know how far it had come, or nobody: what others have written since stays (src/engine/how_far.cpp), and no
step is done twice (docs/recorder.md, Files).

    relayed_test.py BUILD RELAYED ONLY_RECEIVES [mutated]
"""

import concurrent.futures
import os
import random
import sys
import tempfile
import unittest
from pathlib import Path

import jobs
from some import some

BUILD, RELAYED, ONLY_RECEIVES = (Path(sys.argv.pop(1)).resolve() for _ in range(3))
ROUNDS = 60
SEED = int(os.environ.get("HOLDFAST_SEED", random.randrange(1 << 31)))


def places(rank):
    return "".join(f"{rank} {i:5}\n" for i in range(ROUNDS))


def story(way, inject, spares=1):
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "file"
        file.touch()
        outcome = jobs.run(BUILD, 6, [RELAYED, file, way], nodes=3, options=["--spares", str(spares)], inject=inject, timeout_s=60)
        wanted = places(4) + (places(3) if way != "straight" else "")
        if outcome.exit_code != 0 or file.read_text() != wanted:
            return f"seed {SEED}: {outcome.shell_line()}\n{outcome.stderr}\n{file.read_text()}"


def told_story(protocol, inject):
    with tempfile.TemporaryDirectory() as directory:
        outcome = jobs.run(BUILD, 4, [ONLY_RECEIVES, directory], nodes=2, options=["--spares", "1", "--protocol", protocol], inject=inject, timeout_s=60)
        files = {file.name: file.read_text() if file.is_file() else None for file in Path(directory).iterdir()}
    wanted = {"count": "40\n"} | {f"done_{i}": f"{i}\n" for i in range(40)} | {f"open_{i}": None for i in range(37, 40)}
    if outcome.exit_code != 0 or files != wanted:
        return f"seed {SEED}: {outcome.shell_line()}\n{outcome.stderr}\n{files}"


def session_story(inject):
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "file"
        file.touch()
        outcome = jobs.run(BUILD, 4, [ONLY_RECEIVES.with_name("recovery_left_early"), file], nodes=2, options=["--spares", "1"], inject=inject, timeout_s=60)
        if outcome.exit_code != 0 or file.read_text() != f"{ROUNDS - 1:9}\n":
            return f"seed {SEED}: {outcome.shell_line()}\n{outcome.stderr}\n{file.read_text()}"


class Relayed(unittest.TestCase):
    def check(self, stories, story=story):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failed = [said for said in pool.map(lambda s: story(*s), stories) if said]
        self.assertEqual(failed, [], "\n".join(failed))

    def test_what_only_ranks_of_the_same_node_had(self):
        self.check((way, [f"node:1,at={at}ms"]) for way in ("relayed", "together") for at in some(range(60, 240, 20), 2))

    def test_what_a_rank_had_that_is_being_recovered(self):
        self.check(("straight", [f"node:1,at={at}ms", f"kill:rank=4,at={at - before}ms"]) for at, before in some([(at, before) for at in range(60, 240, 20) for before in (0, 2, 5)], 3))

    def test_a_rank_that_is_killed_while_another_needs_it(self):
        self.check([("together", ["node:1,at=70ms", "kill:rank=4,at=112ms", "kill:rank=3,at=206ms"])] * 3)

    def test_a_rank_that_only_receives(self):
        at = random.Random(SEED)
        self.check([(protocol, [f"node:1,at={at.randrange(20, 200)}ms", *([f"kill:rank=2,at={at.randrange(20, 400)}ms"] if i % 2 else [])])
                    for protocol in ("pessimist", "optimist") for i in range(3)], told_story)

    def test_a_peer_that_has_left_its_session(self):
        self.check([([f"node:1,at={at}ms"],) for at in some(range(40, 160, 20), 3)], session_story)

    def test_ranks_that_are_killed_again(self):
        self.check((random.Random(seed).choice(("relayed", "straight", "together")), self.deaths(random.Random(seed)), 2) for seed in some(range(SEED, SEED + 40), 4))

    @staticmethod
    def deaths(drawn):
        return [f"node:1,at={drawn.randrange(60, 240)}ms",
                *(f"kill:rank={drawn.randrange(1, 6)},at={drawn.randrange(50, 600)}ms" for _ in range(drawn.randrange(1, 4)))]


if __name__ == "__main__":
    seen = ["Relayed.test_what_only_ranks_of_the_same_node_had", "Relayed.test_a_rank_that_is_killed_while_another_needs_it"]
    unittest.main(argv=[*sys.argv[:1], *seen] if sys.argv[1:] == ["mutated"] else sys.argv)
