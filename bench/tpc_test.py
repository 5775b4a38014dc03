#!/usr/bin/python3
"""Tests what bench/tpc makes of texts, rows and plans.  Needs no server, and none of the kits."""
import os
import tempfile
import unittest

import tpc_kits
import tpc_rows
import tpc_runs
import tpc_text
from result_tables import tpc


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
        for text in ("SELECT 1", "SELECT 1 LIMIT 5 OFFSET 3", "SELECT * FROM (SELECT 1 LIMIT 2) x"):
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


if __name__ == "__main__":
    unittest.main(argv=["tpc_test.py", "--quiet"])
