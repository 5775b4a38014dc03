"""Values for invented rows: nonsense words, urns to draw from, and what columns take.  For bench/tpc_invent.py."""
import re

SLOTS = 4096	# of an urn


def steps(weights, total):
    """Numbers that are in the proportion of the weights, at least 1 each."""
    whole = sum(weights)
    return [max(1, round(weight * total / whole)) for weight in weights]


def quoted(value):
    """A value as it is in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, str) and (value == "" or any(character in value for character in ',"\n')):
        return '"%s"' % value.replace('"', '""')
    return str(value)


class Urn:
    """Values to draw from, the frequent ones several times; equal ones stand together, so that groups can prefer some."""

    def __init__(self, values):
        self.values = [values[slot * len(values) // SLOTS] for slot in range(SLOTS)]
        self.csv = [quoted(value) for value in self.values]


class Words:
    """A language."""

    FIRST = "b c d f g h j k l m n p r s t v w z x y br ch st tr an".split()
    MIDDLE = "a e i o u ai ea an or el in".split()
    LAST = ["", "", "n", "r", "s", "l", "m", "k", "nd", "rt"]

    def __init__(self, rng, count=6000):
        def part(place):
            return rng.choices(self.FIRST, range(len(self.FIRST), 0, -1))[0] + rng.choice(self.MIDDLE) + (rng.choice(self.LAST) if place == 0 else "")
        self.words = ["".join(part(place) for place in range(rng.choice((1, 2, 2, 3)), -1, -1)) for _ in range(count)]
        self.names = [word.capitalize() for word in self.words]
        self.text = " ".join(rng.choice(self.words) for _ in range(30000))


def columns_of(schema):
    """The columns of the tables that a schema makes, which of them are integers, and how long a text may be in some."""
    columns, integers, lengths = {}, set(), {}
    for statement in schema:
        table = re.match(r"create\s+table\s+(\w+)", statement, re.IGNORECASE).group(1).lower()
        found = re.findall(r"^\s+(\w+)\s+(integer|text|character varying\((\d+)\))", statement, re.IGNORECASE | re.MULTILINE)
        columns[table] = [column for column, _, _ in found]
        integers.update((table, column) for column, kind, _ in found if kind == "integer")
        lengths.update({(table, column): int(length) for column, _, length in found if length})
    return columns, integers, lengths
