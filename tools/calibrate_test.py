#!/usr/bin/env python3
"""Does tools/calibrate --plans find the terms and shares that made-up measurements were made of?  Needs no server;
tools/calibrate --test calls it."""
import io
import re
import sys
import unittest

import calibrate_plans_fit
from calibrate_fit import Counter, predicted_ms

TRUE = {'HASH_ROW': 40, 'HASH_COLUMN': 12, 'HASH_STRING': 80, 'HASH_FAR': 200, 'HASH_GROUP': 150, 'ORDERED_ROW': 25,
        'ORDERED_GROUP': 70, 'INPUT': 1300}
PACE = 1.5
SCAN_MS = 20
ROWS = 100000


class Fitting(unittest.TestCase):
    program = None

    @classmethod
    def setUpClass(cls):
        cls.counter = Counter(cls.program)
        cls.values = [TRUE.get(name, default) for name, default in zip(cls.counter.names, cls.counter.defaults)]
        cls.log, cls.table = cls.printed('.*')

    @classmethod
    def ms(cls, whose, case):
        return PACE * predicted_ms(calibrate_plans_fit.counts_of(cls.counter, whose, case), cls.values)

    @classmethod
    def grouping(cls, kinds, groups, in_order):
        """A case that takes what the terms say."""
        case = {'what': 'group', 'name': 'made up', 'rows': ROWS, 'groups': groups, 'in_order': in_order,
                'keys': [(kind, width, groups) for kind, width in kinds], 'cost': {}}
        ms = {whose: cls.ms(whose, case) for whose in 'phgo'}
        case['ms'] = {'scan': SCAN_MS, 'hash': SCAN_MS + ms['h'], 'sort': SCAN_MS + ms['p'], 'gpusort': SCAN_MS + ms['g'],
                      'grouped': SCAN_MS + ms['g'] + ms['o']}
        return case

    @classmethod
    def measured(cls):
        cases = [cls.grouping(kinds, groups, in_order)
                 for kinds in ([('int', 4)], [('int', 4)] * 3, [('text', 33)], [('int', 4), ('text', 33)])
                 for groups in (10, 3000, 90000) for in_order in (False, True)]
        cases += [{'what': 'input', 'name': 'made up', 'cost': {'all': cost}, 'ms': {'all': PACE * cost * TRUE['INPUT'] / 1e6}}
                  for cost in (1000, 20000)]
        tuples_ms = PACE * TRUE['INPUT'] * 0.1 * ROWS / 1e6     # by parallel_tuple_cost
        cases += [{'what': 'grouped', 'name': 'made up', 'rows': ROWS, 'ms': {'gpusort': 7, 'grouped': 7 + 0.7 * tuples_ms}},
                  # Alone half as long as PostgreSQL, beside each other 0.625 times: 0.8 of that.
                  {'what': 'beside', 'name': 'made up', 'rows': ROWS, 'processes': 3,
                   'ms': {'scan': 10, 'sort alone': 110, 'gpusort alone': 60, 'sort beside': 350, 'gpusort beside': 230}}]
        # At half the cost half the time, 0.6 and 0.75 of it.
        cases += [{'what': 'part', 'name': 'made up', 'rows': ROWS, 'cost': {'theirs': 100, 'ours': 50},
                   'ms': {'theirs': 100, 'ours': ours}} for ours in (50, 60, 75)]
        return {'version': 'none', 'machine': 'Made up.', 'cases': cases}

    @classmethod
    def printed(cls, wanted):
        log, out = io.StringIO(), io.StringIO()
        calibrate_plans_fit.report(cls.counter, cls.measured(), wanted, None, log, out)
        return log.getvalue(), out.getvalue()

    def number(self, text, pattern):
        return float(re.search(pattern + r'\s+([\d.e+]+)', text).group(1))

    def test_counts(self):
        for in_order, looks in ((False, ROWS), (True, 90000)):
            case = self.grouping([('int', 4), ('text', 33)], 90000, in_order)
            counts = dict(zip(self.counter.names, calibrate_plans_fit.counts_of(self.counter, 'h', case)))
            far = 1 - (2 << 20) / (90000 * (56 + 37))
            for name, expected in (('HASH_ROW', ROWS), ('HASH_COLUMN', ROWS), ('HASH_STRING', ROWS), ('HASH_GROUP', 90000),
                                   ('HASH_FAR', looks * far), ('ORDERED_ROW', 0), ('PG_SPILL', 0)):
                self.assertAlmostEqual(counts[name], expected, delta=1, msg=name)

    def test_terms(self):
        self.assertIn('take %.2f times as long here' % PACE, self.log)
        for name, value in TRUE.items():
            self.assertAlmostEqual(self.number(self.table, r'COST_TERM\(%s,' % name), value, delta=value / 50, msg=name)

    def test_terms_kept(self):
        _, table = self.printed('INPUT')
        for name, default in zip(self.counter.names, self.counter.defaults):
            expected = TRUE['INPUT'] if name == 'INPUT' else default
            self.assertAlmostEqual(self.number(table, r'COST_TERM\(%s,' % name), expected, delta=expected / 1000, msg=name)

    def test_shares(self):
        for name, share in (('GROUPED_ROW_SHARE', 0.7), ('BESIDE_SHARE', 0.8)):
            self.assertAlmostEqual(self.number(self.table, '#define ' + name), share, delta=0.01, msg=name)

    def test_ratios(self):
        self.assertIn('24 groupings: off by 0 % in the median', self.log)
        self.assertIn('3 plans that form groups in part: off by 20 % in the median, 50 % at the 90th', self.log)


if __name__ == '__main__':
    Fitting.program = sys.argv.pop(1)
    unittest.main()
