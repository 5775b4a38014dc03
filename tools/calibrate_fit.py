"""How tools/calibrate.py fits src/plan/cost_terms.h to what it measured, and prints that."""
import pathlib
import re
import subprocess

TERMS = pathlib.Path(__file__).parent.parent / 'src/plan/cost_terms.h'

# SortKeyClass of src/plan/sort_shape.h.
CLASSES = {'int': 0, 'plain': 1, 'function': 2, 'abbreviated': 3, 'numeric': 4, 'text': 5, 'icu': 6,
           'libc': 7, 'libc bytes': 8, 'made': 9}


def shape_line(whose, rows, width, keys, key_bytes, memory, fixed=True, wanted=-1, alone=False, order=0, groups=0,
               processes=1, cores=1, share=1, launch=0, device=0, codable=0, coded_bytes=0):
    """A line for calibrate_counts; keys: class, verified, bytes, values, different first 8 bytes."""
    words = [whose, rows, wanted, width, int(alone), order, groups, key_bytes, int(fixed), codable, coded_bytes, memory]
    words += [processes, cores, share, launch, int(device), len(keys)]
    for key_class, verified, key_width, distinct, leading in keys:
        words += [CLASSES[key_class], int(verified), key_width, distinct, leading]
    return ' '.join(str(word) for word in words)


class Fit:
    def __init__(self, names, defaults):
        self.names, self.defaults, self.rows, self.seen = names, defaults, [], set()

    def add(self, counts, ms, scale):
        """Counts of terms that took so long; errors count by the scale, the whole query's time."""
        self.rows.append((counts, ms * 1e6, 1 / (scale * 1e6)))

    def solve(self):
        """Least squares without negative numbers, one coordinate at a time.  A term that nothing measured keeps its
        number."""
        size = len(self.names)
        gram = [[0.0] * size for _ in range(size)]
        right = [0.0] * size
        for counts, ns, weight in self.rows:
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
                    error = right[i] - sum(g * v for g, v in zip(row, values))
                    value = max(0.0, values[i] + error / row[i])
                    change = max(change, abs(value - values[i]) * gram[i][i] ** 0.5)
                    values[i] = value
            if change < 1e-7:
                break
        return values

    def measured(self, name):
        return name in self.seen


class Counter:
    """The program that counts terms."""

    def __init__(self, program):
        self.program = program
        lines = [line.split('\t') for line in self.run(['names'], '')]
        self.share, terms = float(lines[0][1]), lines[1:]
        self.names = [term[0] for term in terms]
        self.defaults = [float(term[1]) for term in terms]

    def run(self, arguments, text):
        return subprocess.run([self.program] + arguments, input=text, capture_output=True, text=True,
                              check=True).stdout.splitlines()

    def count(self, shape):
        """Counts until the first row, and for the rest."""
        return [[float(word) for word in line.split()] for line in self.run([], shape + '\n')]


def scaled_rest(sort, rest):
    """What is returned under a LIMIT is a part of the rest, which is counted for all rows."""
    part = sort.limit / sort.rows if sort.limit else 1
    return [c * part for c in rest]


def counts_of(counter, m, what, shape):
    """Counts until the first row and for the rest, as far as they were measured."""
    first, rest = counter.count(shape)
    rest = scaled_rest(m.sort, rest)
    if m.sort.alone:
        leaders = 'PG_GATHER' if what == 'p' else 'RETURN'
        first = [0] * len(first)
        rest = [c if name.startswith(leaders) else 0 for name, c in zip(counter.names, rest)]
    return first, rest


def parts_of(counter, m):
    """Counts, milliseconds that they took, and those of the whole query; of each part of it that was measured."""
    input_term = counter.names.index('INPUT')
    for what, shape, times in m.observations():
        if what == 'scan':
            yield [shape if i == input_term else 0 for i in range(len(counter.names))], times[0], times[0]
            continue
        first, rest = counts_of(counter, m, what, shape)
        if what == 'index':
            first[input_term] += m.cost
        whole = sum(times) + (m.input_ms() if what != 'index' else 0)
        if len(times) == 1:
            yield [a + b for a, b in zip(first, rest)], times[0], whole
        else:
            yield first, times[0], whole
            yield rest, times[1], whole


def fit_all(counter, measured, wanted='.*'):
    """The terms whose names match; the others are kept."""
    fit = Fit(counter.names, counter.defaults)
    free = [bool(re.fullmatch(wanted, name)) for name in counter.names]
    for m in measured:
        if m.sort.is_shared():
            continue
        for counts, ms, whole in parts_of(counter, m):
            fit.seen.update(name for name, count in zip(counter.names, counts) if count)
            known = predicted_ms([0 if f else c for c, f in zip(counts, free)], counter.defaults)
            fit.add([c if f else 0 for c, f in zip(counts, free)], ms - known, whole)
    return fit, fit.solve()


