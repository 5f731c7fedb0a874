"""choice_test.py BUILD ONCE REDUCE: the algorithms that the user asks for are the ones that run. Of five ranks the root of a broadcast
sends to four directly (linear) or to three (binomial)."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "recovery"))
import jobs  # noqa: E402

BUILD, PROGRAM, REDUCE = (Path(word).resolve() for word in sys.argv[1:4])


class Choice(unittest.TestCase):
    def sent_by_root(self, *options, nodes=1):
        options = (*options, "--collective", "barrier=dissemination")  # the program's, with one node or two
        outcome = jobs.run(BUILD, 5, [PROGRAM], nodes=nodes, options=options, timeout_s=30)
        self.assertEqual(outcome.exit_code, 0, outcome.stderr)
        return outcome.report["ranks"][0]["messages_logged"]

    def test_single(self):
        self.assertEqual(self.sent_by_root("--collective", "bcast=linear") - self.sent_by_root("--collective", "bcast=binomial"), 1)

    def test_table(self):
        """By the number of nodes; what the table does not name is as built in."""
        rules = [{"collective": "bcast", "algorithm": "binomial"}, {"collective": "bcast", "algorithm": "linear", "nodes": 2}]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as table:
            json.dump({"rules": rules}, table)
            table.flush()
            one, two = (self.sent_by_root("--collectives", table.name, nodes=nodes) for nodes in (1, 2))
        self.assertEqual(two - one, 1)
        self.assertEqual(one, self.sent_by_root("--collective", "bcast=binomial"))

    def test_of_a_later_incarnation(self):
        """A rank that is killed replays by the same algorithms; the program checks its results."""
        forced = [word for name in ("reduce=rabenseifner", "allreduce=rabenseifner", "reduce_scatter=pairwise", "scan=chain")
                  for word in ("--collective", name)]
        for call in (60, 200):
            outcome = jobs.run(BUILD, 5, [REDUCE], inject=[f"kill:rank=3,call={call}"], options=forced, timeout_s=60)
            self.assertEqual((outcome.exit_code, outcome.kills), (0, 1), outcome.stderr)


unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
