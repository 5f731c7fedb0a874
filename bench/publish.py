"""A directory of docs: plots and a page with the tables of each machine that has been measured."""

import json
import shutil

import machine
import results
import table

HEAD = """# Measured

Written by `make bench BENCH_ARGS=--publish`; how and what is measured: [bench/README.md](../../bench/README.md).
"""


def publish(work, key, entry, name="bench", head=HEAD, tables=table.as_markdown):
    target = machine.ROOT / "docs" / name
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob(f"*-{key}.svg"):
        old.unlink()
    for plot in sorted(work.glob(f"*-{key}.svg")):
        shutil.copy(plot, target)
    results.store(target / "results.json", key, entry)
    machines = json.loads((target / "results.json").read_text())["machines"]
    (target / "README.md").write_text("\n".join([head, *(section(target, k, e, tables) for k, e in machines.items())]))
    return target


def section(target, key, entry, tables):
    plots = [f"![{p.name[: -len(key) - 5]}]({p.name})" for p in sorted(target.glob(f"*-{key}.svg"))]
    return "\n".join([f"## {machine.title(entry['machine'])}\n", tables(entry), "", *plots, ""])
