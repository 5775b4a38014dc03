#!/usr/bin/python3
"""Draws the figures of bench/queries/gpu_orderby from its runs.csv and details.csv, as SVG files beside them, and prints the ratios that count.

Usage: gpu_orderby_plot.py DIR [--out DIR]

Needs Python 3 and matplotlib (Debian: python3-matplotlib).  A suite without runs is left out.  Times are medians; where the same case was
run in several visits, runs of the same method are taken together.
"""
import argparse
import csv
import os
import re
import statistics
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("gpu_orderby_plot: needs matplotlib (Debian: apt-get install python3-matplotlib)")
matplotlib.use("svg")
import matplotlib.pyplot as plt

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from result_tables.common import select, values_of

NUMBERS = {"rows": int, "sessions": int, "sort": int, "run": int, "ms": float, "value": float}
COLOURS = {"scan": "#8d99ae", "serial": "#1d4e89", "parallel": "#5fa8d3", "cuda": "#c1121f", "cpu": "#e08e0b"}
STAGES = ["queue", "feed", "sort", "spill", "merge", "return"]
# What a device does while another stage lasts: copying while rows are read, gathering while they are
# returned.
WITHIN = {"transfer": "feed", "gather": "return"}


def read_rows(directory, name):
    """The lines of a CSV file, numbers as numbers; none if there is no such file."""
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for column in NUMBERS.keys() & row.keys():
            row[column] = NUMBERS[column](row[column])
    return rows


def median_ms(rows, /, **wanted):
    """The median time of the runs that match; None if there are none."""
    times = [row["ms"] for row in select(rows, **wanted)]
    return statistics.median(times) if times else None


def split_method(method):
    """cuda8-64MB: cuda, 8, 64MB."""
    return re.fullmatch(r"([a-z]+)(\d*)(?:-(.*))?", method).groups()


def method_label(method):
    kind, workers, memory = split_method(method)
    if kind in ("scan", "serial"):
        return {"scan": "unsorted scan", "serial": "PostgreSQL, serial"}[kind]
    name = "PostgreSQL" if kind == "parallel" else "gpusort " + kind
    feed = "serial feed" if workers == "0" else workers + " workers"
    return "%s, %s%s" % (name, feed, ", " + memory if memory else "")


def shades_of(methods):
    """A colour for each method: kinds differ by hue, methods of one kind by how light they are."""
    shades = {}
    for method in methods:
        kind = split_method(method)[0]
        of_kind = [other for other in methods if split_method(other)[0] == kind]
        light = 0.6 * of_kind.index(method) / max(len(of_kind), 1)
        base = matplotlib.colors.to_rgb(COLOURS.get(kind, "#7b6d8d"))
        shades[method] = tuple(part + (1 - part) * light for part in base)
    return shades


def draw_bars(axes, groups, bars, height, shades):
    """Groups of bars side by side, each with its value; height(group, bar) may be None."""
    width = 0.85 / max(len(bars), 1)
    for number, bar in enumerate(bars):
        present = [(at + (number - (len(bars) - 1) / 2) * width, height(group, bar)) for at, group in enumerate(groups)
                   if height(group, bar) is not None]
        drawn = axes.bar([at for at, _ in present], [value for _, value in present], width, label=method_label(bar), color=shades[bar])
        axes.bar_label(drawn, fmt="%.3g", fontsize=6, rotation=90, padding=2)
    axes.set_xticks(range(len(groups)))
    axes.set_xticklabels(groups, rotation=15 if len(groups) > 4 else 0, ha="right" if len(groups) > 4 else "center", fontsize=8)
    axes.margins(y=0.2)
    axes.grid(True, axis="y", linewidth=0.3)


def draw_cases(rows, methods_of, name_of):
    """A figure of seconds by case and method: a panel a case, for the methods differ.  Both functions are given the rows of a case."""
    cases = values_of(rows, "case")
    shades = shades_of(values_of(rows, "method"))
    figure, panels = plt.subplots(1, len(cases), figsize=(max(2.6 * len(cases), 7), 5), squeeze=False)
    named = {}
    for axes, case in zip(panels[0], cases):
        of_case = select(rows, case=case)
        draw_bars(axes, [name_of(of_case)], methods_of(of_case), lambda group, method, of_case=of_case: median_ms(of_case, method=method) / 1000,
                  shades)
        bars, labels = axes.get_legend_handles_labels()
        named.update(zip(labels, bars))
    panels[0][0].set_ylabel("seconds")
    # Below the panels, for all of them.
    figure.legend(named.values(), named.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=4, fontsize=7)
    return figure


