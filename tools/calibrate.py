#!/usr/bin/env python3
"""Measures sorts on a running server and fits src/plan/cost_table.h to them; tools/calibrate calls it.

A sort's time is a sum of terms (src/plan/cost_terms.h): the program counts how many of each it has, and what is fitted here, by
least squares of relative errors without negative numbers, is how long each takes.

What is measured of a sort is a cursor: FETCH 1 less the bare scan gives the time to the first row, MOVE ALL that of the
rest, in processor time, which other work on the machine disturbs least; of a parallel plan, which cursors have none of, the time
of all by the clock.  Scan, PostgreSQL's Sort and GpuSort take turns, and the least of several runs counts.
"""
import argparse
import json
import os
import re
import subprocess
import sys

CLASSES = {'int': 0, 'plain': 1, 'function': 2, 'abbreviated': 3, 'numeric': 4, 'text': 5, 'icu': 6}
ICU = ' COLLATE "und-x-icu"'

# Columns of the tables, SQL out of the row's number i and random integers x, y; their bytes.
COLUMNS = {
	'g10': ('i / 10', 8), 'g1000': ('i / 1000', 8), 'k': ('x', 8), 'srt': ('i', 8), 'dup': ('(x % 100)::int4', 4), 'a': ('(y % 1000)::int4', 4), 'b': ('y', 8),
	'f': ('x / 1000.0::float8', 8), 'u': ('md5(x::text)::uuid', 16), 'tm': ("time '00:00' + (x % 86400000000) * interval '1 microsecond'", 8),
	'num': ('(x % 1000000000000)::numeric / 100', 11), 't': ('md5(i::text) COLLATE "C"', 33),
	'p': ("('/usr/share/doc/' || substr(md5((x % 20000)::text), 1, 8) || '/lib' || substr(md5(y::text), 1, 20)) COLLATE \"C\"", 48),
	's': ("substr(md5((y % 50000)::text), 1, 6) COLLATE \"C\"", 7),
	'pad': ("substr('padding', 1, 5)", 6), 'wide': ("repeat('x', 100)", 101), 'vast': ("repeat('x', 400)", 404),
}


class Key:
	"""A sort column: its name, class, number of values (0: all differ; negative: a part of the rows), and how many first 8 bytes these have."""

	def __init__(self, name, key_class, distinct=0, leading=0, collation=''):
		self.name, self.key_class, self.distinct, self.leading, self.collation = name, key_class, distinct, leading, collation
		self.width = COLUMNS[name][1]

	def values(self, rows):
		return -self.distinct * rows if self.distinct < 0 else self.distinct

	def stored(self):
		"""Bytes in a variable key."""
		if self.key_class == 'icu':
			return 8 + 2 * self.width
		return self.width + 1

	def fixed(self):
		return self.key_class in ('int', 'plain', 'function', 'abbreviated')


KEYS = {
	'int8': [Key('k', 'int')],
	'sorted': [Key('srt', 'int')],
	'duplicates': [Key('dup', 'int', 100)],
	'float8': [Key('f', 'plain')],
	'time': [Key('tm', 'function')],
	'uuid': [Key('u', 'abbreviated')],
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
}


# ---- the server ----

