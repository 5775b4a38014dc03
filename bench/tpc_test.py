#!/usr/bin/python3
"""Tests what bench/tpc makes of texts, rows and plans.  Needs no server, and none of the kits."""
import csv
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import tpc_conditions
import tpc_invent_hits
import tpc_invent_job
import tpc_kits
import tpc_rows
import tpc_runs
import tpc_text
from result_tables import tpc, tpc_verdicts


def without_blanks(text):
    return " ".join(text.split())


class Texts(unittest.TestCase):
    def becomes(self, text, *expected):
        self.assertEqual([without_blanks(statement) for statement in tpc_text.statements_of(text)], list(expected))

    def test_statements(self):
        self.becomes("-- a; comment\nSELECT ';' AS \"a;b\"; /* ; */\n;SELECT 2", "SELECT ';' AS \"a;b\"", "SELECT 2")

    def test_limits(self):
        self.becomes("SELECT 1;\nlimit -1;\nSELECT 2;\nlimit 7;", "SELECT 1", "SELECT 2 limit 7")

    def test_intervals(self):
        self.becomes("SELECT d - interval '90' day (3), 5 - 2 FROM t", "SELECT d - interval '90' day, 5 - 2 FROM t")
        self.becomes("SELECT (cast('2000-01-01' AS date) +  14 days), n AS \"30 days\" FROM t WHERE n = 3",
                     "SELECT (cast('2000-01-01' AS date) + 14 ), n AS \"30 days\" FROM t WHERE n = 3")

    def test_names_of_subselects(self):
        self.becomes("SELECT * FROM (SELECT 1)", "SELECT * FROM (SELECT 1) AS unnamed_1")
        self.becomes("SELECT * FROM (SELECT 1) x, (SELECT 2) AS y JOIN (SELECT 3) ON true", "SELECT * FROM (SELECT 1) x, (SELECT 2) AS y JOIN (SELECT 3) AS unnamed_1 ON true")
        self.becomes("SELECT * FROM ((SELECT 1) UNION (SELECT * FROM (SELECT 2))) WHERE a IN (SELECT 3)",
                     "SELECT * FROM ((SELECT 1) UNION (SELECT * FROM (SELECT 2) AS unnamed_2)) AS unnamed_1 WHERE a IN (SELECT 3)")
        self.becomes("SELECT (SELECT 1), a FROM (t JOIN u ON t.a = (SELECT 2)) GROUP BY a", "SELECT (SELECT 1), a FROM (t JOIN u ON t.a = (SELECT 2)) GROUP BY a")

    def test_names_in_order_by(self):
        self.becomes("SELECT a, grouping(a) AS g FROM t GROUP BY rollup (a) ORDER BY g, CASE WHEN g = 0 THEN a END LIMIT 3",
                     "SELECT * FROM ( SELECT a, grouping(a) AS g FROM t GROUP BY rollup (a) ) AS ordered ORDER BY g, CASE WHEN g = 0 THEN a END LIMIT 3")
        for text in ("SELECT a AS g FROM t ORDER BY g", "SELECT a AS g FROM t ORDER BY CASE WHEN a = 0 THEN b END, g"):
            self.becomes(text, text)

    def test_limit_taken_off(self):
        self.assertEqual(tpc_text.without_limit("SELECT * FROM (SELECT 1 LIMIT 2) x ORDER BY 1 LIMIT 5"), ("SELECT * FROM (SELECT 1 LIMIT 2) x ORDER BY 1", 5))
        for text in ("SELECT 1 ORDER BY 1 LIMIT 5 OFFSET 3", "SELECT 1 ORDER BY 1 offset 3 limit 5"):
            self.assertEqual(tpc_text.without_limit(text), ("SELECT 1 ORDER BY 1", 5))
        for text in ("SELECT 1", "SELECT 1 OFFSET 3", "SELECT 1 LIMIT 5 + 1", "SELECT * FROM (SELECT 1 LIMIT 2) x"):
            self.assertIsNone(tpc_text.without_limit(text))


