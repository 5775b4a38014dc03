#!/usr/bin/python3
"""Runs the queries of a benchmark in the modes of gpusort, in turns, and adds what they took to CSV files.  bench/whole_queries/tpc calls it.

Usage: tpc_runs.py --kits DIR --data DIR --benchmark NAME [--scale N] --output DIR --machine FIELDS [options]

The database is the one that PGDATABASE names, loaded by tpc_kits.py.  A query's lines are written when it is through; what is in runs.csv of
the same commit is not run again.  Ends with status 1 if a mode returned other rows than off, or failed.
"""
import argparse
import csv
import datetime
import glob
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import tpc_kits
import tpc_rows
import tpc_text

MODES = {"off": "off", "auto": "auto", "force": "force", "noise": "off"}
PLANNED, WARMING = 11, 2
# How many times the limit the rows without LIMIT may take, which are not timed.
PATIENCE = 10

MACHINE = ["commit", "cpu", "card", "cores", "postgresql"]
WHICH = ["benchmark", "scale", "query", "setting", "jit"]
RUNS = WHICH + ["mode", "plan", "plan_of", "gpusorts", "jitted", "outcome", "rows", "median_ms", "least_ms", "cpu_ms", "cpu_least_ms", "backend_cpu_ms", "workers_cpu_ms",
                "gpusortd_cpu_ms", "planning_ms", "planning_least_ms", "times_ms", "work_mem", "shared_buffers", "date"] + MACHINE
SORTS = WHICH + ["statement", "sort", "taken", "reason", "how", "expected_ms", "postgresql_ms", "date"] + MACHINE


class QueryError(Exception):
    """What PostgreSQL says."""


class TooLong(QueryError):
    """The limit is over."""


# ---- a session ----


class Session:
    """A psql that stays.  Its results go to files; errors, and marks where a command ends, come on its stderr."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="gpusort_tpc.")
        command = shlex.split(os.environ.get("PSQL", "psql")) + ["-X", "-q", "-A", "-t", "-F", "\x1f", "-R", "\x1e", "-P", "null=\x1d", "-f", "-"]
        environment = dict(os.environ, PGOPTIONS="-c client_min_messages=warning", LC_ALL="C.UTF-8")
        self.psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        self.commands = 0

    def send(self, text):
        """Sends commands, waits for the end of the last one, and returns the milliseconds until then."""
        self.commands += 1
        mark = "@end %d" % self.commands
        errors = []
        start = time.monotonic()
        self.psql.stdin.write("%s\n\\warn %s\n" % (text, mark))
        self.psql.stdin.flush()
        for line in self.psql.stderr:
            if line.rstrip("\n") == mark:
                break
            if re.search(r"(ERROR|FATAL|PANIC): ", line):
                errors.append(line.strip())
        else:
            sys.exit("tpc: a session has ended: " + " ".join(errors))
        elapsed = 1000 * (time.monotonic() - start)
        if errors:
            raise (TooLong if "statement timeout" in errors[0] else QueryError)(errors[0])
        return elapsed

    def rows(self, statement):
        """The rows of a statement."""
        path = os.path.join(self.folder, "rows")
        try:
            self.send("\\o '%s'\n%s\n;\n\\o /dev/null" % (path, statement))
        finally:
            with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
                text = file.read()
        return [row.split("\x1f") for row in text.rstrip("\n").split("\x1e")] if text else []

    def types(self, statement):
        """The types of a query's columns."""
        path = os.path.join(self.folder, "types")
        self.send("\\o '%s'\n%s\n\\gdesc\n\\o /dev/null" % (path, statement))
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
        return [row.split("\x1f")[1] for row in text.rstrip("\n").split("\x1e") if "\x1f" in row]

    def value(self, statement):
        return self.rows(statement)[0][0]

    def close(self):
        self.psql.stdin.close()
        self.psql.wait()
        self.psql.stderr.close()
        shutil.rmtree(self.folder)


def of_script(session, script, what, wanted=tpc_text.is_query):
    """What a function gives for each query of a script; its other statements are run where they stand.

    After an error they still are: a view that was made must go.
    """
    results, error = [], None
    for statement in script:
        try:
            if not wanted(statement):
                session.send(statement + "\n;")
            elif not error:
                results.append(what(statement))
        except QueryError as caught:
            error = error or caught
    if error:
        raise error
    return results


# ---- processor time ----