def fit_card(counter, measured):
    """The terms of a card, all others being kept; and how many times as long as they say PostgreSQL's sorts take here.
    What was measured is brought to the pace of the processor that they were measured on."""
    fit = Fit(counter.names, counter.defaults)
    of_card = [name.startswith('CUDA_') for name in counter.names]
    paces, parts = [], []
    for m in measured:
        for what, shape, times in m.observations():
            if what == 'scan':
                continue
            first, rest = counts_of(counter, m, what, shape)
            if what == 'p':
                counts = [a + b for a, b in zip(first, rest)]
                paces.append(sum(times) / predicted_ms(counts, counter.defaults))
            else:
                parts += [(counts, ms, sum(times)) for counts, ms in zip((first, rest), times)]
    pace = sorted(paces)[len(paces) // 2]
    for counts, ms, whole in parts:
        known = predicted_ms([0 if card else c for c, card in zip(counts, of_card)], counter.defaults)
        fit.add([c if card else 0 for c, card in zip(counts, of_card)], ms / pace - known, whole / pace)
    return fit.solve(), pace


def share_error(counter, measured, values, share):
    """The sum of squared relative errors of what several processes take, if each adds so much of a processor."""
    total = 0
    for m in measured:
        for what in m.methods[1:] if m.sort.is_shared() else []:
            first, rest = counter.count(m.sort.shape(what, m.device, m.cores, share))
            expected = predicted_ms(first, values) + predicted_ms(rest, values) + m.input_ms(share)
            total += (expected / m.best[what][0] - 1) ** 2
    return total


def fit_share(counter, measured, values):
    """How much of a processor each process after the first adds."""
    if not any(m.sort.is_shared() for m in measured):
        return counter.share
    return min((n / 20 for n in range(2, 21)), key=lambda share: share_error(counter, measured, values, share))


# ---- results ----

def predicted_ms(counts, values):
    return sum(c * v for c, v in zip(counts, values)) / 1e6


def print_residuals(counter, measured, values, share, out):
    """For every sort, measured and expected milliseconds with the scan, and the two ratios."""
    errors = []
    out.write('sort; scan, PostgreSQL and GpuSort measured; the two expected; their ratio measured and expected\n')
    for m in measured:
        if m.sort.is_by_index():
            continue
        scan, found = m.input_ms(share), {}
        for what, shape, times in m.observations():
            if what == 'scan':
                continue
            if m.sort.is_shared():
                shape, times = m.sort.shape(what, m.device, m.cores, share), [m.best[what][0] - scan]
            first, rest = counts_of(counter, m, what, shape)
            found[what] = (sum(times) + scan, predicted_ms(first, values) + predicted_ms(rest, values) + scan)
        if len(found) < 2:
            continue
        ratios = [found['g'][i] / found['p'][i] for i in (0, 1)]
        errors.append(abs(ratios[1] / ratios[0] - 1))
        wrong_side = '  <> 1' if (ratios[0] < 1) != (ratios[1] < 1) else ''
        out.write('%-50s %8.1f %8.1f %8.1f  %8.1f %8.1f  %.2f %.2f%s\n' % (
            m.sort.name(), scan, found['p'][0], found['g'][0], found['p'][1], found['g'][1], *ratios, wrong_side))
    errors.sort()
    return errors


def print_card_terms(counter, values, out):
    """cost_terms.h with what of it is a card's."""
    print_terms({name: value for name, value in zip(counter.names, values) if name.startswith('CUDA_')}, {}, [], out)


def print_table(counter, fit, values, share, comment, out):
    kept = [name for name in counter.names if not fit.measured(name)]
    comment = comment + ['Not measured: %s.' % (', '.join(kept) or 'none')]
    print_terms(dict(zip(counter.names, values)), {'COST_PROCESSOR_SHARE': share}, comment, out)


def print_terms(values, shares, comment, out):
    """cost_terms.h with other nanoseconds and shares, and this at the end of its head."""
    text = TERMS.read_text()
    for name, value in values.items():
        text = re.sub(r'(COST_TERM\(%s,)(\s+)[^,]+,' % name, lambda term: '%s%s%.4g,' % (*term.groups(), value), text)
    for name, share in shares.items():
        text = re.sub(r'(#define %s) .*' % name, lambda line: '%s %.4g' % (line.group(1), share), text)
    out.write(text.replace(' */\n', ''.join(' * %s\n' % line for line in comment) + ' */\n', 1))
