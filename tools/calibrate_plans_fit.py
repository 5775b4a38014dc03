"""Fits src/plan/cost_terms.h to the plans that tools/calibrate_plans.py measured."""
import csv
import re
import statistics

from calibrate_fit import Fit, predicted_ms, print_terms, shape_line

MEMORY = 1 << 30

# The terms that are fitted.
OF_PLANS = ('HASH_', 'ORDERED_', 'INPUT')

# What hash_agg_entry_size of PostgreSQL adds to a group's bytes, without aggregates.
ENTRY_BYTES = 56

# PostgreSQL's default, which the shares are parts of.
PARALLEL_TUPLE_COST = 0.1


def cases_of(measured, what):
    return [case for case in measured['cases'] if case['what'] == what]


def counts_of(counter, whose, case):
    """All that the sort of a case has of each term, or the forming of its groups."""
    keys = [(kind, False, width, distinct, 0) for kind, width, distinct in case['keys']]
    width, key_bytes = sum(key[2] for key in keys), sum(1 + key[2] for key in keys)
    fixed = all(key[0] == 'int' for key in keys)
    line = shape_line(whose, case['rows'], width, keys, (key_bytes + 7) // 8 * 8 if fixed else key_bytes, MEMORY, fixed,
                      alone=len(keys) == 1, order=2 if case['in_order'] else 0)
    if whose in 'ho':
        line += ' %d %d' % (case['groups'], ENTRY_BYTES + width)
    return [a + b for a, b in zip(*counter.count(line))]


def more(case, way, base):
    """Milliseconds that one way takes more than the other."""
    return max(0.001, case['ms'][way] - case['ms'][base])


def pace_of(counter, measured):
    """How many times as long as the table says PostgreSQL's sorts of integers take here."""
    return statistics.median(more(case, 'sort', 'scan') / predicted_ms(counts_of(counter, 'p', case), counter.defaults)
                             for case in cases_of(measured, 'group')
                             if [key[0] for key in case['keys']] == ['int'] and not case['in_order'])


def observations(counter, measured):
    """Names, counts, milliseconds, and those of the whole query."""
    for case in cases_of(measured, 'group'):
        for whose, way, base in (('h', 'hash', 'scan'), ('o', 'grouped', 'gpusort')):
            yield '%s, %s' % (way, case['name']), counts_of(counter, whose, case), more(case, way, base), case['ms'][way]
    for case in cases_of(measured, 'input'):
        counts = [case['cost']['all'] if name == 'INPUT' else 0 for name in counter.names]
        yield 'input, ' + case['name'], counts, case['ms']['all'], case['ms']['all']


def fit_terms(counter, measured, wanted, pace):
    """The terms of plans, at the pace of the processor that the table was measured on."""
    fit = Fit(counter.names, counter.defaults)
    free = [bool(re.fullmatch(wanted, name)) and name.startswith(OF_PLANS) for name in counter.names]
    for _, counts, ms, whole in observations(counter, measured):
        known = predicted_ms([0 if f else c for c, f in zip(counts, free)], counter.defaults)
        fit.add([c if f else 0 for c, f in zip(counts, free)], ms / pace - known, whole / pace)
    return fit.solve()


def fit_shares(measured, tuple_ns):
    """What the shares are made of: for each case what it says; tuple_ns: of parallel_tuple_cost, here."""
    def ns(case, way, base):
        return more(case, way, base) * 1e6 / case['rows']

    found = {'GROUPED_ROW_SHARE': [(case['name'], ns(case, 'grouped', 'gpusort') / tuple_ns)
                                   for case in cases_of(measured, 'grouped')],
             'BESIDE_SHARE': []}
    for case in cases_of(measured, 'beside'):
        beside, alone = (ratio(case, how) for how in (' beside', ' alone'))
        found['BESIDE_SHARE'].append((case['name'], alone / beside))
    return found


def ratio(case, how):
    """GpuSort's time as a part of PostgreSQL's, without the scans."""
    scans = case['ms']['scan'] * (case['processes'] if how == ' beside' else 1)
    return (case['ms']['gpusort' + how] - scans) / (case['ms']['sort' + how] - scans)


