#!/usr/bin/env python3
"""Measures plans on a running server and fits to them what src/plan/cost_terms.h says of groups, of inputs, and of
what several processes do; tools/calibrate --plans calls it.

A case is a query, done in several ways, which take turns; the least of several runs counts.  It is processor time,
of the backend alone or of its workers too, and by the clock where whole plans are compared.  What a part of a plan
takes is what the plan takes more than one without it: grouping by hashing more than the scan, grouping rows in order
more than their sort.
"""
import argparse
import json
import os
import sys

import calibrate_plans_fit
from calibrate_fit import Counter
from calibrate_server import Session, Sessions, make_table

TABLE, SMALLER = 'gpusort_calibrate', 'gpusort_calibrate_part'

# Without what --plans must not depend on; a serial plan of PostgreSQL's in memory, if no more is said.
SETTINGS = {'gpusort.mode': 'off', 'gpusort.backend': 'cpu', 'work_mem': "'1GB'", 'jit': 'off',
            'max_parallel_workers_per_gather': '0', 'parallel_setup_cost': '1000', 'parallel_tuple_cost': '0.1',
            'min_parallel_table_scan_size': "'8MB'", 'parallel_leader_participation': 'on', 'enable_hashagg': 'on',
            'enable_hashjoin': 'on', 'enable_mergejoin': 'on', 'enable_sort': 'on'}

# What costs nothing but what it does, so that workers do it.
FREE = {'parallel_setup_cost': '0', 'min_parallel_table_scan_size': '0', 'parallel_leader_participation': 'off'}

# A GpuSort, whatever it costs.
OURS = {'gpusort.mode': 'force', 'enable_hashagg': 'off'}

INT, NUMERIC, TEXT = ('int', 4), ('numeric', 9), ('text', 33)


def value(kind, number):
    """SQL of a value of that kind made of a number."""
    return {INT: '(%s)::int4', NUMERIC: '(%s)::numeric / 100', TEXT: 'md5((%s)::text) COLLATE "C"'}[kind] % number


class Case:
    """A query in several ways: each its settings, its text and what its plan must have."""

    def __init__(self, what, name, **known):
        self.facts = dict(known, what=what, name=name, cost={}, ms={})
        self.ways = []

    def add(self, way, query, has=(), whose=Session.drained, **settings):
        """A way; its plan has these nodes; whose: which of a session's times."""
        self.ways.append((way, query, has, whose, ['%s = %s' % s for s in dict(SETTINGS, **settings).items()]))

    def prepare(self, sessions):
        """Looks at the plans, and notes what they cost; is each what was wanted?"""
        for way, query, has, _, settings in self.ways:
            session = sessions.get(settings)
            plan = session.plan(query)
            if not all(node in plan for node in has):
                sys.stderr.write('left out, no %s in the plan of %s:\n%s\n' % (', '.join(has), query, plan))
                return False
            self.facts['cost'][way] = session.cost(query)
        return True

    def turn(self, sessions):
        ms = self.facts['ms']
        for way, query, _, whose, settings in self.ways:
            took = whose(sessions.get(settings), query)
            ms[way] = round(min(took, ms.get(way, took)), 3)


# ---- the cases ----

# Kinds of the columns that make the groups; how many values each has, if there are to be v groups.
GROUPED_BY = {
    'int': ((INT, lambda v: v),),
    'int, int': ((INT, lambda v: v ** 0.5), (INT, lambda v: v ** 0.5)),
    'int, int, int': ((INT, lambda v: v ** 0.3333),) * 3,
    'numeric': ((NUMERIC, lambda v: v),),
    'text': ((TEXT, lambda v: v),),
    'int, text': ((INT, lambda v: 10), (TEXT, lambda v: v / 10)),
}

# SQL of random integers that have nothing to do with each other.
RANDOM = ('x', 'y', 'hashint8extended(i, 2)')


