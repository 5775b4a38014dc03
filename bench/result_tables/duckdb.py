"""The table of bench/queries/duckdb."""
from result_tables.common import best_method, in_words, kind_of, paragraph, read_rows, span, table, thousands, values_of

# Whose a method is.
ENGINES = {"serial": "PostgreSQL", "parallel": "PostgreSQL", "cpu": "gpusort", "cuda": "gpusort", "auto": "gpusort", "duckdb": "DuckDB", "attached": "DuckDB"}

# Times this close are one: so much do runs of the same differ.
ABOUT_EVEN = 1.05


def threads_of(method):
    """All processes of a plan, with its leader, or DuckDB's threads."""
    digits = int(method[len(kind_of(method)):] or 0)
    return digits if kind_of(method) in ("duckdb", "attached") else digits + 1


def time_and_threads(ms, method):
    return "%s (%d)" % (thousands(ms[method]), threads_of(method)) if method else ""


def ratio(ms, rival, ours):
    return "%.2f" % (ms[rival] / ms[ours]) if rival and ours else ""


def fastest(ms):
    """Whose best time is the least, with those about as fast; nobody's where there is but one."""
    if len({ENGINES[kind_of(method)] for method in ms}) == 1:
        return ""
    least = min(ms.values())
    return in_words(dict.fromkeys(ENGINES[kind_of(method)] for method in sorted(ms, key=ms.get) if ms[method] <= ABOUT_EVEN * least))


def source(rows):
    """On what a run was measured, when, at which commit, and how often each of its times."""
    first = rows[0]
    return "PostgreSQL %s, DuckDB %s, %s each, %s, %d cores, %s, commit %s; fastest of %s runs." % (
        str(first["postgresql"]).split()[0], first["duckdb"], first["memory"], first["cpu"], first["cores"], first["date"][:10],
        in_words(values_of(rows, "commit")), span(len(row["times_ms"].split()) for row in rows))


def duckdb(*files):
    """bench/queries/duckdb: milliseconds of PostgreSQL, gpusort and DuckDB with one thread and with several, and who is the fastest."""
    measured = [read_rows("", name) for name in files]
    attached = any(kind_of(row["method"]) == "attached" for rows in measured for row in rows)
    yield from paragraph("Milliseconds, and in brackets the threads or processes. " + " ".join(map(source, measured)))
    yield ""
    lines = []
    for rows in measured:
        for case in dict.fromkeys((row["query"], row["case"], row["rows"]) for row in rows):
            ms = {row["method"]: row["least_ms"] for row in rows if (row["query"], row["case"], row["rows"]) == case}
            one = {method: time for method, time in ms.items() if threads_of(method) == 1 and kind_of(method) != "auto"}
            more = {method: time for method, time in ms.items() if threads_of(method) > 1}
            lines.append([case[0], case[1], thousands(case[2])] +
                         [time_and_threads(ms, method) for method in (
                             best_method(one, "serial"), best_method(more, "parallel"), best_method(one, "cpu", "cuda"), best_method(more, "cpu", "cuda"),
                             best_method(ms, "auto"), best_method(one, "duckdb"), best_method(more, "duckdb"))] +
                         ([time_and_threads(ms, best_method(some, "attached")) for some in (one, more)] if attached else []) +
                         [ratio(ms, best_method(some, "duckdb"), best_method(some, "cpu", "cuda")) for some in (one, more)] +
                         [ratio(ms, best_method(ms, "duckdb"), best_method(ms, "serial", "parallel")), fastest(ms)])
    yield from table(["query", "key", "rows", "PostgreSQL, serial", "parallel", "gpusort", "gpusort, parallel", "auto", "DuckDB", "DuckDB, parallel"] +
                     (["DuckDB, attached", "attached, parallel"] if attached else []) +
                     ["DuckDB / gpusort, one each", "DuckDB / gpusort, several", "DuckDB's best / PostgreSQL's best", "fastest"], lines, left=2)