class Kits(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(tpc_kits.table_of("CREATE TABLE Hits (a int)"), "hits")
        self.assertIsNone(tpc_kits.table_of("CREATE INDEX i ON t (a)"))
        self.assertEqual(tpc_kits.copy_command("t", "/d/t.tsv"), "\\copy t FROM '/d/t.tsv' WITH (ENCODING 'UTF8', FREEZE)")
        self.assertIn("sed ''s/|$//'' /d/t.tbl' WITH (ENCODING 'UTF8', FREEZE, DELIMITER '|', NULL '')", tpc_kits.copy_command("t", "/d/t.tbl"))

    def test_quotes(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, expected in (('1,"a\\"b"\n', True), ('1,"a""b\\"\n', False), ('1,"a\\"""\n', False), ('1,"a\\",2\n', False)):
                path = os.path.join(folder, "t.csv")
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                self.assertEqual(tpc_kits.escapes_by_backslash([path]), expected, text)

    def test_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in (("schema.sql", "CREATE TABLE t (a int)"), ("queries/q10.sql", "SELECT 10"), ("queries/q2.sql", "SELECT 2"), ("data/t.csv", "1\n")):
                os.makedirs(os.path.dirname(os.path.join(folder, "mine", path)), exist_ok=True)
                with open(os.path.join(folder, "mine", path), "w", encoding="ascii") as file:
                    file.write(text)
            kit = tpc_kits.kit_of("mine", folder, folder + "/nowhere", "1")
            self.assertEqual(kit.queries(), {"q2": ["SELECT 2"], "q10": ["SELECT 10"]})
            self.assertEqual(kit.missing(), [])


class Conditions(unittest.TestCase):
    TEXT = """SELECT min(t.a) FROM tab AS t, other o WHERE t.id = o.tab_id AND (t.a LIKE '%x%' OR t.a IS NULL AND t.b >= 3) AND o.c NOT IN ('it''s', 'y')
              AND o.d BETWEEN 1 AND 2;"""

    def setUp(self):
        self.random = random.Random(1)

    def value(self, *conditions, draw=None):
        return tpc_conditions.value_for([tpc_conditions.Condition("t", "a", op, values) for op, *values in conditions], self.random, ["word"], draw)

    def test_read(self):
        query = tpc_conditions.Query(self.TEXT)
        self.assertEqual(query.tables, {"t": "tab", "o": "other"})
        asked = [[("o", "c", "not in", ("it's", "y")), ("o", "d", ">=", (1,)), ("o", "d", "<=", (2,))]] * 2
        self.assertEqual(query.alternatives, [[("t", "a", "like", ("%x%",))] + asked[0], [("t", "a", "null", ()), ("t", "b", ">=", (3,))] + asked[1]])
        self.assertEqual(query.referenced("o", "tab_id"), "t")
        self.assertIsNone(query.referenced("o", "c"))
        with self.assertRaises(ValueError):
            tpc_conditions.Query("SELECT 1 FROM t AS t WHERE t.a = 1 GROUP BY t.b")

    def test_holds(self):
        for op, values, value, expected in (("like", ("a%b_",), "a.b\nbc", True), ("like", ("a.%",), "ab", False), ("not like", ("%x%",), None, False), ("!=", ("a",), None, False),
                                            ("in", (1, 2), 2, True), ("not in", (1, 2), 2, False), ("<", ("8.5",), "8.4", True), ("not null", (), "", True), ("null", (), None, True)):
            self.assertEqual(tpc_conditions.holds(tpc_conditions.Condition("t", "a", op, values), value), expected, (op, values, value))

    def test_values(self):
        for _ in range(50):
            self.assertRegex(self.value(("like", "%(200%)%"), ("not like", "%(2003)%"), ("like", "In:%1%")), r"^In:.*1.*\(200[0-24-9]\)")
            self.assertIn(self.value((">", 3), ("<", 6), draw=lambda: self.random.randrange(9)), (4, 5))
            self.assertEqual(self.value(("in", "a", "b", "c"), ("!=", "a"), ("not like", "c%")), "b")
        with self.assertRaises(ValueError):
            self.value(("=", 1), ("!=", 1))


class Invented(unittest.TestCase):
    TABLES = """title title imdb_index kind_id production_year imdb_id phonetic_code episode_of_id season_nr episode_nr series_years md5sum
        name name imdb_index imdb_id gender name_pcode_cf name_pcode_nf surname_pcode md5sum
        char_name name imdb_index imdb_id name_pcode_nf surname_pcode md5sum
        company_name name country_code imdb_id name_pcode_nf name_pcode_sf md5sum
        keyword keyword phonetic_code
        cast_info person_id movie_id person_role_id note nr_order role_id
        movie_info movie_id info_type_id info note
        movie_info_idx movie_id info_type_id info note
        movie_keyword movie_id keyword_id
        movie_companies movie_id company_id company_type_id note
        person_info person_id info_type_id info note
        aka_name person_id name imdb_index name_pcode_cf name_pcode_nf surname_pcode md5sum
        aka_title movie_id title imdb_index kind_id production_year phonetic_code episode_of_id season_nr episode_nr note md5sum
        complete_cast movie_id subject_id status_id
        movie_link movie_id linked_movie_id link_type_id
        info_type info
        kind_type kind
        role_type role
        link_type link
        company_type kind
        comp_cast_type kind"""

    QUERIES = {
        "play": """title t, kind_type k, cast_info c, role_type r, name n, char_name h, aka_name a WHERE k.kind = 'opera' AND t.kind_id = k.id AND c.movie_id = t.id
                   AND c.role_id = r.id AND r.role IN ('tenor', 'bass') AND c.person_id = n.id AND n.gender = 'm' AND n.name LIKE '%Bo%' AND n.name_pcode_cf BETWEEN 'B' AND 'D'
                   AND c.person_role_id = h.id AND h.name = 'Count, the "Old"' AND c.note LIKE '%(live)%' AND a.person_id = n.id AND a.name NOT LIKE 'X%'""",
        "info": """title t, movie_info m, info_type i, movie_info_idx x, info_type y, person_info p, info_type z, name n, cast_info c WHERE m.movie_id = t.id
                   AND m.info_type_id = i.id AND i.info = 'when' AND m.info LIKE 'May%19%' AND (m.note IS NULL OR m.note LIKE '%net%') AND x.movie_id = t.id AND x.info_type_id = y.id
                   AND y.info = 'mark' AND x.info > '8.5' AND t.production_year BETWEEN 1990 AND 1999 AND c.movie_id = t.id AND c.person_id = n.id AND p.person_id = n.id
                   AND p.info_type_id = z.id AND z.info = 'life'""",
        "made": """title t, title s, kind_type o, kind_type u, movie_link l, link_type v, movie_companies m, company_name c, company_type y, movie_keyword w, keyword k,
                   complete_cast e, comp_cast_type f, comp_cast_type g, aka_title a WHERE l.movie_id = t.id AND l.linked_movie_id = s.id AND s.title = 'The End'
                   AND t.kind_id = o.id AND s.kind_id = u.id AND o.kind = 'short' AND u.kind = 'serial' AND l.link_type_id = v.id AND v.link LIKE '%after%'
                   AND m.movie_id = t.id AND m.company_id = c.id AND c.country_code != '[xx]' AND m.company_type_id = y.id AND y.kind = 'maker' AND m.note IS NOT NULL
                   AND w.movie_id = t.id AND w.keyword_id = k.id AND k.keyword LIKE '%love%' AND e.movie_id = t.id AND e.subject_id = f.id AND f.kind = 'all'
                   AND e.status_id = g.id AND g.kind != 'all' AND a.movie_id = s.id"""}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        kit = os.path.join(cls.folder.name, "join-order-benchmark")
        os.makedirs(kit)
        cls.columns = {table: columns for table, *columns in map(str.split, cls.TABLES.splitlines())}
        numbers = ("id", "year", "nr")
        statements = ["CREATE TABLE %s (\n\tid integer,\n\t%s\n);" % (table, ",\n\t".join(column + (" integer" if column.endswith(numbers) else " text") for column in columns))
                      for table, columns in cls.columns.items()]
        cls.write(os.path.join(kit, "schema.sql"), "\n".join(statements))
        for number, text in enumerate(cls.QUERIES.values(), 1):
            cls.write(os.path.join(kit, "%da.sql" % number), "SELECT count(*) FROM " + text)
        said = cls.invent(cls.folder.name)
        if said:
            raise AssertionError(said)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    @classmethod
    def invent(cls, data, seed="1"):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tpc_invent.py")
        command = [sys.executable, program, "--kits", cls.folder.name, "--data", data, "--benchmark", "job", "--scale", "0.0002", "--seed", seed]
        # Sets of texts are in another order in each process.
        return subprocess.run(command, stderr=subprocess.PIPE, check=False, text=True).stderr

    def read(self, table, data=None):
        with open(os.path.join(data or self.folder.name, "job", table + ".csv"), newline="", encoding="utf-8") as file:
            return file.read()

    def rows(self, table):
        return list(csv.reader(self.read(table).splitlines(keepends=True)))

    def test_queries_find_rows(self):
        database = sqlite3.connect(":memory:")
        self.addCleanup(database.close)
        database.execute("PRAGMA case_sensitive_like = on")
        for table, columns in self.columns.items():
            numbers = [column.endswith(("id", "year", "nr")) for column in ["id"] + columns]
            database.execute("CREATE TABLE %s (id integer PRIMARY KEY, %s)" % (table, ", ".join(columns)))
            rows = [[int(value) if is_number and value else value or None for value, is_number in zip(row, numbers)] for row in self.rows(table)]
            database.executemany("INSERT INTO %s VALUES (?%s)" % (table, ", ?" * len(columns)), rows)
        database.execute("ANALYZE")
        for name, text in self.QUERIES.items():
            self.assertGreater(database.execute("SELECT count(*) FROM " + text).fetchone()[0], 0, name)

    def test_rows(self):
        """Each row has its number, and what it refers to is there; titles differ a lot in how many rows they have."""
        sizes = {table: len(self.rows(table)) for table in self.columns}
        owners = {"movie_id": "title", "linked_movie_id": "title", "person_id": "name", "person_role_id": "char_name", "company_id": "company_name", "keyword_id": "keyword",
                  "info_type_id": "info_type", "role_id": "role_type", "kind_id": "kind_type", "link_type_id": "link_type", "company_type_id": "company_type",
                  "subject_id": "comp_cast_type", "status_id": "comp_cast_type"}
        for table, columns in self.columns.items():
            rows = self.rows(table)
            self.assertEqual([int(row[0]) for row in rows], list(range(1, 1 + len(rows))), table)
            for place, column in enumerate(columns, 1):
                for row in rows if column in owners else ():
                    self.assertIn(int(row[place] or 1), range(1, 1 + sizes[owners[column]]), (table, column))
        self.assertEqual((sizes["info_type"], sizes["comp_cast_type"]), (113, 4))
        self.assertAlmostEqual(sizes["cast_info"], 7200, delta=400)
        titles = [row[2] for row in self.rows("cast_info")]
        self.assertGreater(max(map(titles.count, set(titles))), 3 * len(titles) / sizes["title"])

    def test_seeds(self):
        with tempfile.TemporaryDirectory() as again:
            for seed, check in (("1", self.assertEqual), ("2", self.assertNotEqual)):
                self.invent(again, seed)
                check([self.read(table, again) for table in self.columns], [self.read(table) for table in self.columns])

    def test_order(self):
        """The rows of a table are the same whatever tables were made before it by the same process."""
        kit = tpc_kits.kit_of("job", self.folder.name, self.folder.name, "1")
        invention = tpc_invent_job.Imdb(kit, 0.0002, 1)
        for table in ("title", "aka_title"):
            self.assertEqual("".join(invention.table(table)), self.read(table), table)

    def test_named(self):
        """Results say that rows are invented; rows of others are left alone."""
        self.assertEqual(tpc_kits.kit_of("job", self.folder.name, self.folder.name, "1").named_scale(), "0.0002 invented")
        self.assertEqual(tpc_kits.kit_of("job", self.folder.name, "/nowhere", "1").named_scale(), "1")
        with tempfile.TemporaryDirectory() as results:
            self.write(os.path.join(results, "sorts.csv"), "benchmark,scale,setting,jit,taken,reason,postgresql,cpu,cores,card,date,commit\n"
                       "job,0.0002 invented,tuned,off,t,,15,some,2,none,2020-01-01,1\ntpch,10,tuned,off,t,,15,some,2,none,2020-01-01,1\n")
            self.assertIn("| sort | job 0.0002 invented, tuned | tpch 10, tuned |", "\n".join(tpc.tpc_sorts(results)))
        self.assertEqual(tpc.label(("job", "0.0002 invented", "tuned", "on")), ["job", "0.0002 invented", "tuned", "on"])
        with tempfile.TemporaryDirectory() as others:
            os.mkdir(os.path.join(others, "job"))
            self.write(os.path.join(others, "job", "title.csv"), "1,mine\n")
            self.assertIn("were not made here", self.invent(others))
            self.assertEqual(self.read("title", others), "1,mine\n")


class InventedHits(unittest.TestCase):
    COLUMNS = """WatchID BIGINT, Title TEXT, EventTime TIMESTAMP, EventDate Date, CounterID INTEGER, ClientIP INTEGER, RegionID INTEGER, UserID BIGINT, URL TEXT, Referer TEXT,
        RefererHash BIGINT, URLHash BIGINT, SearchPhrase TEXT, SearchEngineID SMALLINT, ClientEventTime TIMESTAMP, LocalEventTime TIMESTAMP, OriginalURL TEXT, HID INTEGER,
        FetchTiming INTEGER, Age SMALLINT, Kind VARCHAR(255)"""
    QUERIES = """SELECT * FROM hits WHERE URL LIKE '%shop%' AND Title NOT LIKE '%Shop%'; SELECT * FROM hits WHERE CounterID = 7 AND Age IN (-5, 3) AND UserID = 12345;
        SELECT * FROM hits WHERE EventDate >= '2020-02-01' AND EventDate <= '2020-02-03'"""

    class Kit:
        @staticmethod
        def schema():
            return ["CREATE TABLE hits\n(\n    %s NOT NULL\n)" % " NOT NULL,\n    ".join(map(str.strip, InventedHits.COLUMNS.split(",")))]

        @staticmethod
        def texts():
            return dict(enumerate(InventedHits.QUERIES.split(";")))

    def test_rows(self):
        names = [column.split()[0] for column in self.COLUMNS.split(",")]
        lines = list(tpc_invent_hits.Hits(self.Kit, 0.00003, 1).table("hits"))
        rows = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in lines]
        self.assertEqual(len(rows), 3000)
        self.assertEqual({line.count("\t") for line in lines}, {len(names) - 1})
        for column, value in (("CounterID", "7"), ("Age", "-5"), ("Age", "3"), ("UserID", "12345")):
            self.assertIn(value, {row[column] for row in rows}, column)
        self.assertTrue(any("shop" in row["URL"] for row in rows) and any("Shop" in row["Title"] for row in rows))
        self.assertEqual({row["EventDate"] for row in rows}, {"2020-02-01", "2020-02-02", "2020-02-03"})
        self.assertTrue(all(row["EventTime"].startswith(row["EventDate"]) for row in rows))
        self.assertEqual(len({row["URL"] for row in rows}), len({(row["URL"], row["CounterID"]) for row in rows}))
        self.assertEqual(lines, list(tpc_invent_hits.Hits(self.Kit, 0.00003, 1).table("hits")))


class Rows(unittest.TestCase):
    ROWS = [("a", "1"), ("b", "1"), ("c", "2")]

    def test_ties(self):
        self.assertEqual(tpc_rows.compare(self.ROWS, list(self.ROWS)), "same")
        self.assertEqual(tpc_rows.compare(self.ROWS, self.ROWS[::-1]), "ties")
        self.assertEqual(tpc_rows.compare(self.ROWS, self.ROWS[:2]), "DIFFERENT")
        self.assertEqual(tpc_rows.compare(self.ROWS, [*self.ROWS[:2], ("c", "3")]), "DIFFERENT")
        self.assertEqual(tpc_rows.compare(self.ROWS[:2] * 2, [*self.ROWS[:2], *self.ROWS[1:]]), "DIFFERENT")

    def test_limits(self):
        one, other = self.ROWS[:1], self.ROWS[1:2]
        self.assertEqual(tpc_rows.compare(one, other, lambda: (self.ROWS, self.ROWS[::-1])), "ties at the limit")
        self.assertEqual(tpc_rows.compare(one, other, lambda: None), "undecided")
        self.assertEqual(tpc_rows.compare(one, other, lambda: (self.ROWS, self.ROWS[:2])), "DIFFERENT")
        self.assertEqual(tpc_rows.compare(one, [("x", "1")], lambda: (self.ROWS, self.ROWS)), "DIFFERENT")
        self.assertEqual(tpc_rows.compare(one, self.ROWS[:2], lambda: (self.ROWS, self.ROWS)), "DIFFERENT")

    def test_floats(self):
        self.assertEqual(tpc_rows.comparable([["0.30000000000000004", "0.30000000000000004"]], ["double precision", "numeric"]), [("0.3", "0.30000000000000004")])
        self.assertEqual(tpc_rows.comparable([["", "x"]], ["real", "text"]), [("", "x")])

    def test_scripts(self):
        self.assertEqual(tpc_rows.worst(["same", "DIFFERENT", "ties"]), "DIFFERENT")
        self.assertEqual(tpc_rows.worst(["same", "ties"]), "ties")


class Plans(unittest.TestCase):
    def test_costs(self):
        def plan(cost, key):
            return [{"Plan": {"Node Type": "Custom Scan", "Custom Plan Provider": "GpuSort", "Total Cost": cost, "Sort Key": [key]}}]
        self.assertEqual(tpc_runs.Plan([plan(1, "a")]).shape, tpc_runs.Plan([plan(2, "a")]).shape)
        self.assertNotEqual(tpc_runs.Plan([plan(1, "a")]).shape, tpc_runs.Plan([plan(1, "b")]).shape)
        self.assertNotEqual(tpc_runs.Plan([plan(1, "a")]).shape, tpc_runs.Plan([[dict(plan(1, "a")[0], JIT={"Functions": 3})]]).shape)
        self.assertEqual(tpc_runs.Plan([plan(1, "a"), plan(1, "a")]).gpusorts, 2)

    def test_first_mode(self):
        plans = {mode: tpc_runs.Plan([[{"Plan": {"Node Type": node}}]]) for mode, node in (("off", "Sort"), ("auto", "Hash"), ("force", "Hash"), ("noise", "Sort"))}
        self.assertEqual([tpc_runs.Query.first_mode(plans, mode) for mode in plans], ["off", "auto", "auto", "off"])

    def test_turns(self):
        self.assertEqual([tpc_runs.Query.turns("abc", number) for number in range(3)], [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])


class Report(unittest.TestCase):
    def test_sums(self):
        def line(plan, ms, outcome="ok"):
            return {"plan": plan, "median_ms": ms, "outcome": outcome}
        group = {"q1": {"off": line("same", 10.0), "auto": line("same", "")}, "q2": {"off": line("same", 30.0), "auto": line("other", 15.0)},
                 "q3": {"off": line("same", "", "limit"), "auto": line("same", "")}, "q4": {"off": line("same", 5.0), "auto": line("other", "", "limit")}}
        self.assertEqual(tpc.sums(group, "auto", "median_ms"), (40.0, 25.0))
        self.assertEqual([query for query, _, _ in tpc.changed(group, "auto")], ["q2"])
        self.assertAlmostEqual(tpc.geometric_mean([2.0, 8.0]), 4.0)


class Applications(unittest.TestCase):
    FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "applications")

    def kit(self, name, never_analyzed=""):
        return tpc_kits.kit_of(name, self.FOLDER, "/nowhere", "0.5", never_analyzed)

    def test_queries(self):
        for name in ("shipping", "tracker"):
            queries = self.kit(name).queries()
            self.assertEqual([40] + [1] * 40, [len(queries)] + [len(script) for script in queries.values()])
            self.assertTrue(all(tpc_text.is_query(statement) for script in queries.values() for statement in script))
        self.assertIn("payload->>'device' AS device", self.kit("shipping").queries()["devices"][0])

    def test_tables(self):
        """A key for each table, and only indexes of tables that there are."""
        for name in ("shipping", "tracker"):
            kit = self.kit(name)
            tables = set(map(tpc_kits.table_of, kit.schema()))
            text = "; ".join(kit.indexes())
            self.assertEqual(tables, set(re.findall(r"ALTER TABLE (\w+) ADD PRIMARY KEY", text)))
            self.assertEqual(tables, set(re.findall(r"^INSERT INTO (\w+)$", tpc_kits.read(os.path.join(kit.folder, "rows.sql")), re.MULTILINE)))
            self.assertLessEqual(set(re.findall(r" ON (\w+)|REFERENCES (\w+)", text)), {(table, "") for table in tables} | {("", table) for table in tables})

    def test_names(self):
        kit = self.kit("tracker", "remark|activity")
        self.assertEqual((kit.database(), kit.named_scale()), ("gpusort_tpc_tracker_0_5_never_remark_activity", "0.5, never analyzed: remark|activity"))
        self.assertEqual((self.kit("tracker").database(), self.kit("tracker").named_scale()), ("gpusort_tpc_tracker_0_5", "0.5"))
        self.assertEqual(kit.locale, "en_US.UTF-8")


