#!/usr/bin/python3
"""Counts what the server executes to plan each query of a benchmark.  bench/whole_queries/planning calls it.

Usage: tpc_planning.py --kits DIR --data DIR --benchmark NAME [--scale N] --counts DIR [--modes 'off auto'] [--queries REGEX]

The database is the one that PGDATABASE names, loaded by tpc_kits.py, of a server under callgrind that writes to a file of --counts for each
query that it has planned.  Prints a line a query: benchmark, query, and thousands of instructions in each mode, separated by tabs.
"""
import argparse
import glob
import os
import re

import tpc_kits
import tpc_runs


class Counter:
    """A session, and the files that its process writes."""

    def __init__(self, session, folder):
        self.session = session
        self.pattern = os.path.join(folder, "counts.%s.*" % session.value("SELECT pg_backend_pid()"))

    def forget(self):
        for path in glob.glob(self.pattern):
            os.remove(path)

    def counted(self):
        """The instructions since the last time."""
        total = 0
        for path in glob.glob(self.pattern):
            with open(path, encoding="utf-8", errors="replace") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("summary:"))
        self.forget()
        return total

    def plan(self, script, mode):
        """What planning the script's queries takes, once that has been done before."""
        self.session.send("SET gpusort.mode = %s;" % mode)

        def count(query):
            self.session.send("EXPLAIN %s\n;" % query)
            self.forget()
            self.session.send("EXPLAIN %s\n;" % query)
            return self.counted()

        return sum(tpc_runs.of_script(self.session, script, count))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tpc_kits.add_arguments(parser)
    parser.add_argument("--counts", required=True, help="the folder that the server's processes write to")
    parser.add_argument("--modes", default="off auto")
    parser.add_argument("--queries", default=".*", help="only queries whose whole name matches")
    options = parser.parse_args()
    session = tpc_runs.Session()
    session.send("\\o /dev/null\nSET jit = off;")
    counter = Counter(session, options.counts)
    for name, script in tpc_kits.kit_of_options(options).queries().items():
        if not re.fullmatch(options.queries, name):
            continue
        counts = ["%d" % (counter.plan(script, mode) / 1000) for mode in options.modes.split()]
        print("\t".join([options.benchmark, name] + counts), flush=True)
    session.close()


if __name__ == "__main__":
    main()