def stat_fields(pid):
    """The fields of /proc/PID/stat, from the third on, and the name."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        text = file.read()
    name, fields = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
    return name, fields


class Processors:
    """Milliseconds that the backend, its workers, and gpusortd have had of processors.

    A worker is counted when the postmaster has reaped it, before the query that had it ends; so is every other process of the server that ends
    meanwhile.  Where the server is elsewhere there is nothing to count.
    """

    TICK = 1000 / os.sysconf("SC_CLK_TCK")

    def __init__(self, session):
        self.backend = int(session.value("SELECT pg_backend_pid()"))
        try:
            name, fields = stat_fields(self.backend)
            self.postmaster = int(fields[1]) if name.startswith("postgres") else None
        except OSError:
            self.postmaster = None
        self.daemons = [pid for pid in self.pids() if self.is_daemon(pid)] if self.postmaster else []

    @staticmethod
    def pids():
        return [int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*")]

    def is_daemon(self, pid):
        """Is this a gpusortd below our postmaster?"""
        try:
            name, fields = stat_fields(pid)
            if name != "gpusortd":
                return False
            while pid > 1 and pid != self.postmaster:
                pid = int(stat_fields(pid)[1][1])
            return pid == self.postmaster
        except OSError:
            return False

    def now(self):
        """Backend, workers, gpusortd."""
        if not self.postmaster:
            return None
        with open("/proc/%d/schedstat" % self.backend, encoding="ascii") as file:
            backend = int(file.read().split()[0]) / 1e6
        fields = stat_fields(self.postmaster)[1]
        daemons = 0.0
        for pid in self.daemons:
            try:
                daemons += sum(map(int, stat_fields(pid)[1][11:13])) * self.TICK
            except OSError:
                pass
        return backend, sum(map(int, fields[13:15])) * self.TICK, daemons


# ---- plans ----

COSTS = {"Startup Cost", "Total Cost", "Plan Rows", "Plan Width"}


def shape(plan):
    """A plan as EXPLAIN has it, without costs."""
    if isinstance(plan, list):
        return [shape(part) for part in plan]
    if isinstance(plan, dict):
        return {key: shape(value) for key, value in plan.items() if key not in COSTS and key not in ("JIT", "Planning")}
    return plan


def count_nodes(plan, provider):
    """The nodes of a plan that are an extension's."""
    if isinstance(plan, list):
        return sum(count_nodes(part, provider) for part in plan)
    if isinstance(plan, dict):
        return (plan.get("Custom Plan Provider") == provider) + sum(count_nodes(value, provider) for value in plan.values())
    return 0


class Plan:
    """The plans of a script's queries."""

    def __init__(self, explained):
        self.shape = [(shape(plan), "JIT" in plan[0]) for plan in explained]
        self.gpusorts = count_nodes(explained, "GpuSort")
        self.jitted = sum(jitted for _, jitted in self.shape)


# ---- a query ----


