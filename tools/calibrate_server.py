"""The sessions in which tools/calibrate measures, and its tables."""
import os
import re
import subprocess
import sys
import time


def on_off(condition):
    return 'on' if condition else 'off'


class Session:
    """A psql that lives as long as the measurements: a session's first queries load what later ones have."""

    by_clock = False

    def __init__(self, settings):
        command = os.environ.get('PSQL', 'psql').split() + ['-X', '-q', '-A', '-t']
        self.psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
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
        """Milliseconds of processor time that the session's backend has had; where a card works too, by the clock."""
        if Session.by_clock:
            return time.perf_counter() * 1000
        ns, before = self.processor_ns(), None
        while ns != before:     # it counts when the backend has gone to sleep, a moment after its answer
            time.sleep(0.0003)
            ns, before = self.processor_ns(), ns
        return ns / 1e6

    def processor_ns(self):
        with open('/proc/%s/schedstat' % self.backend) as file:
            return int(file.read().split()[0])

    def processor_times(self, statements):
        """Milliseconds of processor time of each statement, whose results are not printed."""
        at = [self.processor_ms()]
        for statement in statements:
            self.send('\\o /dev/null\n' + statement + ';\n\\o')
            at.append(self.processor_ms())
        return [after - before for before, after in zip(at, at[1:])]

    def cursor(self, query):
        """Milliseconds of processor time to the first row and of all others."""
        times = self.processor_times(['BEGIN', 'DECLARE c NO SCROLL CURSOR FOR ' + query, 'FETCH 1 FROM c',
                                      'MOVE ALL FROM c', 'COMMIT'])
        return times[2], times[3]

    def drained(self, query):
        """Milliseconds of this process's time."""
        return self.processor_times([query + ' OFFSET 1000000000'])[0]

    def workers_ms(self):
        """Milliseconds of processor time that the server's ended processes have had, in hundredths of a second."""
        def stat_of(pid):
            with open('/proc/%s/stat' % pid) as file:
                return file.read().rpartition(')')[2].split()
        postmaster = stat_of(self.backend)[1]
        return sum(int(ticks) for ticks in stat_of(postmaster)[13:15]) * 1000 / os.sysconf('SC_CLK_TCK')

    def drained_by_all(self, query):
        """Milliseconds of this process's time and its workers'."""
        before = self.workers_ms()
        return self.drained(query) + self.workers_ms() - before

    def elapsed(self, query):
        """Milliseconds by the clock: what several processes do."""
        lines = self.send('\\timing on\n\\o /dev/null\n%s OFFSET 1000000000;\n\\o\n\\timing off' % query)
        return float(lines[-1].split()[1])

    def plan(self, query):
        return '\n'.join(self.run('EXPLAIN (COSTS OFF) ' + query))

    def cost(self, query):
        return float(re.search(r'\.\.([\d.]+) rows', self.run('EXPLAIN ' + query)[0]).group(1))


def make_table(session, table, columns, rows):
    """columns: SQL out of the row's number i and random integers x, y, by their names."""
    columns = ', '.join('%s AS %s' % (column, name) for name, column in columns.items())
    session.run('DROP TABLE IF EXISTS ' + table)
    session.run('CREATE UNLOGGED TABLE %s AS SELECT %s '
                'FROM (SELECT i, hashint8extended(i, 0) AS x, hashint8extended(i, 1) AS y '
                'FROM (SELECT generate_series(1::bigint, %d) AS i) g) h' % (table, columns, rows))
    session.run('VACUUM ANALYZE ' + table)
    session.run('SELECT count(*) FROM ' + table)


class Sessions:
    """Sessions by their settings, opened when they are asked for."""

    def __init__(self):
        self.open = {}

    def get(self, settings):
        if tuple(settings) not in self.open:
            self.open[tuple(settings)] = Session(settings)
        return self.open[tuple(settings)]