def draw_sizes(curves):
    """A figure of nanoseconds a row over the number of rows.  A curve is its label, its colour, and milliseconds by number of rows."""
    figure, axes = plt.subplots(figsize=(8, 5))
    for label, colour, times in curves:
        sizes = sorted(times)
        axes.plot(sizes, [times[size] * 1e6 / size for size in sizes], marker="o", label=label, color=colour)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("nanoseconds a row")
    axes.grid(True, which="both", linewidth=0.3)
    axes.legend(fontsize=8)
    return figure


class Figures:
    """Writes figures, each with where it comes from below it."""

    def __init__(self, out):
        self.out = out
        self.written = []

    def save(self, figure, name, title, source):
        figure.suptitle(title, fontsize=11)
        figure.text(0.01, 0.005, "%s; %s cores; PostgreSQL %s; commit %s; %s" % (source["card"], source["cores"], source["postgresql"],
                    source["commit"], source["date"][:10]), fontsize=6, color="#555555")
        figure.tight_layout(rect=(0, 0.02, 1, 0.99))
        path = os.path.join(self.out, name + ".svg")
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
        self.written.append(path)


def plot_cases(figures, runs, suite, title):
    """Seconds by case and method."""
    rows = select(runs, suite=suite)
    if not rows:
        return
    figure = draw_cases(rows, lambda of_case: values_of(of_case, "method"),
                        lambda of_case: "%s\n%.3g million rows" % (of_case[0]["case"], of_case[0]["rows"] / 1e6))
    figures.save(figure, suite, title, rows[0])


def plot_sizes(figures, runs):
    """Nanoseconds a row over the number of rows."""
    rows = select(runs, suite="sizes")
    if not rows:
        return
    methods = values_of(rows, "method")
    shades = shades_of(methods)
    figure = draw_sizes([(method_label(method), shades[method],
                          {size: median_ms(rows, method=method, rows=size) for size in values_of(select(rows, method=method), "rows")})
                         for method in methods])
    figures.save(figure, "sizes", "ORDER BY int8, drained, by number of rows", rows[0])


def plot_workers(figures, runs):
    """Seconds over the number of workers; serial plans and feeds have none."""
    rows = select(runs, suite="workers")
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(8, 5))
    for kind, label in (("parallel", "PostgreSQL"), ("cpu", "gpusort cpu"), ("cuda", "gpusort cuda")):
        points = {}
        for method in values_of(rows, "method"):
            method_kind, workers, _ = split_method(method)
            if method_kind == kind or (kind == "parallel" and method_kind == "serial"):
                points[int(workers or 0)] = median_ms(rows, method=method) / 1000
        axes.plot(sorted(points), [points[workers] for workers in sorted(points)], marker="o", label=label, color=COLOURS[kind])
    scan = median_ms(rows, method="scan")
    if scan:
        axes.axhline(scan / 1000, color=COLOURS["scan"], linestyle="--", label="unsorted scan, one process")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("parallel workers, beside the leader")
    axes.set_ylabel("seconds")
    axes.grid(True, linewidth=0.3)
    axes.legend(fontsize=8)
    figures.save(figure, "workers", "ORDER BY int8, %.3g million rows, by workers" % (rows[0]["rows"] / 1e6), rows[0])


def plot_sessions(figures, runs):
    """Rows a second, all sessions together."""
    rows = select(runs, suite="sessions")
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(9, 5))
    sessions = [str(number) for number in values_of(rows, "sessions")]

    def throughput(group, method):
        ms = median_ms(rows, sessions=int(group), method=method)
        return ms and rows[0]["rows"] * int(group) / ms / 1000

    draw_bars(axes, sessions, values_of(rows, "method"), throughput,
              shades_of(values_of(rows, "method")))
    axes.set_xlabel("sessions at once, each sorting %.3g million rows" % (rows[0]["rows"] / 1e6))
    axes.set_ylabel("million rows a second, all together")
    axes.legend(fontsize=7)
    figures.save(figure, "sessions", "Sessions that sort at once", rows[0])


