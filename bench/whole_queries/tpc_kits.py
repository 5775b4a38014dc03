#!/usr/bin/python3
"""Benchmarks of whole queries, from the folders of their kits: schema, keys, data and texts.  bench/whole_queries/tpc calls it.

Usage: tpc_kits.py --kits DIR --data DIR --benchmark NAME [--scale N] [--never-analyzed REGEX] make|load|list|database
       make: sees to the data; load: into the database that PGDATABASE names; list: the names of the queries; database: what it is called, and
       the locale that it has, if not the cluster's
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import tpc_text


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def natural(name):
    """q2 before q10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def run(command, folder=None, **environment):
    result = subprocess.run(command, cwd=folder, env=dict(os.environ, **environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.exit("tpc: %s failed: %s" % (" ".join(command), result.stderr.decode(errors="replace")[-500:]))
    return result.stdout.decode(errors="replace")


def run_psql(script):
    command = shlex.split(os.environ.get("PSQL", "psql")) + ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    if subprocess.run(command, input=script.encode(), env=dict(os.environ, PGOPTIONS="-c client_min_messages=warning"), check=False).returncode != 0:
        sys.exit("tpc: loading failed")


def run_scripts(scripts):
    """Each in a session of its own, as many at a time as there are processors."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(run_psql, scripts))


# ---- files of rows ----


def escapes_by_backslash(paths):
    """Is a quote within a field written \\" here, not ""?  Then a backslash and a quote stand before what is neither end nor quote."""
    pattern = re.compile(rb'\\"[^",\r\n]')
    for path in paths:
        with open(path, "rb") as file:
            if any(pattern.search(line) for line in file):
                return True
    return False


def copy_command(table, path, backslash=False, encoding="UTF8"):
    """psql's command that loads a file."""
    ending = os.path.splitext(path)[1]
    options = ["ENCODING '%s'" % encoding, "FREEZE"]
    if ending == ".csv":
        options.append("FORMAT csv")
        if backslash:
            options.append("ESCAPE '\\'")
    elif ending in (".tbl", ".dat"):
        options += ["DELIMITER '|'", "NULL ''"]
        # The generators end each line with a bar.
        program = "LC_ALL=C sed 's/|$//' " + shlex.quote(path)
        return "\\copy %s FROM PROGRAM '%s' WITH (%s)" % (table, program.replace("'", "''"), ", ".join(options))
    return "\\copy %s FROM '%s' WITH (%s)" % (table, path.replace("'", "''"), ", ".join(options))


def table_of(statement):
    """The table that a statement makes; None if it makes none."""
    found = re.match(r"create\s+table\s+(?:if\s+not\s+exists\s+)?([\w.\"]+)", statement, re.IGNORECASE)
    return found.group(1).lower() if found else None


# ---- the kits ----


# A file beside rows that bench/whole_queries/tpc_invent.py has made; its first line stands for the scale.
INVENTED = "INVENTED"


class Kit:
    """One with a folder that has schema.sql, perhaps indexes.sql, queries/NAME.sql, and data/TABLE.csv, .tsv, .tbl or .dat."""

    encoding = "UTF8"
    has_scales = False
    # That of the database, if not the cluster's.
    locale = ""

    def __init__(self, name, kits, data, scale):
        self.name = name
        self.folder = os.path.join(kits, self.directory())
        self.scale = scale
        self.data = self.data_folder(data)
        # A regular expression: tables that are never vacuumed or analyzed.
        self.never_analyzed = ""

    def directory(self):
        return self.name

    def data_folder(self, data):
        """Where the rows are."""
        kept = os.path.join(data, self.name + ("-" + self.scale if self.has_scales else ""))
        inside = os.path.join(self.folder, "data")
        return kept if self.has_scales or os.path.isdir(kept) or not os.path.isdir(inside) else inside

    def named_scale(self):
        """The scale as results have it: rows that were invented say so."""
        path = os.path.join(self.data, INVENTED)
        scale = read(path).split("\n", 1)[0] if os.path.exists(path) else self.scale
        return scale + (", never analyzed: " + self.never_analyzed if self.never_analyzed else "")

    def database(self):
        """The name of its database."""
        parts = [self.name] + [self.scale] * self.has_scales + ["never", self.never_analyzed] * bool(self.never_analyzed)
        return "gpusort_tpc_" + "_".join(re.sub(r"[^0-9a-z]", "_", part) for part in parts)

    def schema(self):
        return tpc_text.split_statements(read(os.path.join(self.folder, "schema.sql")))

    def indexes(self):
        path = os.path.join(self.folder, "indexes.sql")
        return tpc_text.split_statements(read(path)) if os.path.exists(path) else []

    def texts(self):
        """The texts of the queries by name."""
        return {os.path.basename(path)[:-len(".sql")]: read(path) for path in glob.glob(os.path.join(self.folder, "queries", "*.sql"))}

    def generate(self):
        sys.exit("tpc: there is no data of %s in %s, and nothing here makes any: bench/whole_queries/README.md says where it comes from, or what invents some" % (self.name, self.data))

    # What all have in common.

    def file_of(self, table):
        found = [path for ending in ("tbl", "dat", "csv", "tsv") for path in [os.path.join(self.data, "%s.%s" % (table, ending))] if os.path.exists(path)]
        return found[0] if found else None

    def needs_no_rows(self, table):
        """Is this a table that is left empty, or out?"""
        return False

    def missing(self):
        return [table for table in map(table_of, self.schema()) if table and not self.needs_no_rows(table) and not self.file_of(table)]

    def make(self):
        if self.named_scale() != self.scale:
            print("%s: the rows in %s are %s: times are not the benchmark's" % (self.name, self.data, self.named_scale()))
        if not self.missing():
            return
        if self.has_scales:
            os.makedirs(self.data, exist_ok=True)
        self.generate()
        if self.missing():
            sys.exit("tpc: %s has no file of %s" % (self.data, ", ".join(self.missing())))

    def queries(self):
        """The statements of each query, by name."""
        texts = self.texts()
        scripts = {name: tpc_text.statements_of(texts[name]) for name in sorted(texts, key=natural)}
        for name, script in scripts.items():
            if not any(map(tpc_text.is_query, script)):
                sys.exit("tpc: there is no query in %s's %s" % (self.name, name))
        return scripts

    def load(self):
        """Makes and fills the tables, several at a time; their keys come behind the rows."""
        keys = []
        scripts = []
        paths = [path for path in map(self.file_of, filter(None, map(table_of, self.schema()))) if path]
        backslash = escapes_by_backslash(path for path in paths if path.endswith(".csv"))
        for statement in self.schema():
            table = table_of(statement)
            if not table:
                keys.append(statement)
                continue
            if self.needs_no_rows(table):
                continue
            # A key that stands at the end of the columns.
            key = re.search(r",\s*(primary\s+key\s*\([^)]*\))\s*\)\s*$", statement, re.IGNORECASE)
            if key:
                statement = statement[:key.start()] + ")"
                keys.append("ALTER TABLE %s ADD %s" % (table, key.group(1)))
            scripts.append("BEGIN;\n%s;\n%s\nCOMMIT;\n" % (statement, copy_command(table, self.file_of(table), backslash, self.encoding)))
        run_scripts(scripts)
        run_scripts(["%s;\n" % statement for statement in keys + self.indexes()])
        self.analyze()

    def analyze(self):
        tables = [table for table in map(table_of, self.schema()) if table and not self.needs_no_rows(table)]
        wanted = [table for table in tables if not re.fullmatch(self.never_analyzed, table)]
        run_psql("VACUUM ANALYZE%s;\n" % (" " + ", ".join(wanted) if self.never_analyzed else "") if wanted else "")


class TpcH(Kit):
    """tpch-kit, built: dbgen/dbgen and dbgen/qgen."""

    has_scales = True

    def directory(self):
        return os.path.join("tpch-kit", "dbgen")

    def schema(self):
        return tpc_text.split_statements(read(os.path.join(self.folder, "dss.ddl")))

    def indexes(self):
        """The primary keys, without the references."""
        text = read(os.path.join(self.folder, "dss.ri"))
        return ["ALTER TABLE %s ADD PRIMARY KEY (%s)" % key for key in
                re.findall(r"^\s*ALTER\s+TABLE\s+(?:\w+\.)?(\w+)\s+ADD\s+PRIMARY\s+KEY\s*\(([^)]*)\)", text, re.IGNORECASE | re.MULTILINE)]

    def generate(self):
        run(["./dbgen", "-s", self.scale, "-f", "-q"], self.folder, DSS_PATH=os.path.abspath(self.data))

    def texts(self):
        return {"q%d" % number: run(["./qgen", "-d", "-s", self.scale, str(number)], self.folder, DSS_QUERY="queries") for number in range(1, 23)}


class TpcDs(Kit):
    """tpcds-kit, built: tools/dsdgen and tools/dsqgen."""

    has_scales = True
    encoding = "LATIN1"

    # What a text has in the places that differ from system to system.
    DIALECT = 'define __LIMITA = "";\ndefine __LIMITB = "";\ndefine __LIMITC = "limit %d";\ndefine _BEGIN = "";\ndefine _END = "";\n'

    def directory(self):
        return os.path.join("tpcds-kit", "tools")

    def schema(self):
        return tpc_text.split_statements(read(os.path.join(self.folder, "tpcds.sql")))

    def needs_no_rows(self, table):
        return table == "dbgen_version"

    def generate(self):
        if not re.fullmatch(r"[1-9]\d*", self.scale):
            sys.exit("tpc: dsdgen has whole scale factors, from 1: no %s" % self.scale)
        run(["./dsdgen", "-scale", self.scale, "-dir", os.path.abspath(self.data), "-force", "Y", "-quiet", "Y"], self.folder)

    def texts(self):
        """A text each template, with the parameters that dsqgen takes by itself."""
        templates = os.path.join(os.path.dirname(self.folder), "query_templates")
        names = [os.path.basename(path)[:-len(".tpl")] for path in glob.glob(os.path.join(templates, "query[0-9]*.tpl"))]
        with tempfile.TemporaryDirectory() as folder:
            for path in glob.glob(os.path.join(templates, "*.tpl")):
                shutil.copy(path, folder)
            with open(os.path.join(folder, "here.tpl"), "w", encoding="ascii") as file:
                file.write(self.DIALECT)
            return {name.replace("query", "q"): run(["./dsqgen", "-template", name + ".tpl", "-directory", folder, "-dialect", "here", "-scale", self.scale,
                                                      "-filter", "Y", "-quiet", "Y"], self.folder) for name in names}


class JoinOrder(Kit):
    """join-order-benchmark: schema.sql, fkindexes.sql and a text a file; the rows are CSV files by the name of the table."""

    def directory(self):
        return "join-order-benchmark"

    def indexes(self):
        return tpc_text.split_statements(read(os.path.join(self.folder, "fkindexes.sql")))

    def texts(self):
        return {os.path.basename(path)[:-len(".sql")]: read(path) for path in glob.glob(os.path.join(self.folder, "[0-9]*.sql"))}


class ClickBench(Kit):
    """ClickBench: postgresql/create.sql and postgresql/queries.sql; the rows are hits.tsv."""

    def directory(self):
        return os.path.join("ClickBench", "postgresql")

    def schema(self):
        return tpc_text.split_statements(read(os.path.join(self.folder, "create.sql")))

    def texts(self):
        queries = tpc_text.split_statements(read(os.path.join(self.folder, "queries.sql")))
        return {"q%d" % number: text for number, text in enumerate(queries, 1)}


class Application(Kit):
    """One of bench/whole_queries/applications: schema.sql, rows.sql, which makes the rows, indexes.sql and queries.sql, where "-- NAME: what it is" begins a query.

    functions.sql, beside the folders, has what rows.sql of all of them call.
    """

    has_scales = True
    locale = "en_US.UTF-8"

    def make(self):
        """Rows are made where they are loaded."""

    def texts(self):
        parts = re.split(r"^-- (\w+): .*$", read(os.path.join(self.folder, "queries.sql")), flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2]))

    def queries(self):
        """As they stand: PostgreSQL's own SQL."""
        return {name: tpc_text.split_statements(text) for name, text in self.texts().items()}

    def load(self):
        functions = read(os.path.join(self.folder, os.pardir, "functions.sql"))
        drops = ["DROP FUNCTION %s;\n" % name for name in re.findall(r"^CREATE FUNCTION (\w+)", functions, re.MULTILINE)]
        run_psql("\n".join(["\\set scale " + self.scale, read(os.path.join(self.folder, "schema.sql")), functions, read(os.path.join(self.folder, "rows.sql"))] + drops))
        run_psql("".join(statement + ";\n" for statement in self.indexes()))
        self.analyze()


