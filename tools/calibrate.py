#!/usr/bin/env python3
"""Measures sorts on a running server and fits src/plan/cost_terms.h to them; tools/calibrate calls it.

A sort's time is a sum of terms (src/plan/cost_terms.h): the program counts how many of each it has, and what is
fitted here, by least squares of relative errors without negative numbers, is how long each takes.

What is measured of a sort is a cursor's FETCH 1, which less the bare scan gives the time to the first row, and the
time that the query takes in all.  It is processor time, which other work on the machine disturbs least.  Of parallel
plans it is that of a leader that does nothing but what no worker can do, and, by the clock, that of small sorts,
which is what launching takes.  Scan, PostgreSQL's Sort and GpuSort take turns, and the least of several runs counts.
"""
import argparse
import json
import os
import re
import sys

from calibrate_fit import (Counter, fit_all, fit_card, fit_share, print_card_terms, print_residuals, print_table,
                           shape_line)
from calibrate_server import Session, Sessions, make_table, on_off

ORDERS = {'nearly sorted': 1, 'sorted': 2, 'reversed': 3}
ICU = ' COLLATE "und-x-icu"'
LIBC = ' COLLATE gpusort_calibrate_english'
LIBC_BYTES = ' COLLATE "C.utf8"'

# Columns of the tables, SQL out of the row's number i and random integers x, y; their bytes.
COLUMNS = {
    'k': ('x', 8),
    'srt': ('i', 8),
    'rev': ('-i', 8),
    'near': ('CASE WHEN i % 1000 = 0 THEN x ELSE i END', 8),
    'g10': ('i / 10', 8),
    'g1000': ('i / 1000', 8),
    'dup': ('(x % 100)::int4', 4),
    'a': ('(y % 1000)::int4', 4),
    'b': ('y', 8),
    'f': ('x / 1000.0::float8', 8),
    'u': ('md5(x::text)::uuid', 16),
    'tm': ("time '00:00' + (x % 86400000000) * interval '1 microsecond'", 8),
    'num': ('(x % 1000000000000)::numeric / 100', 11),
    't': ('md5(i::text) COLLATE "C"', 33),
    'p': ("('/usr/share/doc/' || substr(md5((x % 20000)::text), 1, 8) || '/lib' || "
          "substr(md5(y::text), 1, 20)) COLLATE \"C\"", 48),
    's': ("substr(md5((y % 50000)::text), 1, 6) COLLATE \"C\"", 7),
    'tl': ('md5(i::text)' + LIBC, 33),
    'pl': ("('/usr/share/doc/' || substr(md5((x % 20000)::text), 1, 8) || '/lib' || "
           "substr(md5(y::text), 1, 20))" + LIBC, 48),
    'sl': ("substr(md5((y % 50000)::text), 1, 6)" + LIBC, 7),
    'tb': ('md5(i::text)' + LIBC_BYTES, 33),
    'city': ("'C' || substr(md5((abs(x) % 1000)::text), 1, 8) COLLATE \"C\"", 10),
    'cityl': ("'C' || substr(md5((abs(x) % 1000)::text), 1, 8)" + LIBC, 10),
    'host': ("'/usr/share/doc/' || md5((abs(x) % 30000)::text) || '/lib.d' COLLATE \"C\"", 55),
    'hostl': ("'/usr/share/doc/' || md5((abs(x) % 30000)::text) || '/lib.d'" + LIBC, 55),
    'arr': ('ARRAY[(x % 1000000000)::int4, (y % 100)::int4, 7]', 33),
    'pad': ("substr('padding', 1, 5)", 6),
    'wide': ("repeat('x', 100)", 101),
    'vast': ("repeat('x', 400)", 404),
}


class Key:
    """A sort column: its class; how many values it has (0: all differ; negative: a part of the rows), and how many
    different first 8 bytes these have (0: as many)."""

    def __init__(self, name, key_class, distinct=0, leading=0, collation=''):
        self.name, self.key_class, self.collation = name, key_class, collation
        self.distinct, self.leading = distinct, leading
        self.width = COLUMNS[name][1]

    def values(self, rows):
        return -self.distinct * rows if self.distinct < 0 else self.distinct

    def stored(self):
        """Bytes in a variable key."""
        if self.key_class == 'icu':
            return 8 + 2 * self.width
        if self.key_class == 'libc':
            return 3 + 2.25 * self.width
        return self.width + 1

    def fixed(self):
        return self.key_class in ('int', 'plain', 'function', 'abbreviated')

    def verified(self):
        return self.key_class.startswith('libc')


