#!/usr/bin/python3
"""Tests what bench/whole_queries/tpc makes of texts, rows and plans.  Needs no server, and none of the kits."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import tpc_invent_hits
import tpc_kits
import tpc_rows
import tpc_runs
import tpc_text
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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


class Invented(unittest.TestCase):
    COLUMNS = """WatchID BIGINT, Title TEXT, EventTime TIMESTAMP, EventDate Date, CounterID INTEGER, ClientIP INTEGER, RegionID INTEGER, UserID BIGINT, URL TEXT, Referer TEXT,
        RefererHash BIGINT, URLHash BIGINT, SearchPhrase TEXT, SearchEngineID SMALLINT, ClientEventTime TIMESTAMP, LocalEventTime TIMESTAMP, OriginalURL TEXT, HID INTEGER,
        FetchTiming INTEGER, Age SMALLINT, Kind VARCHAR(255)"""
    QUERIES = """SELECT * FROM hits WHERE URL LIKE '%shop%' AND Title NOT LIKE '%Shop%'; SELECT * FROM hits WHERE CounterID = 7 AND Age IN (-5, 3) AND UserID = 12345;
        SELECT * FROM hits WHERE EventDate >= '2020-02-01' AND EventDate <= '2020-02-03'"""

    class Kit:
        @staticmethod
        def schema():
            return ["CREATE TABLE hits\n(\n    %s NOT NULL\n)" % " NOT NULL,\n    ".join(map(str.strip, Invented.COLUMNS.split(",")))]

        @staticmethod
        def texts():
            return dict(enumerate(Invented.QUERIES.split(";")))

    def test_rows(self):
        names = [column.split()[0] for column in self.COLUMNS.split(",")]
        lines = list(tpc_invent_hits.Hits(self.Kit, 0.00003, 1).table())
        rows = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in lines]
        self.assertEqual(len(rows), 3000)
        self.assertEqual({line.count("\t") for line in lines}, {len(names) - 1})
        for column, value in (("CounterID", "7"), ("Age", "-5"), ("Age", "3"), ("UserID", "12345")):
            self.assertIn(value, {row[column] for row in rows}, column)
        self.assertTrue(any("shop" in row["URL"] for row in rows) and any("Shop" in row["Title"] for row in rows))
        self.assertEqual({row["EventDate"] for row in rows}, {"2020-02-01", "2020-02-02", "2020-02-03"})
        self.assertTrue(all(row["EventTime"].startswith(row["EventDate"]) for row in rows))
        self.assertEqual(len({row["URL"] for row in rows}), len({(row["URL"], row["CounterID"]) for row in rows}))
        self.assertEqual(lines, list(tpc_invent_hits.Hits(self.Kit, 0.00003, 1).table()))

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def invent(self, kits, data, seed="1"):
        """What the program says, and the rows that are there then."""
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tpc_invent.py")
        self.write(os.path.join(kits, "ClickBench", "postgresql", "create.sql"), self.Kit.schema()[0] + ";")
        self.write(os.path.join(kits, "ClickBench", "postgresql", "queries.sql"), self.QUERIES + ";")
        # Sets of texts are in another order in each process.
        said = subprocess.run([sys.executable, program, "--kits", kits, "--data", data, "--scale", "0.00002", "--seed", seed], stderr=subprocess.PIPE, check=False, text=True).stderr
        with open(os.path.join(data, "clickbench", "hits.tsv"), encoding="utf-8") as file:
            return said, file.read()

    def test_named(self):
        """The same seed gives the same rows; results say that rows are invented; rows of others are left alone."""
        with tempfile.TemporaryDirectory() as kits, tempfile.TemporaryDirectory() as others:
            said, rows = self.invent(kits, kits)
            self.assertEqual((said, rows.count("\n")), ("", 2000))
            self.assertEqual(self.invent(kits, kits)[1], rows)
            self.assertNotEqual(self.invent(kits, kits, "2")[1], rows)
            self.assertEqual(tpc_kits.kit_of("clickbench", kits, kits, "1").named_scale(), "2e-05 invented")
            self.assertEqual(tpc_kits.kit_of("clickbench", kits, "/nowhere", "1").named_scale(), "1")
            self.write(os.path.join(others, "clickbench", "hits.tsv"), "1\tmine\n")
            said, rows = self.invent(kits, others)
            self.assertIn("were not made here", said)
            self.assertEqual(rows, "1\tmine\n")
        with tempfile.TemporaryDirectory() as results:
            self.write(os.path.join(results, "sorts.csv"), "benchmark,scale,setting,jit,taken,reason,postgresql,cpu,cores,card,date,commit\n"
                       "clickbench,0.1 invented,tuned,off,t,,15,some,2,none,2020-01-01,1\ntpch,10,tuned,off,t,,15,some,2,none,2020-01-01,1\n")
            self.assertIn("| sort | clickbench 0.1 invented, tuned | tpch 10, tuned |", "\n".join(tpc.tpc_sorts(results)))
        self.assertEqual(tpc.label(("clickbench", "0.1 invented", "tuned", "on")), ["clickbench", "0.1 invented", "tuned", "on"])


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
