#!/usr/bin/python3
"""Draws the figures of bench/indexes/index from its CSV, as SVG files beside it: seconds by case, nanoseconds a row over rows, stages.

Usage: index_plot.py FILE.csv [--out DIR]

Needs Python 3 and matplotlib (tools/setup plot installs it).  Times are medians.
"""
import argparse
import os
import sys

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [BENCH, os.path.join(BENCH, "queries")]
from gpu_orderby_plot import Figures, draw_cases, draw_sizes, median_ms, plt, read_rows, shades_of
from result_tables.common import best_method, kind_of, select, values_of

STAGES = ["feed_ms", "sort_ms", "load_ms"]


def times_of(rows):
    """The median of each method."""
    return {method: median_ms(rows, method=method) for method in values_of(rows, "method")}


def best_methods(rows):
    """Of PostgreSQL the serial method and the best one with workers, of each device the best."""
    times = times_of(rows)
    return [best_method(times, kind) for kind in dict.fromkeys(kind_of(method) for method in times)]


def plot_cases(figures, rows):
    """Seconds by case, at the largest number of rows."""
    rows = select(rows, rows=max(values_of(rows, "rows")))
    figure = draw_cases(rows, best_methods, lambda of_case: of_case[0]["case"])
    figures.save(figure, "index", "CREATE INDEX, %.3g million rows" % (rows[0]["rows"] / 1e6), rows[0])


def plot_sizes(figures, rows):
    """Nanoseconds a row over the number of rows, of the first case."""
    rows = select(rows, case=rows[0]["case"])
    sizes = sorted(values_of(rows, "rows"))
    if len(sizes) < 2:
        return
    kinds = list(dict.fromkeys(kind_of(method) for method in values_of(rows, "method")))
    shades = shades_of(kinds)
    times = {size: times_of(select(rows, rows=size)) for size in sizes}
    figure = draw_sizes([({"serial": "PostgreSQL, serial", "parallel": "PostgreSQL, with workers"}.get(kind, "gpusort " + kind), shades[kind],
                          {size: times[size][best_method(times[size], kind)] for size in sizes}) for kind in kinds])
    figures.save(figure, "index-sizes", "CREATE INDEX, %s, by number of rows" % rows[0]["case"], rows[0])


def plot_stages(figures, rows):
    """The stages of gpusort's best methods at the largest number of rows, and what is none of them."""
    rows = [row for row in select(rows, rows=max(values_of(rows, "rows"))) if row["load_ms"]]
    bars = [(case, method) for case in values_of(rows, "case") for method in best_methods(select(rows, case=case))]
    if not bars:
        return
    figure, axes = plt.subplots(figsize=(9, 0.3 * len(bars) + 1.5))
    left = [0.0] * len(bars)
    runs = [sorted(select(rows, case=case, method=method), key=lambda row: row["ms"])[0] for case, method in bars]
    parts = [(stage[:-3], [float(run[stage]) for run in runs]) for stage in STAGES]
    parts.append(("begin, end", [max(run["ms"] - sum(float(run[stage]) for stage in STAGES), 0) for run in runs]))
    for name, lengths in parts:
        axes.barh(range(len(bars)), [ms / 1000 for ms in lengths], 0.7, left=left, label=name)
        left = [before + ms / 1000 for before, ms in zip(left, lengths)]
    axes.set_yticks(range(len(bars)))
    axes.set_yticklabels(["%s, %s" % bar for bar in bars], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    axes.grid(True, axis="x", linewidth=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figures.save(figure, "index-stages", "Stages of CREATE INDEX, the fastest run", rows[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("csv", help="what bench/indexes/index has written")
    parser.add_argument("--out", help="where the figures go (beside it)")
    options = parser.parse_args()
    figures = Figures(options.out or os.path.dirname(options.csv) or ".")
    os.makedirs(figures.out, exist_ok=True)
    # Text as text, and the same names in every run: small files that change only with the data.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "index", "font.size": 9})
    rows = read_rows(os.path.dirname(options.csv), os.path.basename(options.csv))
    for plot in (plot_cases, plot_sizes, plot_stages):
        plot(figures, rows)
    for path in figures.written:
        print(path)


if __name__ == "__main__":
    main()
