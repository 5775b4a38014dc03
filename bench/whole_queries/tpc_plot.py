#!/usr/bin/python3
"""Draws the figures of bench/whole_queries/tpc from its runs.csv, as SVG files beside it: how many times as fast as off, by query; planning.

Usage: tpc_plot.py DIR [--out DIR]

Needs Python 3 and matplotlib (tools/setup plot installs it).  Times are medians.  Queries whose plan is off's are left out.
"""
import argparse
import os
import sys

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [BENCH, os.path.join(BENCH, "queries")]
from gpu_orderby_plot import Figures, plt
from result_tables.common import read_rows
from result_tables.tpc import NOISE, changed, groups_of, label, ratio

COLOURS = {"auto": "#c1121f", "force": "#e08e0b", "noise": "#8d99ae"}


def name_of(key):
    benchmark, scale, setting, jit = label(key)
    return ("tpc-%s-%s-%s-jit-%s" % (benchmark, scale, setting, jit)).replace(" ", "-")


def title_of(key):
    benchmark, scale, setting, jit = label(key)
    return "%s, scale factor %s, %s, JIT %s" % (benchmark, scale, setting, jit)


def plot_ratios(figures, key, group):
    """A bar a query and mode, the best of auto above."""
    ratios = {mode: {query: ratio(off, line) for query, off, line in changed(group, mode)} for mode in COLOURS}
    queries = sorted({query for of_mode in ratios.values() for query in of_mode}, key=lambda query: -ratios["auto"].get(query, 1.0))
    modes = [mode for mode in COLOURS if ratios[mode]]
    if not queries:
        return
    figure, axes = plt.subplots(figsize=(8, 0.22 * len(queries) + 1.5))
    height = 0.8 / len(modes)
    for number, mode in enumerate(modes):
        present = [(at + (number - (len(modes) - 1) / 2) * height, ratios[mode][query] - 1) for at, query in enumerate(queries) if query in ratios[mode]]
        axes.barh([at for at, _ in present], [value for _, value in present], height, left=1, label=mode, color=COLOURS[mode])
    axes.axvspan(1 / NOISE, NOISE, color="#000000", alpha=0.08, linewidth=0)
    axes.set_xscale("log")
    axes.set_yticks(range(len(queries)))
    axes.set_yticklabels(queries, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("off / mode")
    axes.grid(True, which="both", axis="x", linewidth=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figures.save(figure, name_of(key), title_of(key), next(iter(group.values()))["off"])


def plot_planning(figures, key, group):
    """Planning in the modes over that in off, a point a query."""
    figure, axes = plt.subplots(figsize=(6, 5))
    for mode in ("auto", "force"):
        points = [(lines["off"]["planning_ms"], lines[mode]["planning_ms"]) for lines in group.values() if mode in lines and lines[mode]["planning_ms"] != ""]
        axes.scatter([off for off, _ in points], [ms for _, ms in points], 12, label=mode, color=COLOURS[mode])
    longest = max((lines["off"]["planning_ms"] for lines in group.values() if lines["off"]["planning_ms"] != ""), default=0)
    if not longest:
        return
    axes.plot([longest / 1000, longest], [longest / 1000, longest], color="#000000", linewidth=0.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("planning in off, ms")
    axes.set_ylabel("in the mode, ms")
    axes.grid(True, which="both", linewidth=0.3)
    axes.legend(fontsize=7)
    figures.save(figure, name_of(key) + "-planning", "Planning: " + title_of(key), next(iter(group.values()))["off"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("directory", help="where bench/whole_queries/tpc has written runs.csv")
    parser.add_argument("--out", help="where the figures go (there)")
    options = parser.parse_args()
    figures = Figures(options.out or options.directory)
    os.makedirs(figures.out, exist_ok=True)
    # Text as text, and the same names in every run: small files that change only with the data.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tpc", "font.size": 9})
    for key, group in groups_of(read_rows(os.path.abspath(options.directory), "runs.csv")).items():
        plot_ratios(figures, key, group)
        plot_planning(figures, key, group)
    for path in figures.written:
        print(path)


if __name__ == "__main__":
    main()
