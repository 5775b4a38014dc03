#!/usr/bin/python3
"""Draws the figures of bench/index from its CSV, as SVG files beside it: seconds by case, nanoseconds a row over rows, stages.

Usage: index_plot.py FILE.csv [--out DIR]

Needs Python 3 and matplotlib (tools/setup plot installs it).  Times are medians.
"""
import argparse
import os
import re

from gpu_orderby_plot import Figures, draw_bars, median_ms, plt, read_rows, select, shades_of, values_of

STAGES = ["feed_ms", "sort_ms", "load_ms"]


def kind_of(method):
    return re.sub(r"\d+$", "", method)


def best_methods(rows):
    """Of PostgreSQL the serial method and the best one with workers, of each device the best."""
    methods = values_of(rows, "method")
    best = []
    for kind in values_of([{"kind": kind_of(method)} for method in methods], "kind"):
        best.append(min((method for method in methods if kind_of(method) == kind), key=lambda method: median_ms(rows, method=method)))
    return best


def plot_cases(figures, rows):
    """Seconds by case, at the largest number of rows; a panel a case, for the best number of workers differs."""
    rows = select(rows, rows=max(values_of(rows, "rows")))
    cases = values_of(rows, "case")
    shades = shades_of(values_of(rows, "method"))
    figure, panels = plt.subplots(1, len(cases), figsize=(max(2.4 * len(cases), 7), 5), squeeze=False)
    named = {}
    for axes, case in zip(panels[0], cases):
        of_case = select(rows, case=case)
        draw_bars(axes, [case], best_methods(of_case), lambda group, method, of_case=of_case: median_ms(of_case, method=method) / 1000, shades)
        bars, labels = axes.get_legend_handles_labels()
        named.update(zip(labels, bars))
    panels[0][0].set_ylabel("seconds")
    # Below the panels, for all of them.
    figure.legend(named.values(), named.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=4, fontsize=7)
    figures.save(figure, "index", "CREATE INDEX, %.3g million rows" % (rows[0]["rows"] / 1e6), rows[0])


def plot_sizes(figures, rows):
    """Nanoseconds a row over the number of rows, of the first case."""
    rows = select(rows, case=rows[0]["case"])
    sizes = sorted(values_of(rows, "rows"))
    if len(sizes) < 2:
        return
    figure, axes = plt.subplots(figsize=(8, 5))
    kinds = list(dict.fromkeys(kind_of(method) for method in values_of(rows, "method")))
    shades = shades_of(kinds)
    for kind in kinds:
        best = [min(median_ms(select(rows, rows=size), method=method) for method in values_of(select(rows, rows=size), "method")
                    if kind_of(method) == kind) for size in sizes]
        axes.plot(sizes, [ms * 1e6 / size for ms, size in zip(best, sizes)], marker="o", color=shades[kind],
                  label={"serial": "PostgreSQL, serial", "parallel": "PostgreSQL, with workers"}.get(kind, "gpusort " + kind))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("nanoseconds a row")
    axes.grid(True, which="both", linewidth=0.3)
    axes.legend(fontsize=8)
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
    parser.add_argument("csv", help="what bench/index has written")
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
