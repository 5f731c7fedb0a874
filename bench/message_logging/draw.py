"""draw.py RESULTS.json MACHINE DIRECTORY: a plot per figure of the paper as SVG. Runs in an environment that has matplotlib."""

import json
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import evaluate  # noqa: E402
import page  # noqa: E402
import plots  # noqa: E402
from measured import KERNELS, LOGGER_PLACES, PLACES, WITH_EVENTS, ranks_of  # noqa: E402
from variants import LOGGERS, NO_LOG, NONE, OPTIMIST  # noqa: E402

COLOURS = {"none": "tab:blue", "pessimist": "tab:green", "optimist": "tab:orange"}


def style(variant):
    """Label, colour, line of a variant."""
    protocol = variant.removesuffix(NO_LOG)
    no_log = variant != protocol
    return protocol + (", no sender log" if no_log else ""), COLOURS.get(protocol, "tab:red"), "s--" if no_log else "o-"


def variants_of(entry):
    return [NONE, *(p + kind for p in page.loggers(entry) for kind in ("", NO_LOG))]


def rows_of(entry, name):
    """As of results.summarize, as far as plots.curves looks at them."""
    rounds = entry["rounds"]
    return [{"label": label, "unit": "us", "medians": medians_of(entry, name, label)} for label in evaluate.labels(rounds, name)]


def medians_of(entry, name, label):
    found = {v: evaluate.value(entry["rounds"], name, label, v) for v in variants_of(entry)}
    return {v: value for v, value in found.items() if value is not None}


def ping_pong(entry, source):
    """Figures 3 and 4: a panel a place."""
    for place in PLACES:
        if rows := rows_of(entry, f"pingpong.{source}.{place}"):
            yield page.PLACE_NAMES[place], lambda axes, rows=rows: plots.curves(axes, rows, {v: style(v) for v in variants_of(entry)})


def scaling(entry):
    """Figure 5: ratio to `none` over the number of ranks, a panel a kernel."""
    for kernel in KERNELS:
        series = {p: [(n, ratio) for n in ranks_of(kernel, "shm")
                      if (ratio := evaluate.to_none(entry["rounds"], f"{kernel}.n{n}.shm", "seconds", p)) is not None]
                  for p in page.loggers(entry)}
        if any(series.values()):
            yield kernel.upper(), lambda axes, series=series: ratio_lines(axes, series)


def ratio_lines(axes, series):
    for variant, points in series.items():
        label, colour, line = style(variant)
        axes.plot(*zip(*points), line, color=colour, label=label, markersize=4)
    axes.axhline(1.0, color="black", linewidth=0.5)
    axes.set_xlabel("ranks")
    axes.set_ylabel("time / none's")


def overhead(entry):
    """Figure 6: ratio to `none` of each kernel with four ranks, a panel a place."""
    for place in PLACES:
        ratios = {v: [evaluate.to_none(entry["rounds"], f"{k}.n4.{place}", "seconds", v) or 0 for k in KERNELS]
                  for v in variants_of(entry) if v != NONE}
        if any(any(values) for values in ratios.values()):
            yield page.PLACE_NAMES[place], lambda axes, ratios=ratios: ratio_bars(axes, ratios)


def ratio_bars(axes, ratios):
    width = 0.8 / len(ratios)
    for i, (variant, heights) in enumerate(ratios.items()):
        label, colour, line = style(variant)
        axes.bar([x + i * width for x in range(len(KERNELS))], heights, width, color=colour, label=label, alpha=0.5 if "--" in line else 1)
    axes.set_xticks([x + 0.4 for x in range(len(KERNELS))], [k.upper() for k in KERNELS])
    axes.axhline(1.0, color="black", linewidth=0.5)
    axes.set_ylabel("time / none's")


def loggers(entry):
    """Bytes of dependencies a message over the number of event loggers, a panel a place."""
    for place in LOGGER_PLACES:
        variants = [OPTIMIST + kind for kind in ("", *LOGGERS)]
        bytes_of = {kernel: [evaluate.piggybacked(entry["rounds"], f"loggers.{kernel}.n4.{place}", v) for v in variants]
                    for kernel in WITH_EVENTS}
        bytes_of = {kernel: values for kernel, values in bytes_of.items() if None not in values}
        if bytes_of:
            yield page.PLACE_NAMES[place], lambda axes, bytes_of=bytes_of: logger_bars(axes, bytes_of)


def logger_bars(axes, bytes_of):
    width = 0.8 / len(bytes_of)
    for i, (kernel, heights) in enumerate(bytes_of.items()):
        axes.bar([x + i * width for x in range(len(heights))], heights, width, label=kernel.upper())
    axes.set_xticks([x + 0.4 for x in range(1 + len(LOGGERS))], ["none: nodes hold\neach other's", *map(str, LOGGERS.values())])
    axes.set_xlabel("event loggers")
    axes.set_ylabel("bytes of dependencies a message")


def main():
    results, key, directory = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    entry = json.loads(results.read_text())["machines"][key]
    for figure, panels in (("pingpong_named", ping_pong(entry, "named")), ("pingpong_any", ping_pong(entry, "any")),
                           ("ranks", scaling(entry)), ("kernels", overhead(entry)), ("loggers", loggers(entry))):
        path = directory / f"{figure}-{key}.svg"
        if plots.draw_panels(entry, list(panels), path):
            print(path)


if __name__ == "__main__":
    main()
