"""What queries ask of columns, read from their texts, and values that are what they ask for.  For bench/tpc_invent.py.

A query here is SELECT ... FROM table AS alias, ... WHERE ..., with AND, OR and parentheses, and comparisons of a column with constants (=, !=,
<, BETWEEN, IN, LIKE, IS NULL) or with another column (=): what the Join Order Benchmark has.
"""
import collections
import functools
import re

import tpc_text

# column OP values, of the table with an alias; of "join" the values are the other alias and column.
Condition = collections.namedtuple("Condition", "alias column op values")

NEGATED = {"in": "not in", "like": "not like"}
ATTEMPTS = 2000


class Reader:
    """Reads WHERE.  Each part gives its alternatives: lists of conditions that are true together."""

    def __init__(self, text):
        tokens = [token for token in tpc_text.tokens_of(text) if not tpc_text.is_blank(token)]
        # <= and the like are two tokens there.
        self.tokens = []
        for token in tokens:
            if self.tokens and self.tokens[-1] + token in ("<=", ">=", "!=", "<>"):
                self.tokens[-1] += token
            else:
                self.tokens.append(token)
        self.at = 0

    def accept(self, *words):
        """Goes past words if they are next."""
        found = [token.lower() for token in self.tokens[self.at:self.at + len(words)]] == list(words)
        self.at += len(words) * found
        return found

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, word):
        if not self.accept(word):
            raise ValueError("no %s at: %s" % (word, " ".join(self.tokens[self.at:self.at + 5])))

    def tables(self):
        """FROM: the tables by alias."""
        while not self.accept("from"):
            self.take()
        tables = {}
        while True:
            table = self.take().lower()
            self.accept("as")
            tables[self.take().lower()] = table
            if not self.accept(","):
                return tables

    def any_of(self):
        alternatives = self.all_of()
        while self.accept("or"):
            alternatives = alternatives + self.all_of()
        return alternatives

    def all_of(self):
        alternatives = self.one()
        while self.accept("and"):
            others = self.one()
            alternatives = [first + second for first in alternatives for second in others]
        return alternatives

    def one(self):
        if self.accept("("):
            inside = self.any_of()
            self.expect(")")
            return inside
        return [self.comparison()]

    def constant(self):
        token = self.take()
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        return int(token)

    def comparison(self):
        """The conditions of one comparison: of BETWEEN two."""
        alias = self.take().lower()
        self.expect(".")
        column = self.take().lower()
        if self.accept("is", "null"):
            return [Condition(alias, column, "null", ())]
        if self.accept("is", "not", "null"):
            return [Condition(alias, column, "not null", ())]
        if self.accept("between"):
            least = self.constant()
            self.expect("and")
            return [Condition(alias, column, ">=", (least,)), Condition(alias, column, "<=", (self.constant(),))]
        negated = self.accept("not")
        op = self.take().lower().replace("<>", "!=")
        op = NEGATED[op] if negated else op
        if op in ("in", "not in"):
            return [Condition(alias, column, op, self.constants())]
        if op == "=" and self.tokens[self.at + 1:self.at + 2] == ["."]:
            other = self.take().lower()
            self.expect(".")
            return [Condition(alias, column, "join", (other, self.take().lower()))]
        return [Condition(alias, column, op, (self.constant(),))]

    def constants(self):
        self.expect("(")
        values = [self.constant()]
        while self.accept(","):
            values.append(self.constant())
        self.expect(")")
        return tuple(values)


class Query:
    """Its tables by alias, the alternatives of its WHERE, and which columns are equal."""

    def __init__(self, text):
        reader = Reader(text.rstrip().rstrip(";"))
        self.tables = reader.tables()
        reader.expect("where")
        alternatives = reader.any_of()
        if reader.at != len(reader.tokens):
            raise ValueError("not read: " + " ".join(reader.tokens[reader.at:]))
        self.alternatives = [[condition for condition in conditions if condition.op != "join"] for conditions in alternatives]
        self.equal = self.classes([condition for condition in alternatives[0] if condition.op == "join"])

    @staticmethod
    def classes(joins):
        """Sets of columns, as (alias, column), that are equal."""
        classes = []
        for join in joins:
            joined = {(join.alias, join.column), join.values}
            for other in [one for one in classes if one & joined]:
                classes.remove(other)
                joined |= other
            classes.append(joined)
        return classes

    def asked_of(self, alias):
        """All that is asked of an alias's columns, in any alternative."""
        return list(dict.fromkeys(condition for conditions in self.alternatives for condition in conditions if condition.alias == alias))

    def referenced(self, alias, column):
        """The alias whose id a column has to be; None if there is none."""
        for one in self.equal:
            if (alias, column) in one:
                return next((other for other, other_column in sorted(one) if other_column == "id" and other != alias), None)
        return None


# ---- values ----


@functools.lru_cache(None)
def like(pattern):
    return re.compile("".join({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in pattern), re.DOTALL)


TRUE_OF = {
    "=": lambda value, values: value == values[0], "!=": lambda value, values: value != values[0],
    "<": lambda value, values: value < values[0], ">": lambda value, values: value > values[0],
    "<=": lambda value, values: value <= values[0], ">=": lambda value, values: value >= values[0],
    "in": lambda value, values: value in values, "not in": lambda value, values: value not in values,
    "like": lambda value, values: like(values[0]).fullmatch(value) is not None, "not like": lambda value, values: like(values[0]).fullmatch(value) is None}


def holds(condition, value):
    """Is a condition true of a value?  None is NULL."""
    if value is None or condition.op in ("null", "not null"):
        return (value is None) == (condition.op == "null")
    return TRUE_OF[condition.op](value, condition.values)


def fill(pattern, rng, words):
    """A text that is LIKE a pattern."""
    pieces = pattern.split("%")
    text = pieces[0]
    for number, piece in enumerate(pieces[1:], 1):
        if text and piece and text[-1].isalpha() and piece[0].isalpha():
            text += " "
        elif text and text[-1].isdigit():
            text += rng.choice("0123456789")
        elif piece and not text:
            text += rng.choice(("", "", rng.choice(words) + " "))
        elif piece:
            text += rng.choice(words).capitalize()
        elif number == len(pieces) - 1 and rng.random() < 0.3:
            text += " " + rng.choice(words)
        text += piece
    return text


def value_for(conditions, rng, words, draw, longest=None):
    """A value for which all conditions on its column are true, of so many characters at most; draw() gives one as there are many."""
    given = [condition.values for condition in conditions if condition.op in ("=", "in")]
    patterns = [condition.values[0] for condition in conditions if condition.op == "like"]
    for _ in range(ATTEMPTS):
        if any(condition.op == "null" for condition in conditions):
            value = None
        elif given:
            value = rng.choice(given[0])
        elif patterns:
            # What has to be at the beginning comes first.
            value = " ".join(fill(pattern, rng, words) for pattern in sorted(patterns, key=lambda pattern: pattern.startswith("%")))
        else:
            value = draw()
        fits = longest is None or not isinstance(value, str) or len(value) <= longest
        if fits and all(holds(condition, value) for condition in conditions):
            return value
    raise ValueError("no value is found for which %s" % " and ".join("%s %s %s" % (condition.column, condition.op, condition.values) for condition in conditions))
