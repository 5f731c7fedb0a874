"""plots.py RESULTS.json MACHINE DIRECTORY: draws a plot per figure as SVG. Runs in an environment that has matplotlib."""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "holdfast"
from matplotlib import pyplot  # noqa: E402

import machine  # noqa: E402

STYLE = {"none": ("Holdfast, none", "tab:blue", "o-"), "pessimist": ("Holdfast, pessimist", "tab:green", "s-"),
         "openmpi": ("Open MPI", "tab:orange", "^-"), "openmpi-pessimist": ("Open MPI, pessimist", "tab:red", "v--"),
         "mpich": ("MPICH", "tab:purple", "d-"), "disk": ("disk, O_DIRECT", "tab:gray", "x:")}
COLLECTIVES = ("collectives", "other_collectives")  # figures, each of the series that begin so
CURVES = ("latency", "latency_any_source", "bandwidth", "past_log")


def size_name(size):
    for unit, bytes_ in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_:
            return f"{size // bytes_} {unit}"
    return f"{size} B"


def rows_of(entry, prefix):
    return [row for row in entry["points"] if row["series"] == prefix or row["series"].startswith(prefix + ".")]


def curves(axes, rows, style):
    """Value over size of message, a line a competitor."""
    for name, (label, colour, line) in style.items():
        points = [(int(r["label"]), r["medians"][name]) for r in rows if name in r["medians"]]
        if points:
            axes.plot(*zip(*points), line, color=colour, label=label, markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({int(r["label"]) for r in rows})
    axes.set_xticks(sizes, [size_name(s) for s in sizes], fontsize=7)
    axes.set_ylabel(rows[0]["unit"])


def bars(axes, rows, relative):
    """A group of bars a row; relative: to the best peer."""
    names = [name for name in STYLE if any(name in r["medians"] for r in rows)]
    width = 0.8 / max(1, len(names))
    for i, name in enumerate(names):
        label, colour, _ = STYLE[name]
        heights = [height(row, name, relative) for row in rows]
        axes.bar([x + i * width for x in range(len(rows))], heights, width, color=colour, label=label)
    axes.set_xticks([x + 0.4 for x in range(len(rows))], [bar_name(row) for row in rows], fontsize=6, rotation=30, ha="right")
    if relative:
        axes.axhline(1.0, color="black", linewidth=0.5)
        axes.set_ylabel("time / best peer's")
        axes.set_yscale("log")
    else:
        axes.set_ylabel(rows[0]["unit"])


def bar_name(row):
    """What tells this bar from its neighbours: the series without the figure's and the rail's name, and the label."""
    words = [word for word in row["series"].split(".") if word not in ("shm", "tcp", "example", *COLLECTIVES)]
    return " ".join(words + ([] if row["label"] in ("seconds", "8") else [row["label"]])).replace("_", " ")


def height(row, name, relative):
    value = row["medians"].get(name, 0)
    if not relative:
        return value
    best = row["medians"].get(row["best_peer"]) if row["best_peer"] else None
    return value / best if best else 0


def draw(entry, figure, groups, path):
    """One file with a panel for every group of rows: (title, rows)."""
    def fill(rows):
        if figure in CURVES:
            return lambda axes: curves(axes, rows, STYLE)
        return lambda axes: bars(axes, rows, relative=figure in ("examples", *COLLECTIVES))
    return draw_panels(entry, [(title, fill(rows)) for title, rows in groups if rows], path)


def draw_panels(entry, panels, path):
    return draw_with_footer(f"{machine.title(entry['machine'])}; {entry['date']}; commit {entry['commit']}", panels, path)


def draw_with_footer(footer, panels, path):
    """One file; each panel has a title and a function that fills its axes."""
    if not panels:
        return False
    canvas, axes_of = pyplot.subplots(1, len(panels), figsize=(6 * len(panels), 4.4), squeeze=False)
    for axes, (title, fill) in zip(axes_of[0], panels):
        fill(axes)
        axes.set_title(title, fontsize=9)
        axes.grid(True, alpha=0.3)
    shown = {label: handle for axes in axes_of[0] for handle, label in zip(*axes.get_legend_handles_labels())}
    axes_of[0][0].legend(shown.values(), shown.keys(), fontsize=7)
    canvas.text(0.01, 0.01, footer, fontsize=7)
    canvas.tight_layout(rect=(0, 0.04, 1, 1))
    canvas.savefig(path, metadata={"Date": None})
    pyplot.close(canvas)
    return True


def figures(entry):
    """Name of the figure -> its groups of rows."""
    yield "latency", [(f"ping-pong, half a round trip, {rail}", rows_of(entry, f"latency.{rail}")) for rail in ("shm", "tcp")]
    yield "latency_any_source", [(f"ping-pong, any source, {rail}", rows_of(entry, f"latency_any_source.{rail}"))
                                 for rail in ("shm", "tcp")]
    yield "bandwidth", [(f"bandwidth, {rail}", rows_of(entry, f"bandwidth.{rail}")) for rail in ("shm", "tcp")]
    yield "past_log", [("bandwidth past the ready log, shm", rows_of(entry, "past_log"))]
    yield "message_rate", [(f"8-byte messages, {rail}",
                            rows_of(entry, f"message_rate.{rail}") + rows_of(entry, f"message_rate_any_source.{rail}"))
                           for rail in ("shm", "tcp")]
    for name in COLLECTIVES:
        yield name, [(f"{name.replace('_', ' ')}, {rail}", [r for r in rows_of(entry, name) if r["series"].endswith(rail)])
                     for rail in ("shm", "tcp")]
    yield "examples", [("examples, 4 and 8 ranks", rows_of(entry, "example"))]


def main():
    results, key, directory = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    entry = json.loads(results.read_text())["machines"][key]
    for figure, groups in figures(entry):
        path = directory / f"{figure}-{key}.svg"
        if draw(entry, figure, groups, path):
            print(path)


if __name__ == "__main__":
    main()
