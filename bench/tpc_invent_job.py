"""Invented rows of the Join Order Benchmark's tables.  For bench/tpc_invent.py.

What is known here of the tables: how many rows IMDB has of each, and which row belongs to which.  What the columns hold comes from the texts of
the queries: each constant that one of them compares a column with is a value of that column, the more frequent the more queries have it.

Titles, people, characters and companies have a rank, and the first ranks have by far the most rows; so a title with a large cast has many
keywords and companies, too.  They are also of one of a few groups, as if of countries: a person mostly plays in titles of the same group, and
each group prefers other values in all columns.  A planner that takes columns and tables for independent is wrong about both.

What several conditions ask for at once would hardly ever come up by chance, so for each query some rows are made that it finds: witnesses.
Their titles, people and companies are among the others, and have other rows as these have.
"""
import array
import collections
import itertools
import random

import tpc_conditions
from tpc_invent_values import SLOTS, Urn, Words, columns_of, quoted, steps

# Rows of IMDB in May 2013, whose tables the benchmark is for: about.  Types are there whole.
ROWS = {"title": 2500000, "name": 4200000, "char_name": 3100000, "company_name": 235000, "keyword": 134000, "cast_info": 36000000, "movie_info": 15000000,
        "movie_info_idx": 1400000, "movie_keyword": 4500000, "movie_companies": 2600000, "person_info": 3000000, "aka_name": 900000, "aka_title": 360000,
        "complete_cast": 135000, "movie_link": 30000}
TYPES = {"info_type": 113, "kind_type": 7, "role_type": 12, "link_type": 18, "company_type": 4, "comp_cast_type": 4}
ENTITIES = ("title", "name", "char_name", "company_name")

# What a row belongs to: its owner, and what else it is made of.
BELONGS_TO = {"cast_info": ("person_id", "movie_id"), "movie_companies": ("company_id", "movie_id"), "movie_info": ("movie_id", "info_type_id"),
              "movie_info_idx": ("movie_id", "info_type_id"), "person_info": ("person_id", "info_type_id"), "movie_keyword": ("movie_id",), "movie_link": ("movie_id",),
              "complete_cast": ("movie_id",), "aka_name": ("person_id",), "aka_title": ("movie_id",)}
OWNERS = {"movie_id": "title", "person_id": "name", "company_id": "company_name"}

# The type that says what another column of the same row is about.
GOVERNED_BY = {"movie_info": "info_type_id", "movie_info_idx": "info_type_id", "person_info": "info_type_id", "cast_info": "role_id", "movie_companies": "company_type_id"}

# How steep the ranks are: 1 is no difference; the first of N has (1/N)^(1/this) of all rows.
STEEP = {"cast_info": 1.6, "movie_companies": 1.8, "movie_info": 1.35, "movie_info_idx": 1.1, "movie_keyword": 1.6, "person_info": 1.4, "aka_name": 1.3, "aka_title": 1.3,
         "complete_cast": 1.2, "movie_link": 2.0, "title": 1.4, "char_name": 2.5, "keyword": 2.0}

GROUPS = 24
# Shares of NULLs, and of values that no query has; the rest are constants.
NULLS = {"note": 0.6, "gender": 0.3, "country_code": 0.05, "production_year": 0.03, "episode_nr": 0.4}
OTHERS = {"note": 0.1, "info": 0.4, "country_code": 0.15, "name": 0.1, "title": 0.1}
# How many titles, people, ... are named by a constant of the queries.
NAMED = 0.03
# Keywords that a query may ask for: these are the first ones.
KNOWN = 400
# Types of information that no query has.
OTHER_TYPES = 12


