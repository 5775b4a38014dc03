"""Are two results the same rows?  For bench/whole_queries/tpc."""
from collections import Counter

SAME, TIES, TIES_AT_THE_LIMIT, DIFFERENT, UNDECIDED = "same", "ties", "ties at the limit", "DIFFERENT", "undecided"

# What sums of these depend on the order of their rows for.
FLOATS = ("double precision", "real")


def rounded(value):
    """A number with ten digits; what is none as it is."""
    try:
        return "%.10g" % float(value)
    except ValueError:
        return value


def comparable(rows, types):
    """Rows as tuples, with their floating-point numbers rounded."""
    places = [place for place, name in enumerate(types) if name in FLOATS]
    if not places:
        return [tuple(row) for row in rows]
    return [tuple(rounded(value) if place in places else value for place, value in enumerate(row)) for row in rows]


def compare(rows, others, all_rows=None):
    """How alike are two results?  all_rows() gives both without their LIMIT, or None if that takes too long; it is None if there is no LIMIT."""
    if rows == others:
        return SAME
    if Counter(rows) == Counter(others):
        return TIES
    if all_rows is None or len(rows) != len(others):
        return DIFFERENT
    everything = all_rows()
    if everything is None:
        return UNDECIDED
    full, other_full = map(Counter, everything)
    # What is let through by a limit has to be of what there is, as often at most.
    if full == other_full and not Counter(rows) - full and not Counter(others) - full:
        return TIES_AT_THE_LIMIT
    return DIFFERENT


def worst(verdicts):
    """That of a script, of those of its queries."""
    return max(verdicts, key=[SAME, TIES, TIES_AT_THE_LIMIT, UNDECIDED, DIFFERENT].index, default=SAME)