KITS = {"tpch": TpcH, "tpcds": TpcDs, "job": JoinOrder, "clickbench": ClickBench}


def kit_of(name, kits, data, scale, never_analyzed=""):
    """The kit of a benchmark: one that is known, or by what its folder has."""
    makes_rows = os.path.exists(os.path.join(kits, name, "rows.sql"))
    kit = KITS.get(name, Application if makes_rows else Kit)(name, kits, data, scale)
    if not os.path.isdir(kit.folder):
        sys.exit("tpc: no folder %s, for the benchmark %s" % (kit.folder, name))
    kit.never_analyzed = never_analyzed
    return kit


def kit_of_options(options):
    return kit_of(options.benchmark, options.kits, options.data, options.scale, options.never_analyzed)


def add_arguments(parser):
    parser.add_argument("--kits", required=True, help="the folder with the kits")
    parser.add_argument("--data", required=True, help="the folder with the rows")
    parser.add_argument("--benchmark", required=True, help="tpch, tpcds, job, clickbench or the name of another folder")
    parser.add_argument("--scale", default="1", help="the scale factor")
    parser.add_argument("--never-analyzed", default="", help="tables whose whole name matches are never vacuumed or analyzed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("action", choices=["make", "load", "list", "database"])
    options = parser.parse_args()
    kit = kit_of_options(options)
    if options.action == "list":
        print("\n".join(kit.queries()))
    elif options.action == "database":
        print(kit.database(), kit.locale)
    else:
        getattr(kit, options.action)()


if __name__ == "__main__":
    main()
