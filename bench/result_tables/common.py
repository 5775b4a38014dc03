"""Reading results, and Markdown."""
import csv
import math
import os
import re
import sys
import textwrap

RESULTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results")


# Which files have been read, as paths below RESULTS.
files_read = []

TEXTS = {"commit", "date", "times_ms", "session_ms", "stage", "source"}


def number(column, text):
    if column in TEXTS:
        return text
    try:
        return float(text)
    except ValueError:
        return text


def read_rows(folder, name):
    """The rows of a CSV file, numbers as numbers."""
    path = os.path.join(RESULTS, folder, name)
    if not os.path.exists(path):
        sys.exit("tables: there is no " + path)
    files_read.append(os.path.relpath(path, RESULTS))
    with open(path, newline="") as file:
        return [{column: number(column, text) for column, text in row.items() if column} for row in csv.DictReader(file)]


def select(rows, /, **wanted):
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def values_of(rows, column):
    """The different values of a column, in order of first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def only(rows, /, **wanted):
    """The one row that there is, or None."""
    found = select(rows, **wanted)
    return found[0] if found else None


# ---- methods, such as serial, parallel8 or cuda15: a kind with its workers ----


def kind_of(method):
    return re.sub(r"\d+$", "", method)


def best_method(times, *kinds):
    """The method of these kinds that takes the least, of times by method; None if there is none."""
    return min((method for method in times if kind_of(method) in kinds), key=times.get, default=None)


# ---- Markdown ----


def table(heads, rows, left=1):
    """Lines of a table; all columns but the first `left` ones are numbers."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "|".join(["---"] * left + ["--:"] * (len(heads) - left)) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def paragraph(text):
    return textwrap.wrap(text, 110, break_long_words=False, break_on_hyphens=False)


def digits(value, places=3):
    """So many significant digits, but all of them before the point."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    return "%.*f" % (max(0, places - 1 - math.floor(math.log10(abs(value)))), value)


def thousands(value):
    return "{:,.0f}".format(value)


def in_words(items):
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def span(numbers):
    """As 5, or 3 to 5."""
    numbers = list(numbers)
    low, high = min(numbers), max(numbers)
    return "%d" % low if low == high else "%d to %d" % (low, high)


def repetitions(counts):
    """How often something was measured, in words."""
    return "one run each" if set(counts) == {1} else "medians of %s runs" % span(counts)


def measured_on(rows, machine, counts):
    """On what a table was measured, when, at which commits, and how often each of its times."""
    return "PostgreSQL %s, %s, %s, commit %s; %s." % (
        str(rows[0]["postgresql"]).split()[0], machine, str(rows[0]["date"])[:10], in_words(values_of(rows, "commit")), repetitions(counts))


def power(n):
    return "2^%d" % round(math.log2(n))