def plot_startup(figures, runs):
    """The first, second and third sort of new connections, connection by connection."""
    rows = select(runs, suite="startup")
    if not rows:
        return
    cases = values_of(rows, "case")
    figure, panels = plt.subplots(1, len(cases), figsize=(6 * len(cases), 4.5), squeeze=False)
    for axes, case in zip(panels[0], cases):
        of_case = select(rows, case=case)
        shades = shades_of(values_of(of_case, "method"))
        for method in values_of(of_case, "method"):
            for sort, line in ((1, "-"), (2, "--")):
                points = sorted(select(of_case, method=method, sort=sort), key=lambda row: row["run"])
                axes.plot([row["run"] for row in points], [row["ms"] for row in points], line, marker=".", color=shades[method],
                          label="%s, sort %d of the connection" % (method_label(method), sort))
        axes.set_title("%s rows" % format(of_case[0]["rows"], ","), fontsize=9)
        axes.set_xlabel("connection, one after the other")
        axes.set_ylim(bottom=0)
        axes.grid(True, linewidth=0.3)
        axes.legend(fontsize=6)
    panels[0][0].set_ylabel("ms")
    figures.save(figure, "startup", "New connections: what the first sort costs more", rows[0])


def plot_stages(figures, details):
    """Where the time went by EXPLAIN ANALYZE, a bar a case and method; thin lines: what the device did meanwhile."""
    rows = [row for row in details if row["name"].endswith(" ms")]
    for suite in values_of(rows, "suite"):
        of_suite = select(rows, suite=suite)
        # The last run counts.
        seconds = {(row["case"], row["rows"], row["method"], row["name"][:-3]): row["value"] / 1000 for row in of_suite}
        bars = list(dict.fromkeys(key[:3] for key in seconds))
        present = {key[3] for key in seconds}
        figure, axes = plt.subplots(figsize=(9, 0.3 * len(bars) + 1.5))
        left = [0.0] * len(bars)
        starts = {}
        for number, stage in enumerate(stage for stage in STAGES if stage in present):
            starts[stage] = left
            lengths = [seconds.get(bar + (stage,), 0.0) for bar in bars]
            axes.barh(range(len(bars)), lengths, 0.7, left=left, label=stage, color=plt.get_cmap("tab10")(number))
            left = [before + length for before, length in zip(left, lengths)]
        for shade, (stage, around) in zip(("#222222", "#888888"), WITHIN.items()):
            if stage in present and around in starts:
                axes.barh(range(len(bars)), [seconds.get(bar + (stage,), 0.0) for bar in bars], 0.15, left=starts[around],
                          label=stage + ", during " + around, color=shade)
        axes.set_yticks(range(len(bars)))
        axes.set_yticklabels(["%s, %s" % (case, method_label(method)) for case, _, method in bars], fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("seconds")
        axes.grid(True, axis="x", linewidth=0.3)
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
        figures.save(figure, suite + "-stages", "Stages by EXPLAIN ANALYZE: " + suite, of_suite[0])


def best_ms(runs, kinds, **wanted):
    """The method with the smallest median among those of the kinds, and that median; kinds: an expression for the whole name."""
    medians = [(median_ms(runs, method=method, **wanted), method) for method in values_of(select(runs, **wanted), "method")
               if re.fullmatch(kinds, method)]
    return min(medians) if medians else (None, None)


def headline_ratios(runs):
    """Lines about the suite headline: what is compared, ratio, how."""
    for case in values_of(select(runs, suite="headline"), "case"):
        of_case = select(runs, suite="headline", case=case)
        for label, other, ours in (
                ("best parallel plan / cuda", r"parallel\d+", r"cuda[1-9]\d*"), ("serial Sort / cuda", "serial", r"cuda[1-9]\d*"),
                ("unsorted scan / cuda", "scan", r"cuda[1-9]\d*"), ("serial Sort / cuda, serial feed", "serial", "cuda0"),
                ("best parallel plan / cpu", r"parallel\d+", r"cpu[1-9]\d*"), ("cuda / cuda with 64 MB", r"cuda[1-9]\d*", r"cuda[1-9]\d*-64MB")):
            (slow, slow_method), (fast, fast_method) = best_ms(of_case, other), best_ms(of_case, ours)
            if slow and fast:
                yield case + ": " + label, slow / fast, "%s %.0f ms, %s %.0f ms" % (slow_method, slow, fast_method, fast)


def other_ratios(runs):
    """The same of sizes, sessions and start-up."""
    sizes = select(runs, suite="sizes")
    millions = {size: best_ms(sizes, r"cuda[1-9]\d*", rows=size) for size in values_of(sizes, "rows")}
    if len(millions) > 1 and all(ms for ms, _ in millions.values()):
        large = max(millions)
        small = min(millions, key=lambda size: abs(size - large / 20))
        per_row = {size: millions[size][0] * 1e6 / size for size in (small, large)}
        yield ("time a row, %d rows / %d rows" % (large, small), per_row[large] / per_row[small],
               "%.1f ns, %.1f ns" % (per_row[large], per_row[small]))
    sessions = select(runs, suite="sessions")
    counts = values_of(sessions, "sessions")
    if len(counts) > 1:
        for method in values_of(sessions, "method"):
            one, many = (median_ms(sessions, method=method, sessions=count) for count in (min(counts), max(counts)))
            if one and many:
                yield ("%s: throughput of %d sessions / of %d" % (method, max(counts), min(counts)), one * max(counts) / many / min(counts),
                       "%.0f ms, %.0f ms" % (many, one))


def startup_differences(runs):
    """Milliseconds that the first sort of a new connection takes beyond the second one's."""
    startup = select(runs, suite="startup")
    for case in values_of(startup, "case"):
        for method in values_of(select(startup, case=case), "method"):
            first, second = (median_ms(startup, case=case, method=method, sort=sort) for sort in (1, 2))
            yield "%s, %s: first sort of a connection - second" % (case, method_label(method)), first - second, "%.1f ms, %.1f ms" % (first, second)


def memory_peaks(details):
    """Megabytes of the backends that had gpusort.work_mem = 64MB: their own and those shared by memfd."""
    rows = [row for row in details if row["method"].endswith("-64MB")]
    for case, method in dict.fromkeys((row["case"], row["method"]) for row in rows):
        own, shared = ([row["value"] / 1024 for row in select(rows, case=case, method=method, name=name)]
                       for name in ("own memory kB", "shared by memfd kB"))
        if own and shared:
            yield "%s, %s: backend's memory, MB" % (case, method_label(method)), own[-1] + shared[-1], "own %.0f, shared %.0f" % (own[-1], shared[-1])


def print_figures(lines):
    for label, value, how in lines:
        print("%-75s %8.2f  (%s)" % (label, value, how))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("directory", help="where runs.csv and details.csv are")
    parser.add_argument("--out", help="where the figures go (there too)")
    options = parser.parse_args()
    figures = Figures(options.out or options.directory)
    os.makedirs(figures.out, exist_ok=True)
    # Text as text, and the same names in every run: small files that change only with the data.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "gpu_orderby", "font.size": 9})

    runs = read_rows(options.directory, "runs.csv")
    plot_cases(figures, runs, "headline", "50 million rows, drained")
    plot_cases(figures, runs, "types", "Types of keys, drained")
    plot_cases(figures, runs, "widths", "Widths of rows, ORDER BY int8, drained")
    plot_cases(figures, runs, "outputs", "Where the rows go, ORDER BY int8")
    plot_sizes(figures, runs)
    plot_workers(figures, runs)
    plot_sessions(figures, runs)
    plot_startup(figures, runs)
    details = read_rows(options.directory, "details.csv")
    plot_stages(figures, details)
    for lines in (headline_ratios(runs), other_ratios(runs), startup_differences(runs), memory_peaks(details)):
        print_figures(lines)
    for path in figures.written:
        print(path)
    if not figures.written:
        sys.exit("gpu_orderby_plot: no runs of gpu_orderby in " + options.directory)


if __name__ == "__main__":
    main()
