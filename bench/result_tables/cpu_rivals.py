"""The table of bench/cpu/cpu_rivals."""
import csv
import os

from result_tables.common import RESULTS, paragraph, table, thousands

OWN = "gpusort"
CONTENDERS = [OWN, "ips4o", "vqsort", "x86-simd-sort", "std::sort"]


def read(name):
    """The lines of a file, in which items such as 8 are names and no numbers."""
    with open(os.path.join(RESULTS, name), newline="") as file:
        return list(csv.DictReader(file))


def cells(ns):
    """A time each contender, and whose is the least, how many times as fast as gpusort's."""
    best = min((name for name in ns if name != OWN), key=ns.get)
    return ["%.1f" % ns[name] if name in ns else "" for name in CONTENDERS] + ["%.2f" % (ns[OWN] / ns[best]), best if ns[best] < ns[OWN] else OWN]


def cpu_rivals(*files):
    """bench/cpu/cpu_rivals: ns of processor time a row, from chunks on, of gpusort and of each library."""
    rows = [row for name in files for row in read(name)]
    turns = sorted({int(row["turns"]) for row in rows})
    yield from paragraph("Nanoseconds of all threads' processor time a row, from filled chunks on; medians of %s turns." % " to ".join(
        str(n) for n in dict.fromkeys((turns[0], turns[-1]))))
    yield ""
    lines = []
    for case in dict.fromkeys((row["items"], row["keys"], row["rows"], row["threads"]) for row in rows):
        ns = {row["contender"]: float(row["processor_ns"]) for row in rows if (row["items"], row["keys"], row["rows"], row["threads"]) == case}
        lines.append([case[0], case[1], thousands(float(case[2])), case[3]] + cells(ns))
    yield from table(["items", "keys", "rows", "threads"] + CONTENDERS + ["gpusort / best library", "fastest"], lines, left=2)