KEYS = {
    'int8': [Key('k', 'int')],
    'int8, vast rows': [Key('k', 'int')],
    'sorted': [Key('srt', 'int')],
    'nearly sorted': [Key('near', 'int')],
    'reversed': [Key('rev', 'int')],
    'int8 by index': [Key('k', 'int')],
    'duplicates': [Key('dup', 'int', 100)],
    'float8': [Key('f', 'plain')],
    'time': [Key('tm', 'function')],
    'uuid': [Key('u', 'abbreviated')],
    'array': [Key('arr', 'made')],
    'numeric': [Key('num', 'numeric')],
    'text': [Key('t', 'text')],
    'short text': [Key('s', 'text', 50000)],
    'paths': [Key('p', 'text', 0, 1)],
    'text ICU': [Key('t', 'icu', 0, 0, ICU)],
    'paths ICU': [Key('p', 'icu', 0, 1, ICU)],
    'two ints': [Key('a', 'int', 1000), Key('b', 'int')],
    'groups of 10': [Key('g10', 'int', -0.1), Key('k', 'int')],
    'groups of 1000': [Key('g1000', 'int', -0.001), Key('t', 'text')],
    'int, numeric': [Key('dup', 'int', 100), Key('num', 'numeric')],
    'int, text': [Key('dup', 'int', 100), Key('t', 'text')],
    'int, ICU': [Key('dup', 'int', 100), Key('t', 'icu', 0, 0, ICU)],
    'text libc': [Key('tl', 'libc')],
    'paths libc': [Key('pl', 'libc', 0, 1)],
    'short text libc': [Key('sl', 'libc', 50000)],
    'text C.UTF-8': [Key('tb', 'libc bytes')],
    # values that repeat: keys have codes
    'coded cities': [Key('city', 'text', 1000)],
    'coded cities libc': [Key('cityl', 'libc', 1000)],
    'coded paths': [Key('host', 'text', 30000, 1)],
    'coded paths ICU': [Key('host', 'icu', 30000, 1, ICU)],
    'coded paths libc': [Key('hostl', 'libc', 30000, 1)],
    'coded cities, int': [Key('city', 'text', 1000), Key('b', 'int')],
    'coded cities, paths': [Key('city', 'text', 1000), Key('host', 'text', 30000, 1)],
    'int, libc': [Key('dup', 'int', 100), Key('tl', 'libc')],
}


# ---- the server ----

def lacking_collations(session):
    """Those of the C library that are not there; one is made for the measurements."""
    session.run("DO $$ BEGIN CREATE COLLATION gpusort_calibrate_english (provider = libc, locale = 'en_US.UTF-8'); "
                "EXCEPTION WHEN OTHERS THEN NULL; END $$")
    there = session.run('SELECT collname FROM pg_collation')
    return [collation for collation in (LIBC, LIBC_BYTES) if collation.split()[1].strip('"') not in there]


# ---- sorts and what is known of them ----

TABLE = 'gpusort_calibrate'

# What is lost in the noise counts as so little.
LEAST_MS = 0.001

SORT_ARGUMENTS = ('rows', 'key_name', 'payload', 'memory_mb', 'workers', 'limit', 'alone')