class Session:
	"""A psql that lives as long as the measurements: a session's first queries load what later ones have."""

	def __init__(self, settings):
		command = os.environ.get('PSQL', 'psql').split() + ['-X', '-q', '-A', '-t']
		self.psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
		self.run('SET client_min_messages = warning')
		for setting in settings:
			self.run('SET ' + setting)
		self.backend = self.run('SELECT pg_backend_pid()')[0]

	def send(self, text):
		"""Runs commands of psql, and returns the lines that come."""
		self.psql.stdin.write(text + '\n\\echo calibrate-end\n')
		self.psql.stdin.flush()
		lines = []
		while True:
			line = self.psql.stdout.readline()
			if line == '' or re.match(r'(ERROR|FATAL|psql:)', line):
				sys.exit('calibrate: %s in: %s' % (line.strip() or 'psql ended', text))
			if line == 'calibrate-end\n':
				return lines
			lines.append(line.rstrip('\n'))

	def run(self, statement):
		return self.send(statement + ';')

	def processor_ms(self):
		"""Milliseconds of processor time that the session's backend has had."""
		with open('/proc/%s/schedstat' % self.backend) as file:
			return int(file.read().split()[0]) / 1e6

	def processor_times(self, statements):
		"""Milliseconds of processor time of each statement, whose results are not printed."""
		at = [self.processor_ms()]
		for statement in statements:
			self.send('\\o /dev/null\n' + statement + ';\n\\o')
			at.append(self.processor_ms())
		return [after - before for before, after in zip(at, at[1:])]

	def cursor(self, query):
		"""Milliseconds of processor time to the first row and of all others."""
		times = self.processor_times(['BEGIN', 'DECLARE c NO SCROLL CURSOR FOR ' + query, 'FETCH 1 FROM c', 'MOVE ALL FROM c', 'COMMIT'])
		return times[2], times[3]

	def drained(self, query):
		"""Milliseconds of this process's time."""
		return self.processor_times([query + ' OFFSET 1000000000'])[0]

	def elapsed(self, query):
		"""Milliseconds by the clock: what several processes do."""
		lines = self.send('\\timing on\n\\o /dev/null\n' + query + ' OFFSET 1000000000;\n\\o\n\\timing off')
		return float(lines[-1].split()[1])

	def plan(self, query):
		return '\n'.join(self.run('EXPLAIN (COSTS OFF) ' + query))

	def cost(self, query):
		return float(re.search(r'\.\.([\d.]+) rows', self.run('EXPLAIN ' + query)[0]).group(1))


def make_table(session, table, columns, rows):
	columns = ', '.join('%s AS %s' % (COLUMNS[column][0], column) for column in columns)
	session.run('DROP TABLE IF EXISTS ' + table)
	session.run('CREATE UNLOGGED TABLE %s AS SELECT %s FROM (SELECT i, hashint8extended(i, 0) AS x, hashint8extended(i, 1) AS y '
				'FROM (SELECT generate_series(1::bigint, %d) AS i) g) h' % (table, columns, rows))
	session.run('VACUUM ANALYZE ' + table)
	session.run('SELECT count(*) FROM ' + table)


# ---- sorts and what is known of them ----

TABLE = 'gpusort_calibrate'

SORT_ARGUMENTS = ('rows', 'key_name', 'payload', 'memory_mb', 'workers', 'limit')


class Sort:
	"""One sort: the query, and its shape as calibrate_counts reads it."""

	def __init__(self, rows, key_name, payload, memory_mb, workers=0, limit=0):
		self.rows, self.key_name, self.keys, self.payload = rows, key_name, KEYS[key_name], payload
		self.memory_mb, self.workers, self.limit = memory_mb, workers, limit
		self.columns = list(dict.fromkeys([key.name for key in self.keys] + payload))

	def arguments(self):
		return {name: getattr(self, name) for name in SORT_ARGUMENTS}

	def name(self):
		parts = [self.key_name, '+'.join(self.payload) or 'alone', str(self.rows), '%d MB' % self.memory_mb]
		return ', '.join(parts + (['%d workers' % self.workers] if self.workers else []) + (['limit %d' % self.limit] if self.limit else []))

	def is_incremental(self):
		"""Is the table read in the order of its first sort column?"""
		return self.key_name.startswith('groups')

	def groups(self):
		return self.keys[0].values(self.rows) if self.is_incremental() else 0

	def query(self, table):
		order = ', '.join(key.name + key.collation for key in self.keys)
		return 'SELECT %s FROM %s ORDER BY %s' % (', '.join(self.columns), table, order) + (' LIMIT %d' % self.limit if self.limit else '')

	def scan(self, table):
		"""What is sorted."""
		return 'SELECT %s FROM %s' % (', '.join(self.columns), table) + (' ORDER BY ' + self.keys[0].name if self.is_incremental() else '')

	def shape(self, whose, device, cores):
		fixed = all(key.fixed() for key in self.keys)
		key_bytes = sum(1 + key.width if key.fixed() else key.stored() for key in self.keys)
		words = [whose, self.rows, self.limit or -1, sum(COLUMNS[c][1] for c in self.columns), int(len(self.columns) == 1),
				 int(self.key_name == 'sorted'), self.groups() if whose == 'p' else 0, (key_bytes + 7) // 8 * 8 if fixed else key_bytes, int(fixed), self.memory_mb * 1048576,
				 self.workers + 1, cores, 1 if self.workers else 0, 1, int(device == 'cuda' and whose == 'g'), len(self.keys)]
		for key in self.keys:
			words += [CLASSES[key.key_class], key.width, key.values(self.rows), key.leading]
		return ' '.join(str(word) for word in words)


