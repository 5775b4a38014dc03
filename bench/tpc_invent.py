#!/usr/bin/python3
"""Invents rows of benchmarks of which only the queries are at hand: the Join Order Benchmark and ClickBench.

Usage: tpc_invent.py --kits DIR --data DIR --benchmark job|clickbench [--scale N] [--seed N]
       writes job/*.csv or clickbench/hits.tsv into the data folder, for bench/tpc; --scale 1 has as many rows as the benchmark, 0.1 is the default

The rows are INVENTED: made by chance, of nonsense words and of the constants that the queries compare with.  None is of IMDB or of a web site.
What runs on them tests how long many-way joins take to plan, which plans come of it, what these cost and whether all modes give the same rows,
with row estimates that are as wrong as of real data.  Its times are NOT those of the Join Order Benchmark or of ClickBench, and can't be put
beside anybody's: bench/tpc names the scale of such rows "N invented".

The same seed and scale give the same rows.  A folder whose rows were not made here is left alone.
"""
import argparse
import concurrent.futures
import itertools
import multiprocessing
import os
import sys

import tpc_invent_hits
import tpc_invent_job
import tpc_kits

MADE = {"job": (tpc_invent_job.Imdb, ".csv"), "clickbench": (tpc_invent_hits.Hits, ".tsv")}
LINES = 20000	# written at a time
invention = None	# in the processes that write


def write_table(table, path):
    """Writes a table's rows under another name than they are looked for."""
    rows = invention.table(table)
    with open(path + ".part", "w", encoding="utf-8", newline="") as file:
        while True:
            lines = list(itertools.islice(rows, LINES))
            if not lines:
                return path
            file.write("".join(lines))


def invent(kit, folder, scale, seed):
    """Makes all files of a kit, the large ones first, as many at a time as there are processors."""
    global invention
    make, ending = MADE[kit.name]
    invention = make(kit, scale, seed)
    tables = sorted(filter(None, map(tpc_kits.table_of, kit.schema())), key=invention.rows_of, reverse=True)
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0)), multiprocessing.get_context("fork")) as pool:
        paths = list(pool.map(write_table, tables, [os.path.join(folder, table + ending) for table in tables]))
    with open(os.path.join(folder, tpc_kits.INVENTED), "w", encoding="ascii") as file:
        file.write("%g invented\nby bench/tpc_invent.py, seed %d: no row is the benchmark's, no time is\n" % (scale, seed))
    for path in paths:
        os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kits", required=True, help="the folder with the kits")
    parser.add_argument("--data", help="the folder for the rows (that of the kits)")
    parser.add_argument("--benchmark", required=True, choices=sorted(MADE))
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = os.path.join(options.data or options.kits, options.benchmark)
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(os.path.join(folder, tpc_kits.INVENTED)):
        sys.exit("tpc: %s has rows that were not made here" % folder)
    invent(tpc_kits.kit_of(options.benchmark, options.kits, options.data or options.kits, "1"), folder, options.scale, options.seed)


if __name__ == "__main__":
    main()
