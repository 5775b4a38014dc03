#!/usr/bin/python3
"""Invents rows of ClickBench, for machines that have its queries but not its rows.

Usage: tpc_invent.py --kits DIR --data DIR [--scale N] [--seed N]
       writes clickbench/hits.tsv into the data folder, for bench/whole_queries/tpc; --scale 1 has as many rows as the benchmark, 0.1 is the default

The rows are INVENTED: made by chance, of nonsense words and of the constants that the queries compare with.  None is of a web site.  What runs
on them tests which plans come of it, what these cost and whether all modes give the same rows.  Its times are NOT those of ClickBench, and
can't be put beside anybody's: bench/whole_queries/tpc names the scale of such rows "N invented".

The same seed and scale give the same rows.  A folder whose rows were not made here is left alone.
"""
import argparse
import os
import sys

import tpc_invent_hits
import tpc_kits


def invent(kit, folder, scale, seed):
    """Writes the rows under another name than they are looked for, until all are there."""
    rows = tpc_invent_hits.Hits(kit, scale, seed)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "hits.tsv")
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        file.writelines(rows.table())
    with open(os.path.join(folder, tpc_kits.INVENTED), "w", encoding="ascii") as file:
        file.write("%g invented\nby bench/whole_queries/tpc_invent.py, seed %d: no row is the benchmark's, no time is\n" % (scale, seed))
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kits", required=True, help="the folder with the kits")
    parser.add_argument("--data", help="the folder for the rows (that of the kits)")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    data = options.data or options.kits
    folder = os.path.join(data, "clickbench")
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(os.path.join(folder, tpc_kits.INVENTED)):
        sys.exit("tpc: %s has rows that were not made here" % folder)
    invent(tpc_kits.kit_of("clickbench", options.kits, data, "1"), folder, options.scale, options.seed)


if __name__ == "__main__":
    main()