class Query:
    """One query of a benchmark, in one setting, in all modes."""

    def __init__(self, session, name, script, options):
        self.session, self.name, self.script, self.options = session, name, script, options
        self.processors = Processors(session)
        self.lines = {mode: {"mode": mode, "outcome": "ok"} for mode in options.modes}

    def enter(self, mode):
        self.session.send("SET gpusort.mode = %s;" % MODES[mode])

    def in_mode(self, mode, what):
        """What a function gives for each query in a mode."""
        self.enter(mode)
        return of_script(self.session, self.script, what)

    def plan(self):
        """The plan of each mode, whether it is that of off, and the first mode that has it."""
        plans = {mode: Plan(self.in_mode(mode, lambda query: json.loads(self.session.value("EXPLAIN (FORMAT JSON) " + query)))) for mode in self.lines}
        for mode, line in self.lines.items():
            first = self.first_mode(plans, mode)
            line.update(plan="same" if first == "off" else "other", plan_of=first, gpusorts=plans[mode].gpusorts, jitted=plans[mode].jitted)

    @staticmethod
    def first_mode(plans, mode):
        """The first mode that has the same plan as this one."""
        return next(other for other in plans if plans[other].shape == plans[mode].shape)

    def time_planning(self):
        """Modes take turns; the first rounds are to warm."""
        def planning(query):
            last = [row[0] for row in self.session.rows("EXPLAIN (SUMMARY, COSTS OFF) " + query) if row[0].startswith("Planning Time")][-1]
            return float(last.split()[2])
        times = {mode: [] for mode in self.lines}
        for number in range(WARMING + PLANNED):
            for mode in self.turns(self.lines, number):
                taken = sum(self.in_mode(mode, planning))
                if number >= WARMING:
                    times[mode].append(taken)
        for mode, line in self.lines.items():
            line.update(planning_ms="%.3f" % statistics.median(times[mode]), planning_least_ms="%.3f" % min(times[mode]))

    @staticmethod
    def turns(modes, number):
        """All of them, with another one first each time."""
        modes = list(modes)
        first = number % max(len(modes), 1)
        return modes[first:] + modes[:first]

    def fetch(self, mode):
        """The rows of each query."""
        return self.in_mode(mode, lambda query: tpc_rows.comparable(self.session.rows(query), self.session.types(query)))

    def try_mode(self, mode, what):
        """What a function gives, or None if it takes too long or fails, which the mode's line says then."""
        try:
            return what()
        except TooLong:
            self.lines[mode]["outcome"] = "limit"
        except QueryError as error:
            self.lines[mode]["outcome"] = "failed"
            print("tpc: %s %s, mode %s: %s" % (self.options.benchmark, self.name, mode, error), file=sys.stderr)
        return None

    def compare(self, mode, rows, others):
        """Are a mode's rows those of off?"""
        queries = [statement for statement in self.script if tpc_text.is_query(statement)]
        verdicts = []
        for number, query in enumerate(queries):
            unlimited = tpc_text.without_limit(query)
            verdicts.append(tpc_rows.compare(rows[number], others[number], unlimited and (lambda query=query: self.full_rows(mode, query))))
        return tpc_rows.worst(verdicts)

    def full_rows(self, mode, wanted):
        """The rows of one query without its LIMIT, in off and in a mode."""
        text = tpc_text.without_limit(wanted)[0]
        results = []
        self.session.send("SET statement_timeout = '%ds';" % (PATIENCE * self.options.limit))
        try:
            for each in ("off", mode):
                self.enter(each)
                results += of_script(self.session, [statement for statement in self.script if statement == wanted or not tpc_text.is_query(statement)],
                                     lambda query: tpc_rows.comparable(self.session.rows(text), self.session.types(text)))
            return results
        except TooLong:
            return None
        finally:
            self.session.send("SET statement_timeout = '%ds';" % self.options.limit)

    def run(self, mode):
        """One run: milliseconds, and those of processors."""
        self.enter(mode)
        before = self.processors.now()
        elapsed = self.session.send("".join(statement + "\n;\n" for statement in self.script))
        after = self.processors.now()
        return elapsed, [at_end - at_start for at_start, at_end in zip(before, after)] if before and after else None

    def time_runs(self):
        """Off, and the modes whose plan is another one, if off ends within the limit."""
        changed = [mode for mode in self.lines if mode == "off" or self.lines[mode]["plan"] == "other"]
        if len(changed) > 1 and "noise" in self.lines:
            changed.append("noise")
        results = {}
        for mode in changed:
            if results.get("off", True) is None:
                results[mode], self.lines[mode]["outcome"] = None, "left out"
            elif mode == "noise" or len(changed) == 1 or self.options.no_rows:
                results[mode] = True
            else:
                results[mode] = self.try_mode(mode, lambda mode=mode: self.fetch(mode))
        for mode in changed[1:]:
            if mode != "noise" and results[mode] is not None and not self.options.no_rows:
                verdict = self.try_mode(mode, lambda mode=mode: self.compare(mode, results["off"], results[mode]))
                self.lines[mode]["rows"] = verdict or tpc_rows.UNDECIDED
        alive = [mode for mode in changed if results[mode] is not None]
        # Where there is nothing to compare one run is enough, after one that reads the tables.
        rounds = self.options.rounds if len(changed) > 1 else 2
        runs = {mode: [] for mode in alive}
        for number in range(rounds):
            for mode in self.turns(alive, number):
                taken = self.try_mode(mode, lambda mode=mode: self.run(mode)) if self.lines[mode]["outcome"] == "ok" else None
                if taken:
                    runs[mode].append(taken)
        for mode in alive:
            if self.lines[mode]["outcome"] == "ok":
                self.note(self.lines[mode], runs[mode] if len(changed) > 1 else runs[mode][1:])

    @staticmethod
    def note(line, runs):
        times = [elapsed for elapsed, _ in runs]
        line.update(median_ms="%.3f" % statistics.median(times), least_ms="%.3f" % min(times), times_ms=" ".join("%.3f" % taken for taken in times))
        if all(used for _, used in runs):
            line["cpu_ms"] = "%.1f" % statistics.median(sum(used) for _, used in runs)
            line["cpu_least_ms"] = "%.1f" % min(sum(used) for _, used in runs)
            for place, name in enumerate(("backend_cpu_ms", "workers_cpu_ms", "gpusortd_cpu_ms")):
                line[name] = "%.1f" % statistics.median(used[place] for _, used in runs)

    def check(self):
        """What gpusort_check says of each sort in mode auto."""
        checked = self.in_mode("auto", lambda query: self.session.rows("SELECT sort_key, taken, reason, how, expected_ms, postgresql_ms FROM gpusort_check("
                                                                       "$gpusort_tpc$%s$gpusort_tpc$) WHERE taken IS NOT NULL" % query))
        for number, rows in enumerate(checked, 1):
            for row in rows:
                yield dict(zip(("sort", "taken", "reason", "how", "expected_ms", "postgresql_ms"), ["" if value == "\x1d" else value for value in row]), statement=number)


