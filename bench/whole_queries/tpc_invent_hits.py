"""Invented rows of ClickBench's table hits.  For bench/whole_queries/tpc_invent.py.

Visitors come often or once, and bring most columns with them: where they are, their browser, their screen.  Pages belong to counters, and have
their title and hash with them.  Most texts are empty.  Constants that the queries compare with are the first values of their columns.
"""
import datetime
import itertools
import random
import re

ROWS = 99997497
COUNTERS, TEMPLATES, PHRASES = 400, 600, 30000
# Shares of pages that are reached by a search, or that a text of the queries stands in.
SEARCHED, SPOKEN_OF = 0.13, 0.02


class Hits:
    """The table, by the texts of the kit's queries."""

    def __init__(self, kit, scale, seed):
        self.seed, self.rows = seed, max(1, round(ROWS * scale))
        self.rng = random.Random(seed)
        self.random = self.rng.random
        self.columns = {name.lower(): kind.lower() for name, kind in re.findall(r"^\s+(\w+)\s+(\w+).*NOT NULL", kit.schema()[0], re.MULTILINE)}
        self.place = {name: place for place, name in enumerate(self.columns)}
        self.find_constants("\n".join(kit.texts().values()))
        self.words = ["".join(self.rng.choice(("ba", "co", "de", "fi", "gu", "la", "mo", "ne", "pi", "ru", "sa", "to")) for _ in range(self.rng.randint(1, 4))) for _ in range(3000)]
        self.templates = [[self.usual(name) for name in self.columns] for _ in range(TEMPLATES)]
        self.visitors = self.make_visitors(max(10, self.rows // 6))
        self.pages = self.make_pages(max(COUNTERS, self.rows // 6))
        self.phrases = [self.text(self.rng.randint(1, 5)) for _ in range(PHRASES)]

    def find_constants(self, texts):
        """What columns are compared with: values, and texts within others."""
        self.equal, self.within = {}, {}
        for name, listed, value in re.findall(r"\b(\w+) (?:IN \(([-\d, ]+)\)|= (-?\d+))", texts):
            self.equal.setdefault(name.lower(), []).extend(part.strip() for part in (listed or value).split(","))
        for name, pattern in re.findall(r"\b(\w+) (?:NOT )?LIKE '([^']*)'", texts):
            self.within.setdefault(name.lower(), []).append(pattern.strip("%"))
        days = sorted(re.findall(r"EventDate [<>]= '([-\d]+)'", texts))
        self.first_day = datetime.datetime.fromisoformat(days[0])
        self.days = (datetime.datetime.fromisoformat(days[-1]) - self.first_day).days + 1

    def text(self, words):
        return " ".join(self.words[int(len(self.words) * self.random() ** 2)] for _ in range(words))

    def usual(self, name):
        """A value of a column that nothing else is said of: mostly 0, or empty."""
        kind = self.columns[name]
        if name in self.equal and self.random() < 0.3:
            return self.rng.choice(self.equal[name])
        if kind == "smallint":
            return str(int(self.random() ** 6 * 2000)) if "width" in name or "height" in name else str(int(self.random() ** 8 * 100))
        if kind in ("integer", "bigint"):
            return str(int(self.random() ** 4 * 2000000000))
        if kind == "char":
            return self.rng.choice("gT5")
        if kind in ("date", "timestamp"):
            return ""
        return self.text(1) if self.random() < 0.1 else ""

    def make_visitors(self, number):
        """Who comes, with the template of all that comes with them."""
        # Those of the queries come neither often nor once.
        known = dict(enumerate(self.equal.get("userid", []), number // 3))
        return [(known.get(place) or str(self.rng.getrandbits(62)), str(self.rng.getrandbits(31) - 2 ** 30), str(int(9000 * self.random() ** 4)),
                 self.templates[int(TEMPLATES * self.random() ** 2)]) for place in range(number)]

    def make_pages(self, number):
        """Pages of each counter, the first one has most: counter, URL, title, hash."""
        counters = self.equal.get("counterid", [])
        counters = counters + [str(place) for place in range(100, 100 + COUNTERS - len(counters))]
        pages = [[] for _ in counters]
        hashes = list(self.equal.get("urlhash", []))
        for place in range(number):
            counter = place if place < COUNTERS else int(COUNTERS * self.random() ** 3)
            url = "http://%s.%s/%s" % (self.words[counter], "com" if counter % 3 else "ru", self.text(self.rng.randint(1, 6)).replace(" ", "/"))
            title = self.text(self.rng.randint(1, 8)).capitalize() if self.random() < 0.85 else ""
            if self.random() < SPOKEN_OF:
                url += "?from=%s" % self.rng.choice(self.within["url"]).strip(".")
            if self.random() < SPOKEN_OF:
                title += " " + self.rng.choice(self.within["title"])
            pages[counter].append((counters[counter], url, title, hashes.pop() if hashes else str(self.rng.getrandbits(63))))
        return pages

    def page(self):
        """One of those that many see."""
        pages = self.pages[int(COUNTERS ** self.random()) - 1]
        return pages[int(len(pages) * self.random() ** 2)]

    def table(self):
        """The rows as lines of a TSV file."""
        self.rng.seed("%d hits" % self.seed)
        places = [self.place[name] for name in ("watchid", "title", "eventtime", "eventdate", "counterid", "clientip", "regionid", "userid", "url", "referer", "refererhash", "urlhash",
                                                "searchphrase", "searchengineid", "clienteventtime", "localeventtime", "originalurl", "hid", "fetchtiming")]
        referers = [self.page()[1] for _ in range(2000)]
        hashes = self.equal.get("refererhash", []) + [str(self.rng.getrandbits(63)) for _ in referers]
        for _ in itertools.repeat(None, self.rows):
            yield "\t".join(self.row(places, referers, hashes)) + "\n"

    def row(self, places, referers, hashes):
        random_ = self.random
        user, address, region, template = self.visitors[int(len(self.visitors) * random_() ** 3)]
        counter, url, title, url_hash = self.page()
        moment = self.first_day + datetime.timedelta(seconds=int(86400 * self.days * random_()))
        time = moment.strftime("%Y-%m-%d %H:%M:%S")
        referer = int(len(referers) * random_() ** 2)
        phrase = self.phrases[int(PHRASES * random_() ** 3)] if random_() < SEARCHED else ""
        row = list(template)
        values = (str(self.rng.getrandbits(62)), title, time, time[:10], counter, address, region, user, url, referers[referer] if random_() < 0.8 else "", hashes[referer], url_hash,
                  phrase, str(1 + int(40 * random_() ** 3)) if phrase else "0", time, time, url if random_() < 0.1 else "", str(self.rng.getrandbits(31)), str(int(5000 * random_() ** 4)))
        for place, value in zip(places, values):
            row[place] = value
        return row
