"""The table of bench/queries/sort_grid."""
from result_tables.common import digits, measured_on, paragraph, read_rows, select, table, thousands

# A cell but for its statement.
CELL = ("rows", "type", "columns", "order", "values", "padding", "work_mem", "workers")
STATEMENTS = {"orderby": "ORDER BY", "distinct": "DISTINCT", "union": "UNION", "index": "CREATE INDEX"}


def source(rows):
    """What rows of bench/queries/sort_grid were measured on, and how often."""
    runs = measured_on(rows, "%s, %d cores" % (rows[0]["cpu"], rows[0]["cores"]), [row["runs"] for row in rows])
    return runs.replace("medians", "fewest")


def setting(value):
    return str(value) if isinstance(value, str) else thousands(value)


def sort_grid(*files):
    """Off against auto: a line a cell, a column a statement."""
    rows = [row for name in files for row in read_rows("", name)]
    yield from paragraph("Milliseconds of off / those of auto, and in brackets those of off. " + source(rows))
    yield ""
    statements = [name for name in STATEMENTS if select(rows, statement=name)]
    lines = []
    for cell in dict.fromkeys(tuple(row[name] for name in CELL) for row in rows):
        results = select(rows, **dict(zip(CELL, cell)))
        by_statement = {row["statement"]: "%.2f (%s)" % (row["ratio"], digits(row["off_ms"])) for row in results}
        lines.append([setting(value) for value in cell] + [by_statement.get(name, "") for name in statements])
    yield from table([name.replace("_", " ") for name in CELL] + [STATEMENTS[name] for name in statements], lines, left=len(CELL))