def sorts_of_key(key_name, rows):
	"""The sorts of a table: in memory, with little of it, with a LIMIT, by several processes."""
	sorts = [Sort(rows, key_name, payload, 1024) for payload in ([], ['pad'], ['pad', 'wide'])
			 if payload or key_name in ('int8', 'sorted', 'text', 'numeric', 'uuid')]
	if key_name == 'int8':
		sorts.append(Sort(rows, key_name, ['vast'], 1024))
	if rows >= 100000 and key_name in ('int8', 'numeric', 'text', 'paths ICU', 'two ints'):
		sorts += [Sort(rows, key_name, payload, 4) for payload in (['pad'], ['pad', 'wide'])]
	if key_name in ('int8', 'numeric', 'text', 'text ICU'):
		sorts += [Sort(rows, key_name, ['pad', 'wide'], 1024, 0, limit) for limit in (10, rows // 100, rows // 5)]
	if key_name in ('int8', 'text') and (rows < 2000 or rows >= 100000):
		sorts += [Sort(rows, key_name, payload, 1024, workers) for payload in (['pad'], ['pad', 'wide']) for workers in (1, 2)]
	return sorts


# ---- measuring ----

def is_leader_alone(sort):
	"""Is what the leader does alone measured, while workers do the rest? Of small sorts it is how long a parallel plan takes to launch."""
	return sort.workers > 0 and sort.rows >= 10000


def settings_of(sort, what, device):
	workers = 0 if what == 'scan' else sort.workers
	return ['gpusort.mode = ' + ('force' if what == 'g' else 'off'), 'gpusort.backend = ' + device, "work_mem = '%dMB'" % sort.memory_mb, 'cursor_tuple_fraction = 1', 'jit = off',
			'max_parallel_workers_per_gather = %d' % workers, 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
			'min_parallel_table_scan_size = 0', 'enable_seqscan = ' + ('off' if sort.is_incremental() else 'on'), 'parallel_leader_participation = ' + ('off' if is_leader_alone(sort) else 'on')]


class Sessions:
	"""Sessions by their settings, opened when they are asked for."""

	def __init__(self):
		self.open = {}

	def get(self, settings):
		if tuple(settings) not in self.open:
			self.open[tuple(settings)] = Session(settings)
		return self.open[tuple(settings)]


class Measured:
	"""The least times of a sort's scan, of PostgreSQL's Sort and of GpuSort; lists of first and rest, or of all."""

	def __init__(self, sort, device, cores, sessions=None):
		self.sort, self.device, self.cores, self.sessions = sort, device, cores, sessions
		self.query, self.scan = sort.query(TABLE), sort.scan(TABLE)
		self.methods = None		# what is measured, once plans were looked at
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
		self.cost = self.session('scan').cost(self.scan)
		self.methods = ['scan'] + [what for what in ('p', 'g') if self.has_plan(what)]

	def note(self, what, times):
		self.best[what] = [min(pair) for pair in zip(times, self.best.get(what, times))]

	def turn(self):
		if self.methods is None:
			self.prepare()
		for what in self.methods:
			if what == 'scan':
				self.note(what, [sum(self.session(what).cursor(self.scan))])
			elif is_leader_alone(self.sort):
				self.note(what, [self.session(what).drained(self.query)])
			elif self.sort.workers:
				self.note(what, [self.session(what).elapsed(self.query)])
			else:
				self.note(what, self.session(what).cursor(self.query))

	def input_ms(self):
		"""What of the time is the scan's: its processes share it."""
		if is_leader_alone(self.sort):
			return 0
		return self.best['scan'][0] / min(self.sort.workers + 1, self.cores)

	def observations(self):
		"""Which method, its shape or cost, and milliseconds, first and rest or all, without the scan; the scan's own as well."""
		found = [('scan', self.cost, self.best['scan'])] if not self.sort.is_incremental() else []
		for what in self.methods[1:]:
			times = list(self.best[what])
			if self.sort.is_incremental():
				times = [sum(times)]	# the first row is there when a part of the scan is done
			times[0] = max(times[0] - self.input_ms(), 0.001)
			found.append((what, self.sort.shape(what, self.device, self.cores), times))
		return found


def save(measured, version, file_name):
	with open(file_name, 'w') as file:
		json.dump({'version': version, 'sorts': [dict(m.sort.arguments(), device=m.device, cores=m.cores, cost=m.cost, methods=m.methods, best=m.best)
												 for m in measured]}, file, indent=0)


def load(file_name):
	with open(file_name) as file:
		saved = json.load(file)
	measured = []
	for entry in saved['sorts']:
		m = Measured(Sort(*(entry[name] for name in SORT_ARGUMENTS)), entry['device'], entry['cores'])
		m.cost, m.methods, m.best = entry['cost'], entry['methods'], entry['best']
		measured.append(m)
	return measured, saved['version']


# ---- fitting ----

class Fit:
	def __init__(self, names, defaults):
		self.names, self.defaults, self.rows = names, defaults, []

	def add(self, label, counts, ms, scale):
		"""counts of terms that took ms; errors count by the scale, the whole sort's time."""
		self.rows.append((label, counts, ms * 1e6, 1 / (scale * 1e6)))

	def solve(self):
		"""Least squares without negative numbers, one coordinate at a time; a term that nothing measured keeps its number."""
		size = len(self.names)
		gram = [[0.0] * size for _ in range(size)]
		right = [0.0] * size
		for _, counts, ns, weight in self.rows:
			present = [(i, c * weight) for i, c in enumerate(counts) if c]
			for i, c in present:
				right[i] += c * ns * weight
				for j, d in present:
					gram[i][j] += c * d
		values = [0.0 if gram[i][i] else default for i, default in enumerate(self.defaults)]
		for _ in range(40000):
			change = 0
			for i in range(size):
				if gram[i][i]:
					row = gram[i]
					value = max(0.0, values[i] + (right[i] - sum(g * v for g, v in zip(row, values))) / row[i])
					change = max(change, abs(value - values[i]) * gram[i][i] ** 0.5)
					values[i] = value
			if change < 1e-7:
				break
		return values

	def measured(self, name):
		return any(row[1][self.names.index(name)] for row in self.rows)


class Counter:
	"""The program that counts terms."""

	def __init__(self, program):
		self.program = program
		terms = [line.split('\t') for line in subprocess.run([program, 'names'], capture_output=True, text=True, check=True).stdout.splitlines()]
		self.names, self.defaults, self.meanings = [t[0] for t in terms], [float(t[1]) for t in terms], [t[2] for t in terms]

	def count(self, shapes):
		result = subprocess.run([self.program], input='\n'.join(shapes) + '\n', capture_output=True, text=True, check=True).stdout.splitlines()
		vectors = [[float(word) for word in line.split()] for line in result]
		return list(zip(vectors[0::2], vectors[1::2]))


def scaled_rest(sort, rest):
	"""What is returned under a LIMIT is a part of the rest, which is counted for all rows."""
	part = sort.limit / sort.rows if sort.limit else 1
	return [c * part for c in rest]


def counts_of(counter, m, what, shape):
	"""Counts until the first row and for the rest, as far as they were measured."""
	first, rest = counter.count([shape])[0]
	rest = scaled_rest(m.sort, rest)
	if is_leader_alone(m.sort):
		first = [0] * len(first)
		rest = [c if name.startswith('PG_GATHER' if what == 'p' else 'RETURN') else 0 for name, c in zip(counter.names, rest)]
	return first, rest


def fit_all(counter, measured):
	fit = Fit(counter.names, counter.defaults)
	input_term = counter.names.index('INPUT')
	for m in measured:
		for what, shape, times in m.observations():
			if what == 'scan':
				fit.add(m.sort.name() + ' scan', [shape if i == input_term else 0 for i in range(len(counter.names))], times[0], times[0])
				continue
			first, rest = counts_of(counter, m, what, shape)
			label = '%s %s' % (m.sort.name(), what)
			if len(times) == 1:
				fit.add(label + ' all', [a + b for a, b in zip(first, rest)], times[0], times[0] + m.input_ms())
			else:
				fit.add(label + ' first', first, times[0], sum(times) + m.input_ms())
				fit.add(label + ' rest', rest, times[1], sum(times) + m.input_ms())
	return fit, fit.solve()


# ---- results ----

def predicted_ms(counts, values):
	return sum(c * v for c, v in zip(counts, values)) / 1e6


def print_residuals(counter, measured, values, out):
	"""For every sort, measured and expected milliseconds with the scan, and the two ratios."""
	errors = []
	out.write('sort; scan, PostgreSQL and GpuSort measured; the two expected; GpuSort / PostgreSQL measured and expected\n')
	for m in measured:
		scan, found = m.input_ms(), {}
		for what, shape, times in m.observations():
			if what == 'scan':
				continue
			first, rest = counts_of(counter, m, what, shape)
			found[what] = (sum(times) + scan, predicted_ms(first, values) + predicted_ms(rest, values) + scan)
		if len(found) < 2:
			continue
		ratios = [found['g'][i] / found['p'][i] for i in (0, 1)]
		errors.append(abs(ratios[1] / ratios[0] - 1))
		out.write('%-50s %8.1f %8.1f %8.1f  %8.1f %8.1f  %.2f %.2f%s\n' % (m.sort.name(), scan, found['p'][0], found['g'][0], found['p'][1],
				  found['g'][1], ratios[0], ratios[1], '  <> 1' if (ratios[0] < 1) != (ratios[1] < 1) else ''))
	errors.sort()
	return errors


def print_table(counter, fit, values, comment, out):
	out.write('/*\n * plan/cost_table.h\n *\t\tWhat each term of a sort\'s time takes, in nanoseconds; tools/calibrate wrote it.\n *\n')
	for line in comment:
		out.write(' * %s\n' % line)
	out.write(' */\n#ifndef GPUSORT_PLAN_COST_TABLE_H\n#define GPUSORT_PLAN_COST_TABLE_H\n\n#include "plan/predict.h"\n\n'
			  'static const double cost_table[COST_TERMS] = {\n')
	for i, name in enumerate(counter.names):
		note = '' if fit.measured(name) else ', not measured'
		comma = ',' if i < len(values) - 1 else ''
		out.write('\t[COST_%s] = %.4g%s\t/* %s%s */\n' % (name, values[i], comma, counter.meanings[i], note))
	out.write('};\n\n#endif\t\t\t\t\t\t\t/* GPUSORT_PLAN_COST_TABLE_H */\n')


def measure(options):
	"""All sorts, measured on the server; and its version."""
	session, sessions, measured = Session(['max_parallel_workers_per_gather = 0']), Sessions(), []
	for key_name in KEYS:
		for rows in (int(n) for n in options.rows.split(',')):
			sys.stderr.write('%s, %d rows\n' % (key_name, rows))
			sorts = [Measured(sort, options.device, os.cpu_count(), sessions) for sort in sorts_of_key(key_name, rows)]
			make_table(session, TABLE, list(dict.fromkeys(column for m in sorts for column in m.sort.columns)), rows)
			if sorts[0].sort.is_incremental():
				session.run('CREATE INDEX ON %s (%s)' % (TABLE, sorts[0].sort.keys[0].name))
			for _ in range(options.runs * (1 if rows > 100000 else 5)):
				for m in sorts:
					m.turn()
			measured += sorts
	session.run('DROP TABLE ' + TABLE)
	return measured, session.run('SHOW server_version')[0]


def main():
	parser = argparse.ArgumentParser()
	parser.add_argument('--counts', required=True)
	parser.add_argument('--rows', default='1000,3000,10000,100000,1000000')
	parser.add_argument('--runs', type=int, default=3)
	parser.add_argument('--device', default='cpu')
	parser.add_argument('--save')
	parser.add_argument('--fit')
	parser.add_argument('--about', default='')
	options = parser.parse_args()
	measured, version = load(options.fit) if options.fit else measure(options)
	if options.save:
		save(measured, version, options.save)
	counter = Counter(options.counts)
	fit, values = fit_all(counter, measured)
	errors = print_residuals(counter, measured, values, sys.stderr)
	comment = [options.about, 'PostgreSQL %s, device %s; %d sorts.' % (version, measured[0].device, len(measured)),
			   'Ratio of the two times, expected against measured: off by %.0f %% in the median, %.0f %% at the 90th percentile.'
			   % (100 * errors[len(errors) // 2], 100 * errors[len(errors) * 9 // 10])]
	print_table(counter, fit, values, comment, sys.stdout)


if __name__ == '__main__':
	main()