def groupings(counter, measured, values):
    """Names, and the time of a GpuSort and groups as a part of hashing's, with the input: expected and measured."""
    for case in cases_of(measured, 'group'):
        scan = case['ms']['scan']
        sorted_ms, ordered_ms, hashed_ms = (predicted_ms(counts_of(counter, whose, case), values) for whose in 'goh')
        yield (case['name'], (scan + sorted_ms + ordered_ms) / (scan + hashed_ms), case['ms']['grouped'] / case['ms']['hash'])


def plans_in_part(measured):
    """Names, and a GpuSort's part of the cost and of the time of a plan whose workers form groups in part."""
    for case in cases_of(measured, 'part'):
        cost, ms = case['cost'], case['ms']
        yield case['name'], cost['ours'] / cost['theirs'], ms['ours'] / ms['theirs']


def queries_of_tpc(folder):
    """The same of bench/whole_queries/tpc's queries: the time less what their sorts are expected to take less, as a part of it."""
    def which(line):
        return tuple(line[name] for name in ('benchmark', 'scale', 'query', 'setting', 'jit'))

    def lines_of(name):
        with open(folder + '/' + name, newline='') as file:
            return list(csv.DictReader(file))

    gains, took = {}, {}
    for line in lines_of('sorts.csv'):
        if line['taken'] == 't':
            gains[which(line)] = gains.get(which(line), 0) + float(line['postgresql_ms']) - float(line['expected_ms'])
    for line in lines_of('runs.csv'):
        if line['least_ms']:
            took[which(line), line['mode']] = float(line['least_ms'])
    for query, gain in gains.items():
        off, ours = took.get((query, 'off')), took.get((query, 'auto'))
        if off and ours:
            yield ' '.join(query), max(0.01, 1 - gain / off), ours / off


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def check_ratios(what, checked, log):
    """Prints expected and measured ratios, and in words how well they agree."""
    off = []
    log.write('%s: our part of theirs, expected and measured\n' % what)
    for name, expected, measured in checked:
        log.write('%-50s %5.2f %5.2f\n' % (name, expected, measured))
        off.append(measured / expected)
    if not off:
        return []
    errors = [abs(error - 1) for error in off]
    words = ['%d %s: off by %.0f %% in the median, %.0f %% at the 90th percentile; ours take %.2f times what is'
             % (len(off), what, 100 * percentile(errors, 0.5), 100 * percentile(errors, 0.9), percentile(off, 0.5)),
             'expected in the median, %.2f at the 90th.' % percentile(off, 0.9)]
    log.write('\n'.join(words) + '\n')
    return words


def report(counter, measured, wanted, tpc, log, out):
    """Prints the table, and to the log all that was measured, and as expected."""
    pace = pace_of(counter, measured)
    values = fit_terms(counter, measured, wanted, pace)
    here = [value * pace for value in values]
    log.write('PostgreSQL\'s sorts of integers take %.2f times as long here as the table says\n' % pace)
    log.write('plan; measured; expected by the new terms, and by the old ones\n')
    for name, counts, ms, _ in observations(counter, measured):
        log.write('%-50s %8.1f %8.1f %8.1f\n' % (name, ms, predicted_ms(counts, here),
                                                predicted_ms(counts, counter.defaults) * pace))
    found = fit_shares(measured, PARALLEL_TUPLE_COST * here[counter.names.index('INPUT')])
    for share, cases in found.items():
        for name, value in cases:
            log.write('%-50s %8.2f\n' % ('%s, %s' % (share, name), value))
    comment = [measured['machine'], 'PostgreSQL %s, --plans; %d plans.  Its sorts of integers took %.2f times as long as above.'
               % (measured['version'], len(measured['cases']), pace)]
    comment += check_ratios('groupings', groupings(counter, measured, here), log)
    comment += check_ratios('plans that form groups in part', plans_in_part(measured), log)
    if tpc:
        check_ratios('queries of bench/whole_queries/tpc', queries_of_tpc(tpc), log)
    fitted = {name: value for name, value in zip(counter.names, values) if name.startswith(OF_PLANS)}
    shares = {share: statistics.median(value for _, value in cases) for share, cases in found.items() if cases}
    print_terms(fitted, shares, comment, out)