class Verdicts(unittest.TestCase):
    @staticmethod
    def line(wall, cpu, plan="other", plan_of=None):
        return {"plan": plan, "plan_of": plan_of, "median_ms": wall, "least_ms": wall, "cpu_least_ms": cpu}

    def verdict(self, auto, force=None):
        lines = {"off": self.line(100.0, 200.0, "same", "off"), "auto": auto or self.line("", "", "same", "off")}
        return tpc_verdicts.verdict(dict(lines, force=force) if force else lines)

    def test_slower(self):
        self.assertEqual(self.verdict(self.line(106.0, 212.0)), "SLOWER")
        self.assertEqual(self.verdict(self.line(106.0, 205.0)), "slower in one")
        self.assertEqual(self.verdict(self.line(50.0, 250.0)), "slower in one")
        self.assertEqual(self.verdict(self.line(104.0, 208.0)), "")
        self.assertEqual(self.verdict(None), "")

    def test_nothing(self):
        off = self.line(1.0, 1.0, "same", "off")
        self.assertEqual(tpc_verdicts.verdict({"off": off, "auto": self.line(1.4, 1.9)}), "")
        self.assertEqual(tpc_verdicts.verdict({"off": off, "auto": self.line(1.6, 2.1)}), "SLOWER")

    def test_missed(self):
        self.assertEqual(self.verdict(None, self.line(70.0, 140.0, plan_of="force")), "MISSED")
        self.assertEqual(self.verdict(None, self.line(70.0, 190.0, plan_of="force")), "")
        self.assertEqual(self.verdict(self.line(90.0, 180.0), self.line(50.0, 100.0, plan_of="force")), "MISSED")
        self.assertEqual(self.verdict(self.line(55.0, 110.0), self.line(50.0, 100.0, plan_of="force")), "")
        self.assertEqual(self.verdict(self.line(90.0, 180.0), self.line(50.0, 100.0, plan_of="auto")), "")

    def test_headline(self):
        group = {"q1": {"off": self.line(100.0, 100.0, "same", "off"), "auto": self.line(50.0, 25.0)},
                 "q2": {"off": self.line(100.0, 100.0, "same", "off"), "auto": self.line(200.0, 400.0)},
                 "q3": {"off": self.line(100.0, 100.0, "same", "off"), "auto": self.line("", "", "same", "off")}}
        self.assertEqual(tpc_verdicts.headline(group), ["2 of 3", "1.00", "1.00", "1", "0", "0"])

    def test_planning(self):
        def lines(off, auto):
            return {"off": {"planning_least_ms": off}, "auto": {"planning_least_ms": auto}}
        self.assertEqual(tpc_verdicts.planning({"q1": lines(0.1, 0.2), "q2": lines(0.2, 0.2)})[:4], ["2", "0.30", "0.40", "0.0500"])
        self.assertIsNone(tpc_verdicts.planning({"q1": lines("", "")}))


if __name__ == "__main__":
    unittest.main(argv=["tpc_test.py", "--quiet"])