class Sort:
    """One sort: the query, and its shape as calibrate_counts reads it."""

    def __init__(self, rows, key_name, payload, memory_mb, workers=0, limit=0, alone=False):
        self.rows, self.key_name, self.keys, self.payload = rows, key_name, KEYS[key_name], payload
        self.memory_mb, self.workers, self.limit = memory_mb, workers, limit
        self.alone = alone      # what the leader does alone is measured, while workers do all else
        self.columns = list(dict.fromkeys([key.name for key in self.keys] + payload))

    def arguments(self):
        return {name: getattr(self, name) for name in SORT_ARGUMENTS}

    def name(self):
        parts = [self.key_name, '+'.join(self.payload) or 'alone', str(self.rows), '%d MB' % self.memory_mb]
        if self.workers:
            parts.append('%d workers' % self.workers)
        if self.limit:
            parts.append('limit %d' % self.limit)
        return ', '.join(parts)

    def is_shared(self):
        """Is it measured how much faster several processes are?  (Of small sorts, what launching takes.)"""
        return self.workers > 0 and not self.alone and self.rows >= 10000

    def is_incremental(self):
        """Is the table read in the order of its first sort column?"""
        return self.key_name.startswith('groups')

    def is_coded(self):
        """Do keys have codes in place of strings, where there are rows enough?"""
        return self.key_name.startswith('coded')

    def is_by_index(self):
        """Is the order not sorted, but that of an index?"""
        return self.key_name.endswith('by index')

    def groups(self):
        return self.keys[0].values(self.rows) if self.is_incremental() else 0

    def columns_of(self, table):
        return 'SELECT %s FROM %s' % (', '.join(self.columns), table)

    def query(self, table):
        order = ', '.join(key.name + key.collation for key in self.keys)
        limit = ' LIMIT %d' % self.limit if self.limit else ''
        return '%s ORDER BY %s%s' % (self.columns_of(table), order, limit)

    def scan(self, table):
        """What is sorted."""
        order = ' ORDER BY ' + self.keys[0].name if self.is_incremental() else ''
        return self.columns_of(table) + order

    def shape(self, whose, device, cores, share=1):
        fixed = all(key.fixed() for key in self.keys)
        key_bytes = sum(1 + key.width if key.fixed() else key.stored() for key in self.keys)
        if fixed:
            key_bytes = (key_bytes + 7) // 8 * 8
        keys = [(key.key_class, key.verified(), key.width, key.values(self.rows), key.leading) for key in self.keys]
        return shape_line(whose, self.rows, sum(COLUMNS[c][1] for c in self.columns), keys, key_bytes,
                          self.memory_mb * 1048576, fixed, self.limit or -1, len(self.columns) == 1,
                          ORDERS.get(self.key_name, 0), self.groups() if whose == 'p' else 0, self.workers + 1, cores,
                          share, int(self.workers > 0), device == 'cuda' and whose == 'g', *self.codes())

    def codes(self):
        """The columns that have codes, as bits, and the bytes of a key then."""
        if not self.is_coded():
            return 0, 0
        key_bytes = sum(1 + (key.width if key.fixed() else 4) for key in self.keys)
        return (sum(1 << i for i, key in enumerate(self.keys) if not key.fixed()), (key_bytes + 7) // 8 * 8)


# Keys of all kinds of sorts that a card has.
KEYS_FOR_CARD = ('int8', 'two ints', 'uuid', 'text', 'paths')


def sorts_of_key(key_name, rows, device):
    """The sorts of a table: in memory, with little of it, with a LIMIT, by several processes."""
    if device != 'cpu':
        return [Sort(rows, key_name, payload, 1024) for payload in (['pad'], ['pad', 'wide'])]
    if key_name == 'int8 by index':
        return [Sort(rows, key_name, payload, 1024) for payload in (['pad'], ['pad', 'wide'])]
    if key_name == 'int8, vast rows':
        return [Sort(rows, key_name, ['vast'], 1024)]
    payloads = (['pad'], ['pad', 'wide'])
    sorts = [Sort(rows, key_name, payload, 1024) for payload in payloads]
    if key_name in ('int8', 'sorted', 'nearly sorted', 'text', 'numeric', 'uuid'):
        sorts.append(Sort(rows, key_name, [], 1024))
    if rows >= 100000 and key_name in ('int8', 'numeric', 'text', 'paths ICU', 'two ints', 'text libc',
                                       'paths libc', 'short text libc'):
        sorts += [Sort(rows, key_name, payload, 4) for payload in payloads]
    if key_name in ('int8', 'numeric', 'text', 'text ICU', 'text libc'):
        limits = (10, rows // 100, rows // 5, rows // 2)
        sorts += [Sort(rows, key_name, payloads[1], 1024, 0, limit) for limit in limits]
    if key_name in ('int8', 'text') and (rows == 1000 or rows >= 100000):
        sorts += [Sort(rows, key_name, payload, 1024, workers) for payload in payloads for workers in (1, 2)]
    if key_name in ('int8', 'text') and rows >= 100000:
        sorts += [Sort(rows, key_name, payload, 1024, 2, 0, True) for payload in payloads]
    return sorts


# ---- measuring ----

def settings_of(sort, what, device):
    return ['gpusort.mode = ' + ('force' if what == 'g' else 'off'),
            'gpusort.backend = ' + device,
            'gpusort.dictionary = ' + ('auto' if sort.is_coded() else 'off'),
            "work_mem = '%dMB'" % sort.memory_mb,
            'jit = off',
            'cursor_tuple_fraction = 1',
            'max_parallel_workers_per_gather = %d' % (0 if what == 'scan' else sort.workers),
            'parallel_setup_cost = 0',
            'parallel_tuple_cost = 0',
            'min_parallel_table_scan_size = 0',
            'parallel_leader_participation = ' + on_off(not sort.alone),
            'enable_sort = ' + on_off(not sort.is_by_index()),
            'enable_seqscan = ' + on_off(not (sort.is_incremental() or sort.is_by_index()))]


class Measured:
    """The least times of a sort's scan, of PostgreSQL's Sort and of GpuSort; lists of first and rest, or of all."""

    def __init__(self, sort, device, cores, sessions=None):
        self.sort, self.device, self.cores, self.sessions = sort, device, cores, sessions
        self.query, self.scan = sort.query(TABLE), sort.scan(TABLE)
        self.methods = None     # what is measured, once plans were looked at
        self.cost = None
        self.best = {}

    def session(self, what):
        return self.sessions.get(settings_of(self.sort, what, self.device))

    def has_plan(self, what):
        plan = self.session(what).plan(self.query)
        if ('GpuSort)' in plan) != (what == 'g') or 'Sort' not in plan:
            return False
        if self.sort.is_incremental() and what == 'p' and 'Incremental Sort' not in plan:
            return False
        return self.sort.workers == 0 or ('GpuSortFeed' if what == 'g' else 'Gather Merge') in plan

    def prepare(self):
        if self.sort.is_by_index():
            self.cost, self.methods = self.session('index').cost(self.query), ['index']
            return
        self.cost = self.session('scan').cost(self.scan)
        self.methods = ['scan'] + [what for what in ('p', 'g') if self.has_plan(what)]

    def note(self, what, times):
        self.best[what] = [min(pair) for pair in zip(times, self.best.get(what, times))]

    def run(self, what):
        """Milliseconds of one run; as far as it is told apart, to the first row and in all."""
        session = self.session(what)
        if what == 'index':
            return [session.drained(self.query)]
        if what == 'scan':
            return [session.drained(self.scan)]
        if self.sort.alone:
            return [session.drained(self.query)]
        if self.sort.workers:
            return [session.elapsed(self.query)]
        if self.sort.limit:
            first, rest = session.cursor(self.query)
            return [first, first + rest]
        return [session.cursor(self.query)[0], session.drained(self.query)]

    def turn(self):
        if self.methods is None:
            self.prepare()
        for what in self.methods:
            self.note(what, self.run(what))

    def input_ms(self, share=1):
        """What of the time is the scan's: its processes share it."""
        if self.sort.alone:
            return 0
        return self.best['scan'][0] / (1 + (min(self.sort.workers + 1, self.cores) - 1) * share)

    def observations(self):
        """Which method; its shape, or cost of a scan; milliseconds without the scan, to the first row and after it, or
        of all."""
        if self.sort.is_by_index():
            return [('index', self.sort.shape('i', self.device, self.cores), self.best['index'])]
        found = [('scan', self.cost, [max(self.best['scan'][0], LEAST_MS)])] if not self.sort.is_incremental() else []
        for what in self.methods[1:]:
            times = list(self.best[what])
            if self.sort.is_incremental():      # the first row is there when a part of the scan is done
                times = times[1:]
            elif len(times) == 2:
                times[1] = max(times[1] - times[0], LEAST_MS)
            times[0] = max(times[0] - self.input_ms(), LEAST_MS)
            found.append((what, self.sort.shape(what, self.device, self.cores), times))
        return found


def save(measured, version, file_name):
    sorts = [dict(m.sort.arguments(), device=m.device, cores=m.cores, cost=m.cost, methods=m.methods, best=m.best)
             for m in measured]
    with open(file_name, 'w') as file:
        json.dump({'version': version, 'sorts': sorts}, file, indent=0)


def load(file_names):
    """What several files say, together."""
    measured, entries = [], []
    for file_name in file_names.split(','):
        with open(file_name) as file:
            saved = json.load(file)
        entries += saved['sorts']
    for entry in entries:
        sort = Sort(*(entry[name] for name in SORT_ARGUMENTS))
        m = Measured(sort, entry['device'], entry['cores'])
        m.cost, m.methods, m.best = entry['cost'], entry['methods'], entry['best']
        measured.append(m)
    return measured, saved['version']


# ---- all of it ----

def measure(options):
    """All sorts, measured on the server; and its version."""
    session, sessions, measured = Session(['max_parallel_workers_per_gather = 0']), Sessions(), []
    lacking = lacking_collations(session)
    for key_name in KEYS if options.device == 'cpu' else KEYS_FOR_CARD:
        if not re.fullmatch(options.keys, key_name):
            continue
        if any(collation in COLUMNS[key.name][0] for key in KEYS[key_name] for collation in lacking):
            sys.stderr.write('%s: left out, the locale is not there\n' % key_name)
            continue
        for rows in (int(n) for n in options.rows.split(',')):
            sys.stderr.write('%s, %d rows\n' % (key_name, rows))
            sorts = [Measured(sort, options.device, os.cpu_count(), sessions)
                     for sort in sorts_of_key(key_name, rows, options.device)]
            columns = list(dict.fromkeys(column for m in sorts for column in m.sort.columns))
            make_table(session, TABLE, {column: COLUMNS[column][0] for column in columns}, rows)
            if sorts[0].sort.is_incremental() or sorts[0].sort.is_by_index():
                session.run('CREATE INDEX ON %s (%s)' % (TABLE, sorts[0].sort.keys[0].name))
            for _ in range(options.runs * (1 if rows > 100000 else 5)):
                for m in sorts:
                    m.turn()
            measured += sorts
    session.run('DROP TABLE ' + TABLE)
    session.run('DROP COLLATION IF EXISTS gpusort_calibrate_english')
    return measured, session.run('SHOW server_version')[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--counts', required=True)
    parser.add_argument('--rows', default='300,1000,3000,10000,100000,1000000')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--keys', default='.*')
    parser.add_argument('--terms', default='.*')
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--save')
    parser.add_argument('--fit')
    parser.add_argument('--about', default='')
    options = parser.parse_args()
    Session.by_clock = options.device != 'cpu'
    measured, version = load(options.fit) if options.fit else measure(options)
    if options.save:
        save(measured, version, options.save)
    counter = Counter(options.counts)
    if measured[0].device != 'cpu':
        values, pace = fit_card(counter, measured)
        sys.stderr.write('PostgreSQL takes %.2f times as long here as the table says\n' % pace)
        print_residuals(counter, measured, [value * pace for value in values], counter.share, sys.stderr)
        print_card_terms(counter, values, sys.stdout)
        return
    fit, values = fit_all(counter, measured, options.terms)
    share = fit_share(counter, measured, values)
    errors = print_residuals(counter, measured, values, share, sys.stderr) or [0]
    comment = [options.about,
               'PostgreSQL %s, device %s; %d sorts.' % (version, measured[0].device, len(measured)),
               'Ratio of the two times, expected against measured: off by %.0f %% in the median, %.0f %% at the'
               % (100 * errors[len(errors) // 2], 100 * errors[len(errors) * 9 // 10]),
               '90th percentile.']
    print_table(counter, fit, values, share, comment, sys.stdout)


if __name__ == '__main__':
    main()
