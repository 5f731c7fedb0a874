"""docs/bench: plots and a page with the table of each machine that has been measured."""

import json
import shutil

import machine
import results
import table

HEAD = """# Measured

Written by `make bench BENCH_ARGS=--publish`; how and what is measured: [bench/README.md](../../bench/README.md).
"""


def publish(work, key, entry):
    target = machine.ROOT / "docs" / "bench"
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob(f"*-{key}.svg"):
        old.unlink()
    for plot in sorted(work.glob(f"*-{key}.svg")):
        shutil.copy(plot, target)
    results.store(target / "results.json", key, entry)
    machines = json.loads((target / "results.json").read_text())["machines"]
    (target / "README.md").write_text("\n".join([HEAD, *(section(target, k, e) for k, e in machines.items())]))
    return target


def section(target, key, entry):
    plots = [f"![{p.name[: -len(key) - 5]}]({p.name})" for p in sorted(target.glob(f"*-{key}.svg"))]
    return "\n".join([f"## {machine.title(entry['machine'])}\n", table.as_markdown(entry), "", *plots, ""])
