"""draw_simulated.py RESULTS.json DIRECTORY: figure 5 with many ranks. Runs in an environment that has matplotlib."""

import json
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import plots  # noqa: E402
import simulated  # noqa: E402
from draw import COLOURS  # noqa: E402


def ratios(axes, rows):
    found = simulated.by_ranks(rows)
    for protocol in simulated.PROTOCOLS:
        axes.plot(list(found), [float(of[protocol]["ratio"]) for of in found.values()], "o-", color=COLOURS[protocol], label=protocol, markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(found), map(str, found))
    axes.axhline(1.0, color="black", linewidth=0.5)
    axes.set_xlabel("ranks")
    axes.set_ylabel("time / none's")


def main():
    entry, path = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]) / "simulated.svg"
    panels = [(f"{kernel.upper()}, one event logger", lambda axes, rows=rows: ratios(axes, rows)) for kernel, rows in entry["scaling"].items()]
    panels.append(("LU, every line from any source, no event logger", lambda axes: ratios(axes, entry["lines"])))
    if plots.draw_with_footer("holdfast-sim time; docs/message-logging/simulated.md", panels, path):
        print(path)


if __name__ == "__main__":
    main()
