"""Segments for logs: limits, disk, exhaustion, survival of their rank."""

import harness
from harness import Case


class Segments(Case):
    def raw(self, *words):
        return [harness.RAW, *words]

    def test_memory_then_disk_then_exhausted(self):
        self.expect(0, "-n", 1, "--log-memory", "1M", "--log-disk", "512K", *self.raw("hello", "init", "logs:100", "finalize"))
        lines = self.out.splitlines()
        self.assertEqual(lines[-1], f"exhausted after {len(lines) - 1}")
        kinds = [line.split()[2] for line in lines[:-1]]
        self.assertEqual(kinds, 8 * ["memory"] + 4 * ["disk"])

    def test_bad_directory(self):
        self.expect(2, "-n", 1, "--log-memory", "1M", "--log-dir", "/no/such", *self.raw("hello", "init", "logs:100", "finalize"),
                    err="cannot use the log directory /no/such")

    def test_logs_outlive_their_rank(self):
        self.expect(0, "-n", 2, *self.raw("hello", "init", "r1?0?logs:2", "r1?0?signal:9", "r0?wait:1:1:1", "r0?segment:1:0:1:0",
                                          "r0?segment:1:0:1:1", "r0?segment:1:0:1:2", "r0?segment:1:0:0:0", "r1?wait:0:0:3", "finalize"))
        self.assertEqual([line for line in self.out.splitlines() if not line.startswith("log")],
                         ["segment 65 read-only", "segment 66 read-only", "absent", "segment 72 read-only"])


if __name__ == "__main__":
    harness.main()