class Imdb:
    """All tables, by the texts of the kit's queries."""

    def __init__(self, kit, scale, seed):
        self.seed = seed
        self.rng = random.Random(seed)
        self.random = self.rng.random
        self.columns, self.integers, self.lengths = columns_of(kit.schema())
        self.queries = {name: tpc_conditions.Query(text) for name, text in kit.texts().items()}
        self.words = Words(self.rng)
        self.rows = {table: max(1, round(rows * scale)) for table, rows in ROWS.items()}
        self.witnesses = self.witness_numbers(scale)
        for table in ENTITIES + ("keyword",):
            self.rows[table] = max(self.rows[table], GROUPS, 8 * sum(self.witnesses.values()) if table in ENTITIES else KNOWN)
        self.types = {table: self.type_names(table, number) for table, number in TYPES.items()}
        self.keywords = self.type_names("keyword", self.rows["keyword"])
        self.constants = self.find_constants()
        self.references, self.referred = self.find_references()
        self.urns, self.known_types = {}, {}
        self.shifts = [self.rng.randrange(SLOTS) for _ in range(GROUPS)]
        self.make_entities()
        self.placed = {table: {} for table in ENTITIES}
        self.extra = collections.defaultdict(list)
        for name, query in self.queries.items():
            for _ in range(self.witnesses[name]):
                self.place(query)

    def witness_numbers(self, scale):
        """Some queries find a few rows, and some very many."""
        most = int(20 + 2000 * scale)
        return {name: min(most, int(2 * self.rng.paretovariate(0.9))) for name in self.queries}

    # ---- what the queries compare with ----

    def aliases(self):
        """All aliases of all queries: query, alias, table."""
        return [(query, alias, table) for query in self.queries.values() for alias, table in query.tables.items()]

    def type_names(self, table, number):
        """The values of a table of types, those of queries first, the most frequent of these before the others."""
        counts, patterns = collections.Counter(), collections.Counter()
        for query, alias, its_table in self.aliases():
            for condition in query.asked_of(alias) if its_table == table else ():
                if condition.op == "like":
                    patterns[condition.values[0]] += 1
                else:
                    counts.update(condition.values)
        for pattern in patterns:
            # Of types there are few: a new one only if none of them is like this.
            if table == "keyword" or not any(tpc_conditions.like(pattern).fullmatch(name) for name in counts):
                for _ in range(20 if table == "keyword" else 1):
                    counts.setdefault(tpc_conditions.fill(pattern, self.rng, self.words.words).replace(" ", "-" if table == "keyword" else " "), 1)
        names = [name for name, _ in counts.most_common()]
        known = set(names)
        others = ("%s-%s" % tuple(self.rng.sample(self.words.words, 2)) if table == "keyword" else "other %d" % place for place in itertools.count(1))
        while len(names) < number:
            name = next(others)
            if name not in known:
                known.add(name)
                names.append(name)
        return names

    def admitted(self, query, alias):
        """The ids of a table of types that a query takes, in any alternative."""
        table = query.tables[alias]
        names = self.types[table] if table in TYPES else self.keywords[:KNOWN]
        return [number for number, name in enumerate(names, 1)
                if any(all(tpc_conditions.holds(condition, name) for condition in conditions if condition.alias == alias) for conditions in query.alternatives)]

    def find_references(self):
        """How many queries take a type, by table, column and id of the type; and the table of types that a column refers to."""
        references, referred = collections.defaultdict(collections.Counter), {}
        for query, alias, table in self.aliases():
            for column in self.columns[table]:
                other = query.referenced(alias, column)
                if other and query.tables[other] in TYPES and query.asked_of(other):
                    references[table, column].update(self.admitted(query, other))
                    referred[table, column] = query.tables[other]
        return references, referred

    def find_constants(self):
        """How many queries have a condition, by table, column and the id of the type that governs it: None where the query doesn't say."""
        constants = collections.defaultdict(collections.Counter)
        for query, alias, table in self.aliases():
            governor = query.referenced(alias, GOVERNED_BY.get(table, "")) if table in GOVERNED_BY else None
            ids = self.admitted(query, governor) if governor else [None]
            for condition in query.asked_of(alias):
                for number in ids:
                    constants[table, condition.column, number][condition] += 1
        return constants

    # ---- what columns hold ----

    def constants_of(self, table, column, governor):
        """What queries compare a column with, as values and patterns, and how many do.

        Where a query doesn't say what type a value is of, it is one that shares another value with the query; if there is none, any.
        """
        found = collections.Counter()
        own = self.constants.get((table, column, governor), {})
        for condition, count in own.items():
            self.count_values(found, condition, count)
        if governor is not None:
            known = {value for (its_table, its_column, number), conditions in self.constants.items() if (its_table, its_column) == (table, column) and number is not None
                     for condition in conditions for value in condition.values}
            for condition, count in self.constants.get((table, column, None), {}).items():
                shared = known & set(condition.values)
                if not shared or shared & {value for _, value in found}:
                    self.count_values(found, condition, count)
        return found

    @staticmethod
    def count_values(found, condition, count):
        kind = {"like": "like", "not like": "like"}.get(condition.op, "order" if condition.op in ("<", ">", "<=", ">=") else "value")
        for value in condition.values:
            found[kind, value] += count

    def urn(self, table, column, governor=None):
        """A column's values."""
        key = (table, column, governor)
        if key not in self.urns and governor and not self.constants_of(*key):
            # All types that no query says anything of have the same.
            self.urns[key] = self.urn(table, column, 0)
        if key not in self.urns:
            # The same whatever was drawn before it.
            state = self.rng.getstate()
            self.rng.seed("%d %s" % (self.seed, key))
            self.urns[key] = Urn(self.fill_urn(*key))
            self.rng.setstate(state)
        return self.urns[key]

    def fill_urn(self, table, column, governor):
        if (table, column) in self.references and governor is None:
            numbers = self.ranked_types(table, column)
            return [number for number, count in zip(numbers, steps([1 / (1 + place) for place in range(len(numbers))], SLOTS)) for _ in range(count)]
        constants = self.constants_of(table, column, governor)
        numbers = [value for kind, value in constants if kind == "order" and (isinstance(value, int) or value.replace(".", "").isdigit())]
        if (table, column) in self.integers:
            values = [self.number_like(numbers) for _ in range(SLOTS)]
        elif numbers:
            values = [self.text_number_like(numbers) for _ in range(SLOTS)]
        else:
            values = self.texts(column, [one for one, _ in constants.most_common() if one[0] != "order"])
        nulls = int(SLOTS * NULLS.get(column, 0) / (1 - NULLS.get(column, 0)))
        is_number = numbers or (table, column) in self.integers
        return (sorted(values) if is_number else values) + [None] * nulls

    def ranked_types(self, table, column):
        """The types that a column refers to: those of the queries first, by how many these are, and the others."""
        named = [number for number, _ in self.references[table, column].most_common()]
        whole = range(1, 1 + TYPES[self.referred[table, column]])
        return named + [number for number in whole if number not in named]

    def texts(self, column, constants):
        """Constants by their frequency, and others."""
        values = []
        ours = SLOTS * (1 - OTHERS.get(column, 0))
        for (kind, value), count in zip(constants, steps([1 / (1 + place) for place in range(len(constants))], ours)):
            values += [value if kind == "value" else tpc_conditions.fill(value, self.rng, self.words.words) for _ in range(count)]
        return values + [self.plain_text() for _ in range(max(0, SLOTS - len(values)))]

    def plain_text(self):
        """Mostly short."""
        start = int(self.random() * 150000)
        return self.words.text[start:start + 8 + int(150 * self.random() ** 6)].strip()

    def number_like(self, numbers):
        """A year as years are, most of them late; or a small number where some are compared with."""
        if min(numbers, default=0) > 1000:
            return max(numbers) + 3 - int(120 * self.random() ** 3)
        return 1 + int(3 * max(numbers, default=30) * self.random() ** 2)

    def text_number_like(self, numbers):
        """One with as many digits, of those before the point 1 to 9."""
        decimals = len(numbers[0].partition(".")[2])
        return "%.*f" % (decimals, min(9.9, max(1.0, self.rng.gauss(6.3, 1.9))))

    def code(self):
        """A phonetic one."""
        return "%s%d" % ("BCDFGHJKLMNPRSTVWZAXEIOU"[int(24 * self.random() ** 1.5)], 10 + int(990 * self.random() ** 2))

    # ---- titles, people, characters, companies ----

    def make_entities(self):
        """Ranks, groups, and what a person mostly is."""
        self.rank, self.by_rank, self.group, self.of_group = {}, {}, {}, {}
        weights = [1 / (1 + place) for place in range(GROUPS)]
        for table in ENTITIES:
            order = array.array("i", range(self.rows[table]))
            self.rng.shuffle(order)
            self.by_rank[table] = order
            self.rank[table] = array.array("i", bytes(4 * len(order)))
            for rank, entity in enumerate(order):
                self.rank[table][entity] = rank
            self.group[table] = bytes(self.rng.choices(range(GROUPS), weights, k=len(order)))
        self.of_group = [array.array("i") for _ in range(GROUPS)]
        for title in self.by_rank["title"]:
            self.of_group[self.group["title"][title]].append(title)
        for titles in self.of_group:
            if not titles:
                titles.append(self.by_rank["title"][0])
        roles = self.urn("cast_info", "role_id").values
        self.main_role = bytes(self.rng.choices(roles, k=self.rows["name"]))

    def title_for(self, group):
        """One of a group, mostly, and one of the first ranks."""
        titles = self.of_group[group] if self.random() < 0.8 else self.by_rank["title"]
        return titles[int(len(titles) * self.random() ** STEEP["title"])]

    def any_of(self, table, steep=1.5):
        return self.by_rank[table][int(self.rows[table] * self.random() ** steep)]

    def draw(self, urn, group):
        """A value as a CSV file has it, of those that the group prefers."""
        return urn.csv[(int(SLOTS * self.random() ** 2) + self.shifts[group]) % SLOTS]

    def shares(self, table, owner, rows):
        """The owner of each row of a table, in the order of their ids."""
        random_, exponent = self.random, 1 / STEEP[table]
        whole = rows / self.rows[owner] ** exponent
        for entity, rank in enumerate(self.rank[owner]):
            for _ in range(int(whole * ((rank + 1) ** exponent - rank ** exponent) + random_())):
                yield entity

    # ---- rows: without their id, as CSV files have the values; entities by numbers from 0 ----

    def title_row(self, title):
        group = self.group["title"][title]
        text = quoted(self.named("title", "title"))
        kind, year = self.draw(self.urn("title", "kind_id"), group), self.draw(self.urn("title", "production_year"), group)
        number = self.draw(self.urn("title", "episode_nr"), group)
        series = 1 + self.any_of("title") if number else ""
        return (text, "", kind, year, "", self.code(), series, 1 + int(9 * self.random()) if number else "", number, "", self.digest())

    def named(self, table, column):
        """A text of a few words, or one of a query's."""
        if self.random() < NAMED:
            return self.rng.choice(self.urn(table, column).values)
        names = self.words.names
        size = len(names)
        text = "%s %s" % (names[int(size * self.random())], names[int(size * self.random() ** 2)])
        return text if self.random() < 0.5 else "%s %s" % (text, names[int(size * self.random())])

    def digest(self):
        return "%032x" % self.rng.getrandbits(128)

    def name_row(self, person):
        group, role = self.group["name"][person], self.main_role[person]
        names = self.words.names
        text = '"%s, %s"' % (names[int(len(names) * self.random())], names[int(len(names) * self.random() ** 2)])
        if self.random() < NAMED:
            text = quoted(self.rng.choice(self.urn("name", "name").values))
        gender = self.draw(self.gender_urn(role), group)
        return (text, "", "", gender, self.code(), self.code(), self.code(), self.digest())

    def gender_urn(self, role):
        """Of those who mostly are something: the genders that queries ask for together with that."""
        key = ("name", "gender", role)
        if key not in self.urns:
            counts = collections.Counter()
            for query, alias, table in self.aliases():
                for other, its_table in query.tables.items() if table == "name" else ():
                    governor = query.referenced(other, "role_id") if its_table == "cast_info" else None
                    if governor and role in self.admitted(query, governor):
                        counts.update(value for condition in query.asked_of(alias) if condition.column == "gender" for value in condition.values)
            known = counts or collections.Counter(value for _, value in self.constants_of("name", "gender", None))
            rare = [value for _, value in self.constants_of("name", "gender", None)]
            values = [value for value, _ in known.most_common() for _ in range(SLOTS // len(known))] + rare * (SLOTS // 40)
            self.urns[key] = Urn(values + [None] * int(SLOTS * NULLS["gender"]))
        return self.urns[key]

    def char_name_row(self, _):
        return (quoted(self.named("char_name", "name")), "", "", self.code(), self.code(), self.digest())

    def company_name_row(self, company):
        code = self.draw(self.urn("company_name", "country_code"), self.group["company_name"][company])
        return (quoted(self.named("company_name", "name")), code, "", self.code(), self.code(), self.digest())

    def cast_info_row(self, person, title):
        group = self.group["name"][person]
        role = self.main_role[person] if self.random() < 0.9 else self.urn("cast_info", "role_id").values[int(SLOTS * self.random())]
        character = 1 + self.any_of("char_name", STEEP["char_name"]) if self.random() < 0.5 else ""
        return (1 + person, 1 + title, character, self.draw(self.urn("cast_info", "note", role), group), 1 + int(60 * self.random() ** 2) if character else "", role)

    def movie_companies_row(self, company, title):
        group = self.group["company_name"][company]
        kind = self.draw(self.urn("movie_companies", "company_type_id"), group)
        return (1 + title, 1 + company, kind, self.draw(self.urn("movie_companies", "note", int(kind)), group))

    def movie_info_row(self, title, kind):
        group = self.group["title"][title]
        return (1 + title, kind, self.draw(self.urn("movie_info", "info", kind), group), self.draw(self.urn("movie_info", "note", kind), group))

    def movie_info_idx_row(self, title, kind):
        return (1 + title, kind, self.draw(self.urn("movie_info_idx", "info", kind), self.group["title"][title]), "")

    def person_info_row(self, person, kind):
        return (1 + person, kind, self.plain_text(), self.draw(self.urn("person_info", "note", kind), self.group["name"][person]))

    def movie_keyword_row(self, title):
        return (1 + title, 1 + self.keyword_for(self.group["title"][title]))

    def keyword_for(self, group):
        """One of all, or of those that the queries know: the first of these, or those that a group prefers."""
        place = self.random() ** STEEP["keyword"]
        if self.random() < 0.7:
            return int(place * len(self.keywords))
        return (int(place * KNOWN) + (self.shifts[group] % 50 if self.random() < 0.5 else 0)) % KNOWN

    def movie_link_row(self, title):
        group = self.group["title"][title]
        return (1 + title, 1 + self.title_for(group), self.draw(self.urn("movie_link", "link_type_id"), group))

    def complete_cast_row(self, title):
        group = self.group["title"][title]
        return (1 + title, self.draw(self.urn("complete_cast", "subject_id"), group), self.draw(self.urn("complete_cast", "status_id"), group))

    def aka_name_row(self, person):
        return (1 + person, quoted(self.named("aka_name", "name")), "", self.code(), self.code(), self.code(), self.digest())

    def aka_title_row(self, title):
        group = self.group["title"][title]
        return (1 + title, quoted(self.named("title", "title")), "", self.draw(self.urn("title", "kind_id"), group), self.draw(self.urn("title", "production_year"), group),
                self.code(), "", "", "", "", self.digest())

    # ---- tables ----

    def rows_of(self, table):
        """About how many a table has."""
        return self.rows.get(table, 0)

    def types_of(self, table, rows):
        """How many of a table's rows are of each type: most of the queries' first."""
        kinds = self.ranked_types(table, "info_type_id")
        kinds = kinds[:len(self.references[table, "info_type_id"]) + (0 if table == "movie_info_idx" else OTHER_TYPES)]
        return list(zip(kinds, steps([1 / (1 + place) ** (3 if table == "movie_info_idx" else 1) for place in range(len(kinds))], rows)))

    def bulk(self, table):
        """The rows of a table but for witnesses'."""
        make, rows = getattr(self, table + "_row"), self.rows[table]
        if table in ENTITIES:
            yield from map(make, range(rows))
            return
        owner = OWNERS[BELONGS_TO[table][0]]
        if BELONGS_TO[table][1:] == ("movie_id",):
            groups = self.group[owner]
            yield from (make(entity, self.title_for(groups[entity])) for entity in self.shares(table, owner, rows))
        elif BELONGS_TO[table][1:] == ("info_type_id",):
            for kind, its_rows in self.types_of(table, rows):
                yield from (make(entity, kind) for entity in self.shares(table, owner, its_rows))
        else:
            yield from map(make, self.shares(table, owner, rows))

    def table(self, table):
        """All rows of a table with their ids, as lines of a CSV file."""
        self.rng.seed("%d %s" % (self.seed, table))
        if table in TYPES or table == "keyword":
            names = self.types[table] if table in TYPES else self.keywords
            for number, name in enumerate(names, 1):
                yield "%d,%s%s\n" % (number, quoted(name), "," + self.code() if table == "keyword" else "")
            return
        line = ",".join(["%s"] * len(self.columns[table])) + "\n"
        for number, row in enumerate(self.with_witnesses(table), 1):
            yield line % ((number,) + row)

    def with_witnesses(self, table):
        """The rows of a table, with witnesses' between them."""
        placed, extra = self.placed.get(table, {}), list(self.extra[table])
        every = max(1, self.rows[table] // (1 + len(extra)))
        for number, row in enumerate(self.bulk(table)):
            yield self.with_values(table, row, placed[number]) if number in placed else row
            if extra and number % every == 0:
                yield extra.pop()
        yield from extra

    def with_values(self, table, row, values):
        """A row with some columns exchanged."""
        row = list(row)
        for column, value in values.items():
            row[self.columns[table].index(column) - 1] = quoted(value)
        return tuple(row)

    # ---- witnesses ----

    def place(self, query):
        """Makes rows of which a query's WHERE is true."""
        asked = collections.defaultdict(lambda: collections.defaultdict(list))
        for condition in self.rng.choice(query.alternatives):
            asked[condition.alias][condition.column].append(condition)
        # Rows refer to titles, people and the like, and all of these to types.
        ids = {alias: self.type_for(table, asked[alias]) for alias, table in query.tables.items() if table in TYPES or table == "keyword"}
        for alias, table in query.tables.items():
            if table in ENTITIES:
                ids[alias] = 1 + self.entity_for(table, asked[alias], self.references_of(query, alias, ids))
        for alias, table in query.tables.items():
            if alias not in ids:
                self.place_row(table, asked[alias], self.references_of(query, alias, ids))

    def references_of(self, query, alias, ids):
        """The columns that have to be the ids of other rows."""
        others = {column: query.referenced(alias, column) for column in self.columns[query.tables[alias]]}
        return {column: ids[other] for column, other in others.items() if other in ids}

    def type_for(self, table, asked):
        """The id of a type, or a keyword, as asked for."""
        conditions = [condition for of_column in asked.values() for condition in of_column]
        key = (table, *conditions)
        if key not in self.known_types:
            names = self.types[table] if table in TYPES else self.keywords[:KNOWN]
            self.known_types[key] = [number for number, name in enumerate(names, 1) if all(tpc_conditions.holds(condition, name) for condition in conditions)]
        return self.rng.choice(self.known_types[key])

    def entity_for(self, table, asked, values):
        """A title, a person, ... that is as asked for, from now on."""
        while True:
            entity = self.any_of(table, 2)
            if entity not in self.placed[table]:
                break
        self.placed[table][entity] = dict(values, **{column: self.value_for(table, column, conditions, None) for column, conditions in asked.items()})
        return entity

    def value_for(self, table, column, conditions, governor):
        urn = self.urn(table, column, governor)
        draw = self.code if column.startswith("name_pcode") else lambda: self.rng.choice(urn.values)
        return tpc_conditions.value_for(conditions, self.rng, self.words.words, draw, self.lengths.get((table, column)))

    def governor_for(self, table, asked):
        """A type where a query doesn't say which: one that has such values, if there is one."""
        types = self.ranked_types(table, GOVERNED_BY[table])
        values = {value for conditions in asked.values() for condition in conditions for value in condition.values}
        return next((kind for kind in types for column in asked if values & {value for _, value in self.constants_of(table, column, kind)}), types[0])

    def place_row(self, table, asked, values):
        """A row that belongs to what has been placed."""
        governor = values.get(GOVERNED_BY.get(table, ""))
        if governor is None and table in GOVERNED_BY:
            governor = values[GOVERNED_BY[table]] = self.governor_for(table, asked)
        for column, conditions in asked.items():
            values[column] = self.value_for(table, column, conditions, governor)
        row = getattr(self, table + "_row")(*[values.get(column, 1) - (column in OWNERS) for column in BELONGS_TO[table]])
        self.extra[table].append(self.with_values(table, row, values))