def group_case(session, name, rows, groups, in_order):
    """Groups of one table, formed in either way."""
    columns, keys = {}, []
    for (kind, values_of), source, column in zip(GROUPED_BY[name], RANDOM, 'abc'):
        values = max(2, round(values_of(groups)))
        number = 'i * %d / %d' % (values, rows + 1) if in_order else 'abs(%s %% %d)' % (source, values)
        columns[column] = value(kind, number)
        keys.append((kind[0], kind[1], values))
    make_table(session, TABLE, columns, rows)
    selected = ', '.join(columns)
    found = int(session.run('SELECT count(*) FROM (SELECT DISTINCT %s FROM %s) d' % (selected, TABLE))[0])
    case = Case('group', '%s, %d groups%s' % (name, found, ', in order' if in_order else ''), rows=rows, groups=found,
                keys=keys, in_order=in_order)
    query = 'SELECT %s FROM %s' % (selected, TABLE)
    grouped, ordered = '%s GROUP BY %s' % (query, selected), '%s ORDER BY %s' % (query, selected)
    case.add('scan', query)
    case.add('hash', grouped, ('HashAggregate',), enable_sort='off')
    case.add('sort', ordered, ('Sort',))
    case.add('gpusort', ordered, ('GpuSort',), **OURS)
    case.add('grouped', grouped, ('Group', 'GpuSort'), **OURS)
    return case


def part_case(groups):
    """The same by the clock, where PostgreSQL's workers form groups in part."""
    case = Case('part', groups.facts['name'], rows=groups.facts['rows'])
    columns = ', '.join('abc'[:len(groups.facts['keys'])])
    query = 'SELECT %s, count(*) FROM %s GROUP BY %s' % (columns, TABLE, columns)
    for way, node, settings in (('theirs', 'Partial', {}), ('ours', 'GpuSort', OURS)):
        case.add(way, query, (node,), Session.elapsed, max_parallel_workers_per_gather='2', **settings)
    return case


# What aggregates of common queries compute.
AGGREGATES = {'count': 'count(*)', 'sums': 'count(*), sum(k)', 'average': 'count(*), avg(n)',
              'many': 'count(*), sum(k), sum(n), avg(n)'}


