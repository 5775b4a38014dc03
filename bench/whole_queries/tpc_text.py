"""Texts of queries, for bench/whole_queries/tpc: taken apart into words, and made such that PostgreSQL takes them.

The generators write SQL of other systems in places.  The rules here are about forms, not about queries: none
of these has a name, and a text that has none of the forms stays as it is.
"""
import re

# A string, a quoted name, a comment, a number, a word, white space, or one other character.
TOKEN = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|--[^\n]*|/\*.*?\*/|\d+(?:\.\d+)?|[A-Za-z_]\w*|\s+|.""", re.DOTALL)

SET_OPERATIONS = {"union", "intersect", "except"}
# What ends the part of a SELECT that it stands behind.
CLAUSES = {"select", "from", "where", "group", "having", "order", "limit", "offset", "fetch", "window", "on", "using"} | SET_OPERATIONS
# What may follow a subselect that has no name.
NOT_NAMES = CLAUSES | {"join", "inner", "left", "right", "full", "cross", "natural", "lateral", "end", "then", "and", "or"}


def tokens_of(text):
    return TOKEN.findall(text)


def is_blank(token):
    return token.isspace() or token.startswith("--") or token.startswith("/*")


def significant(tokens):
    """The places of all tokens but white space and comments."""
    return [at for at, token in enumerate(tokens) if not is_blank(token)]


def word(tokens, places, number):
    """The token at a place, in lower case; an empty one outside."""
    return tokens[places[number]].lower() if 0 <= number < len(places) else ""


def split_statements(text):
    """The statements of a script, without their semicolons and without comments."""
    statements = [[]]
    for token in tokens_of(text):
        if token == ";":
            statements.append([])
        elif token.startswith("--") or token.startswith("/*"):
            statements[-1].append(" ")
        else:
            statements[-1].append(token)
    stripped = ["".join(statement).strip() for statement in statements]
    return [statement for statement in stripped if statement]


def first_word(statement):
    found = re.match(r"[\s(]*(\w+)", statement)
    return found.group(1).lower() if found else ""


def is_query(statement):
    """Is this a statement that EXPLAIN knows and that returns rows?"""
    return first_word(statement) in ("select", "with", "values", "table")


# ---- rules ----


def join_limits(statements):
    """A LIMIT behind the semicolon belongs to the query before it; one of less than nothing to none."""
    joined = []
    for statement in statements:
        limit = re.fullmatch(r"limit\s+(-?\d+)", statement, re.IGNORECASE)
        if not limit:
            joined.append(statement)
        elif int(limit.group(1)) >= 0 and joined:
            joined[-1] += "\n" + statement
    return joined


def drop_precisions(text):
    """An interval's field has no precision: day (3)."""
    return re.sub(r"(interval\s*'[^']*'\s*(?:year|month|day|hour|minute|second))\s*\(\s*\d+\s*\)", r"\1", text, flags=re.IGNORECASE)


def drop_days(text):
    """A date and so many days is the date and that number, and a date again."""
    tokens = tokens_of(text)
    places = significant(tokens)
    for number in range(1, len(places) - 1):
        if word(tokens, places, number + 1) in ("day", "days") and tokens[places[number]].isdigit() and word(tokens, places, number - 1) in ("+", "-"):
            tokens[places[number + 1]] = ""
    return "".join(tokens)


def closing(tokens, places, number):
    """The number of the place where the parenthesis at another one is closed."""
    depth = 0
    for at in range(number, len(places)):
        depth += {"(": 1, ")": -1}.get(tokens[places[at]], 0)
        if depth == 0:
            return at
    raise ValueError("a parenthesis is not closed")


def opens_subselect(tokens, places, number):
    """Is what this parenthesis opens a SELECT, or several of them put together?"""
    inside = word(tokens, places, number + 1)
    if inside != "(":
        return inside in ("select", "with", "values")
    behind = closing(tokens, places, number + 1) + 1
    return opens_subselect(tokens, places, number + 1) and (word(tokens, places, behind) in SET_OPERATIONS | {")"})


def name_subselects(text):
    """A subselect in FROM has a name before PostgreSQL 16."""
    tokens = tokens_of(text)
    places = significant(tokens)
    clauses, named = [""], 0
    for number in range(len(places)):
        token = word(tokens, places, number)
        if token == "(":
            in_from = clauses[-1] == "from" and word(tokens, places, number - 1) in ("from", ",", "join", "lateral")
            if in_from and opens_subselect(tokens, places, number):
                end = closing(tokens, places, number)
                behind = word(tokens, places, end + 1)
                if not re.match(r"[a-z_\"]", behind) or behind in NOT_NAMES:
                    named += 1
                    tokens[places[end]] += " AS unnamed_%d" % named
            clauses.append("")
        elif token.startswith(")"):
            clauses.pop()
        elif token in ("join", "inner", "left", "right", "full", "cross", "natural") and clauses[-1] == "on":
            clauses[-1] = "from"
        elif token in CLAUSES:
            clauses[-1] = token
    return "".join(tokens)


def top_clauses(text):
    """The tokens, and of each clause outside of all parentheses the place where it begins, the last one of a kind."""
    tokens = tokens_of(text)
    depth, found = 0, {}
    for at, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and token.lower() in CLAUSES:
            found[token.lower()] = at
    return tokens, found


def wrap_ordered(text):
    """In ORDER BY a new name of the select list stands alone; in an expression it is none.  The query becomes a subselect then."""
    tokens, clauses = top_clauses(text)
    if "order" not in clauses or "select" not in clauses or clauses["order"] < clauses["select"]:
        return text
    listed = [token.lower() for token in tokens[clauses["select"]:clauses.get("from", clauses["order"])] if not is_blank(token)]
    names = {name for before, name in zip(listed, listed[1:]) if before == "as"}
    order = [token.lower() for token in tokens[clauses["order"]:clauses.get("limit", len(tokens))]]
    if "case" not in order or not names & set(order[order.index("case"):order.index("end") if "end" in order else len(order)]):
        return text
    return "SELECT * FROM (\n%s) AS ordered\n%s" % ("".join(tokens[:clauses["order"]]), "".join(tokens[clauses["order"]:]))


RULES = (drop_precisions, drop_days, name_subselects, wrap_ordered)


def statements_of(text):
    """The statements of a script as PostgreSQL takes them."""
    statements = []
    for statement in join_limits(split_statements(text)):
        if is_query(statement) or first_word(statement) == "create":
            for rule in RULES:
                statement = rule(statement)
        statements.append(statement)
    return statements


def without_limit(statement):
    """A query without its last LIMIT and OFFSET, and how many rows LIMIT let through; None if it has no LIMIT."""
    tokens, clauses = top_clauses(statement)
    if "limit" not in clauses or "fetch" in clauses:
        return None
    first = min(clauses["limit"], clauses.get("offset", len(tokens)))
    behind = " ".join(token for token in tokens[first:] if not is_blank(token))
    limit = re.fullmatch(r"(?:offset \d+ )?limit (\d+)(?: offset \d+)?", behind, re.IGNORECASE)
    return ("".join(tokens[:first]).strip(), int(limit.group(1))) if limit else None