# ---- CSV files ----


def add_lines(path, columns, lines):
    is_new = not os.path.exists(path)
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(lines)


def done_before(path, commit):
    """The queries, settings and JIT that the file has of this commit."""
    if not os.path.exists(path):
        return set()
    with open(path, newline="", encoding="utf-8") as file:
        return {tuple(row[column] for column in WHICH) for row in csv.DictReader(file) if row["commit"] == commit}


def is_bad(lines):
    return any(line["outcome"] == "failed" or line.get("rows") == tpc_rows.DIFFERENT for line in lines)


def summary(which, lines):
    """A line for who waits."""
    off = lines["off"]
    parts = []
    for mode, line in lines.items():
        taken = "%s ms" % line["median_ms"] if line.get("median_ms") else line["outcome"] if line["outcome"] != "ok" else line["plan"] + " plan"
        if mode != "off" and line.get("median_ms") and off.get("median_ms"):
            taken += " (%.2f)" % (float(off["median_ms"]) / float(line["median_ms"]))
        parts.append("%s %s%s" % (mode, taken, ", rows " + line["rows"] if line.get("rows", "same") != "same" else ""))
    return "%s: %s" % (" ".join(which), "; ".join(parts))


# ---- all of it ----


def run_query(session, name, script, which, options):
    """Runs a query in all modes and writes its lines; was anything bad?"""
    query = Query(session, name, script, options)
    machine = dict(zip(MACHINE, next(csv.reader([options.machine]))), date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    sorts = []
    try:
        query.plan()
        query.time_planning()
        sorts = list(query.check())
        if not options.planning_only:
            query.time_runs()
    except QueryError as error:
        print("tpc: %s: %s" % (" ".join(which), error), file=sys.stderr)
        query.lines = {"off": dict(query.lines["off"], outcome="failed")}
    shown = {name: session.value("SHOW " + name) for name in ("work_mem", "shared_buffers")}
    common = dict(zip(WHICH, which), **machine)
    add_lines(os.path.join(options.output, "sorts.csv"), SORTS, [dict(common, **line) for line in sorts])
    add_lines(os.path.join(options.output, "runs.csv"), RUNS, [dict(common, **shown, **line) for line in query.lines.values()])
    print(summary(which, query.lines), flush=True)
    return is_bad(query.lines.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tpc_kits.add_arguments(parser)
    parser.add_argument("--output", required=True, help="the folder of the CSV files")
    parser.add_argument("--machine", required=True, help="%s, as CSV" % ", ".join(MACHINE))
    parser.add_argument("--setting", default="defaults", help="the name of the setting")
    parser.add_argument("--set", default="", help="SQL at the beginning of each session")
    parser.add_argument("--jit", default="on off")
    parser.add_argument("--modes", default="off auto force")
    parser.add_argument("--noise", action="store_true", help="off once more, as a mode of its own")
    parser.add_argument("--queries", default=".*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--no-rows", action="store_true", help="rows are not compared")
    parser.add_argument("--planning-only", action="store_true")
    options = parser.parse_args()
    options.modes = list(dict.fromkeys(["off"] + options.modes.split() + ["noise"] * options.noise))
    if set(options.modes) - set(MODES):
        sys.exit("tpc: no mode %s" % " ".join(set(options.modes) - set(MODES)))
    kit = tpc_kits.kit_of_options(options)
    queries = {name: script for name, script in kit.queries().items() if re.fullmatch(options.queries, name)}
    done = done_before(os.path.join(options.output, "runs.csv"), next(csv.reader([options.machine]))[0])
    bad = False
    for jit in options.jit.split():
        session = Session()
        session.send("\\o /dev/null\nSET jit = %s; SET statement_timeout = '%ds'; %s" % (jit, options.limit, options.set))
        for name, script in queries.items():
            which = (options.benchmark, kit.named_scale(), name, options.setting, jit)
            if which not in done:
                bad = run_query(session, name, script, which, options) or bad
        session.close()
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