def cases_of_aggregates(session, rows):
    """What forming groups takes with aggregates."""
    make_table(session, TABLE, {'a': value(INT, 'abs(x %% %d)' % (rows // 50)), 'k': '(y % 1000)::int4',
                                'n': value(NUMERIC, 'abs(y % 100000)')}, rows)
    for name, aggregates in AGGREGATES.items():
        case = Case('grouped', name, rows=rows)
        case.add('gpusort', 'SELECT a, k, n FROM %s ORDER BY a' % TABLE, ('GpuSort',), **OURS)
        case.add('grouped', 'SELECT a, %s FROM (SELECT a, k, n FROM %s ORDER BY a) s GROUP BY a' % (aggregates, TABLE),
                 ('GroupAggregate', 'GpuSort'), **OURS)
        yield case


def cases_of_sorts_beside(session, rows):
    """Sorts of as many processes, each of so many rows, and of one alone; all that the processes do."""
    processes = max(2, min(4, os.cpu_count()))
    columns = {'i': value(INT, 'abs(x % 10000)'), 'n': value(NUMERIC, 'abs(x % 10000)'),
               't': value(TEXT, 'abs(x % 10000)'), 'k': value(INT, 'abs(y % 10)'), 's': value(TEXT, 'abs(x % 500)')}
    make_table(session, TABLE, columns, rows * processes)
    make_table(session, SMALLER, columns, rows)
    for keys in ('i', 'n', 't', 'k, s'):
        case = Case('beside', keys, rows=rows, processes=processes)
        for way, mode, node in (('sort', 'off', 'Sort'), ('gpusort', 'auto', 'GpuSort')):
            settings = {'gpusort.mode': mode, 'enable_hashagg': 'off'}
            query = 'SELECT %s, count(*) FROM %%s GROUP BY %s' % (keys, keys)
            case.add(way + ' beside', query % TABLE, ('Partial GroupAggregate', node), Session.drained_by_all,
                     # Passing groups on costs less than forming all in one process.
                     **dict(settings, max_parallel_workers_per_gather=str(processes), parallel_tuple_cost='1', **FREE))
            case.add(way + ' alone', query % SMALLER, ('GroupAggregate', node), Session.drained_by_all,
                     **settings)
        case.add('scan', 'SELECT %s FROM %s' % (keys, SMALLER))
        yield case


# Plans as those of bench/whole_queries/tpc have them, without sorts; f and d are a table of facts and two
# others.
INPUTS = {
    'scan': 'SELECT count(*) FROM {f}',
    'filter': 'SELECT count(*) FROM {f} WHERE v BETWEEN 10 AND 60 AND n < 500',
    'strings': "SELECT count(*) FROM {f} WHERE t LIKE '%ab%'",
    'sums': 'SELECT count(*), sum(n), sum(n * (1 - v)), avg(v) FROM {f}',
    'few groups': 'SELECT v, count(*), sum(n) FROM {f} GROUP BY v',
    'join, small': 'SELECT count(*) FROM {f} f JOIN {d} d ON f.d = d.a WHERE d.v < 50',
    'join, large': 'SELECT count(*) FROM {f} f JOIN {f} g ON f.i = g.j',
    'two joins': 'SELECT d.v, sum(f.n) FROM {f} f JOIN {d} d ON f.d = d.a JOIN {d} e ON f.e = e.a WHERE e.v < 50 GROUP BY d.v',
    'semijoin': 'SELECT count(*) FROM {f} WHERE i IN (SELECT j FROM {f} WHERE v < 30)',
}


def cases_of_inputs(session, rows):
    """What a unit of the planner's cost takes."""
    make_table(session, SMALLER, {'a': 'i::int4', 'v': '(i % 100)::int4', 't': "md5(i::text)"}, rows // 50)
    make_table(session, TABLE, {'i': 'i::int4', 'j': '(1 + abs(x %% %d))::int4' % rows, 'v': 'abs(y % 100)::int4',
                                'd': '(1 + abs(x %% %d))::int4' % (rows // 50), 'e': '(1 + abs(y %% %d))::int4' % (rows // 50),
                                'n': value(NUMERIC, 'abs(y % 100000)'), 't': "md5(i::text)"}, rows)
    for name, query in INPUTS.items():
        case = Case('input', name)
        case.add('all', query.format(f=TABLE, d=SMALLER))
        yield case


def tables(session, rows):
    """The cases of one table after the other, each made when it is asked for."""
    for name in GROUPED_BY:
        for groups in (100, rows // 50, rows // 3):
            case = group_case(session, name, rows, groups, False)
            yield [case, part_case(case)] if groups == 100 else [case]
    for name in ('int', 'text'):
        yield [group_case(session, name, rows, rows // 50, True)]
    for cases in (cases_of_aggregates, cases_of_sorts_beside, cases_of_inputs):
        yield list(cases(session, rows))


def measure(options):
    """All cases, measured on the server."""
    session, sessions, found = Session(['max_parallel_workers_per_gather = 0']), Sessions(), []
    for cases in tables(session, options.rows):
        cases = [case for case in cases if case.prepare(sessions)]
        sys.stderr.write(''.join('%s: %s\n' % (case.facts['what'], case.facts['name']) for case in cases))
        for _ in range(options.runs):
            for case in cases:
                case.turn(sessions)
        found += [case.facts for case in cases]
    for table in (TABLE, SMALLER):
        session.run('DROP TABLE IF EXISTS ' + table)
    return {'version': session.run('SHOW server_version')[0], 'machine': options.about, 'cases': found}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--counts', required=True)
    parser.add_argument('--rows', type=int, default=500000)
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--terms', default='.*')
    parser.add_argument('--tpc')
    parser.add_argument('--save')
    parser.add_argument('--fit')
    parser.add_argument('--about', default='')
    options = parser.parse_args()
    if options.fit:
        with open(options.fit) as file:
            measured = json.load(file)
    else:
        measured = measure(options)
    if options.save:
        with open(options.save, 'w') as file:
            json.dump(measured, file, indent=0)
    calibrate_plans_fit.report(Counter(options.counts), measured, options.terms, options.tpc, sys.stderr, sys.stdout)


if __name__ == '__main__':
    main()
