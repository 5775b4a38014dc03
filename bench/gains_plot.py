#!/usr/bin/python3
"""Draws what gpusort gains, the figure at the top of README.md, out of the results in bench/results.

Usage: gains_plot.py            writes docs/gains.svg
       gains_plot.py --check    is it what the results give?  (make lint)

A bar is how many times as fast gpusort's fastest plan, in mode force, was as PostgreSQL's fastest that was
timed in the same run; beside it are the medians.  Which runs: CASES below.  Needs Python 3 alone, so
that it can be checked everywhere.
"""
import os
import re
import statistics
import sys
from html import escape

from result_tables.common import read_rows, select

FIGURE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "gains.svg")

# Groups of bars: what, in which file, of which case and rows.  What has figures with and without a card has
# them of one run.
CARD = "One NVIDIA card, 16 cores"
HEADLINE = "gpu-h200-2026-11-28-headline/runs.csv"
INDEX = "gpu-h200-2026-11-22-index/50-million.csv"
CASES = [
    (CARD, "#76b900", [
        ("ORDER BY int8, 50 million rows", HEADLINE, {"suite": "headline", "case": "int8"}),
        ("ORDER BY text, int8, 50 million rows", HEADLINE, {"suite": "headline", "case": "text C, int8"}),
        ("CREATE INDEX (int8), 50 million rows", INDEX, {"case": "int8 random"}),
        ("CREATE INDEX (uuid), 20 million rows", "gpu-h200-2026-11-22-index/20-million.csv", {"case": "uuid"}),
        ("row_number() of partitions, 50 million rows", "gpu-h200-2026-11-23-orderby-1790869/window.csv", {"case": "window"}),
    ]),
    ("No card, 16 cores", "#0077b6", [
        ("ORDER BY int8, 50 million rows", HEADLINE, {"suite": "headline", "case": "int8"}),
        ("ORDER BY text, int8, 50 million rows", HEADLINE, {"suite": "headline", "case": "text C, int8"}),
        ("CREATE INDEX (int8), 50 million rows", INDEX, {"case": "int8 random"}),
        ("CREATE INDEX (uuid), 20 million rows", "gpu-h200-2026-11-22-index/20-million.csv", {"case": "uuid"}),
        ("row_number() of partitions, 50 million rows", "gpu-h200-2026-11-23-orderby-1790869/window.csv", {"case": "window"}),
        ("ORDER BY text in en_US.UTF-8, 50 million rows", "gpu-h100-2026-11-23-orderby-7163589/words.csv", {"case": "words en_US"}),
    ]),
    ("No card, 2 cores", "#5fa8d3", [
        ("ORDER BY int8, 20 million rows", "orderby-two-cores-2026-11-25/int8-15-at-the-end.csv", {"case": "int8"}),
        ("the same in order already, 4 million rows", "orderby-two-cores-2026-11-26/distributions-2a2fb58.csv", {"case": "int8", "distribution": "sorted"}),
        ("ORDER BY text in ICU, 2 million rows", "orderby-two-cores-2026-11-26/text-2a2fb58.csv", {"case": "words ICU"}),
        ("ORDER BY text in en_US.UTF-8, 10 million rows", "orderby-two-cores-2026-11-23/cd9b170.csv", {"case": "words en_US"}),
        ("row_number() of partitions, 10 million rows", "orderby-two-cores-2026-11-23/cd9b170.csv", {"case": "window"}),
    ]),
]

# Whose method, by its name without workers and memory.
POSTGRESQL = {"serial", "parallel"}
DEVICES = {CARD: {"cuda"}, "No card, 16 cores": {"cpu"}, "No card, 2 cores": {"cpu"}}


def rows_of(file, wanted):
    rows = select(read_rows("", file), **wanted)
    if not rows:
        sys.exit("gains_plot: %s has no %s" % (file, wanted))
    return rows


def medians(rows):
    """Milliseconds by method, of a run of bench/queries/orderby, bench/queries/gpu_orderby or bench/indexes/index."""
    if "median_ms" in rows[0]:
        return {row["method"]: row["median_ms"] for row in rows}
    methods = dict.fromkeys(row["method"] for row in rows)
    return {method: statistics.median(row["ms"] for row in rows if row["method"] == method) for method in methods}


def best(times, kinds):
    """The least time of methods of these kinds."""
    return min(ms for method, ms in times.items() if re.match(r"[a-z]+", method).group(0) in kinds)


def measured(rows, with_card):
    """The day, and the card if it has a part in it."""
    day = rows[0]["date"][:10]
    return "%s, %s" % (rows[0]["card"].split()[2], day) if with_card else day


def in_words(ms):
    return "%.2f s" % (ms / 1000) if ms < 9995 else "%.1f s" % (ms / 1000)


# ---- the figure ----

WIDTH, LEFT, RIGHT, BAR, GAP, HEAD = 920, 315, 310, 18, 6, 30


def text(x, y, words, more=""):
    return '<text x="%d" y="%d"%s>%s</text>' % (x, y, " " + more if more else "", escape(words))


def figure():
    bars, servers = [], set()
    for group, colour, cases in CASES:
        for name, file, wanted in cases:
            rows = rows_of(file, wanted)
            times = medians(rows)
            servers.update(row["postgresql"].split()[0] for row in rows)
            bars.append((group, colour, name, best(times, POSTGRESQL), best(times, DEVICES[group]), measured(rows, group == CARD)))
    scale = (WIDTH - LEFT - RIGHT) / max(theirs / ours for _, _, _, theirs, ours, _ in bars)
    y = 40
    lines = [text(16, 24, "Times as fast as PostgreSQL's fastest plan (PostgreSQL %s)" % " and ".join(sorted(servers)), 'font-size="15" font-weight="bold"')]
    last = None
    for group, colour, name, theirs, ours, when in bars:
        if group != last:
            lines.append(text(16, y + HEAD - 12, group, 'font-weight="bold"'))
            y, last = y + HEAD, group
        width = scale * theirs / ours
        lines.append(text(LEFT - 8, y + 13, name, 'text-anchor="end"'))
        lines.append('<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>' % (LEFT, y, width, BAR, colour))
        lines.append(text(LEFT + width + 6, y + 13, "%.1f" % (theirs / ours), 'font-weight="bold"'))
        lines.append(text(LEFT + width + 42, y + 13, "%s → %s (%s)" % (in_words(theirs), in_words(ours), when), 'fill="#666"'))
        y += BAR + GAP
    height = y + 10
    lines.append('<line x1="%.1f" y1="44" x2="%.1f" y2="%d" stroke="#333" stroke-dasharray="3 3"/>' % (LEFT + scale, LEFT + scale, y))
    lines.append(text(LEFT + scale + 5, 54, "1: as fast as PostgreSQL", 'fill="#666"'))
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#222">' %
                      (WIDTH, height, WIDTH, height),
                      "<title>Times as fast as PostgreSQL's fastest plan; made by bench/gains_plot.py</title>",
                      '<rect width="100%" height="100%" fill="#fff"/>'] + lines + ["</svg>", ""])


def main():
    drawn = figure()
    if sys.argv[1:] == ["--check"]:
        with open(FIGURE, encoding="utf-8") as file:
            if file.read() != drawn:
                sys.exit("docs/gains.svg is not what the results give: bench/gains_plot.py draws it anew")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        with open(FIGURE, "w", encoding="utf-8") as file:
            file.write(drawn)


if __name__ == "__main__":
    main()
