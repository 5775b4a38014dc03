"""Where mode auto of bench/whole_queries/tpc is slower than off, or misses what force gains; and what planning takes."""
from result_tables.common import paragraph, read_rows, table
from result_tables.tpc import changed, geometric_mean, groups_of, is_timed, label, ratio, source

# Below this in wall and processor time both auto is slower.  A gain of force of so much in both is one that auto must not miss; auto has a gain if
# it keeps so much of it.
SLOWER, GAIN, KEPT = 0.95, 1.3, 0.75
COLUMNS = ("least_ms", "cpu_least_ms")
# Milliseconds of these that are nothing.
NOTHING = (0.5, 1.0)


def ratios(off, line):
    """Off / a mode, of the least wall and processor times; None where the mode has off's plan, or a time is missing."""
    if line is None or line["plan"] == "same" or not (is_timed(off) and is_timed(line)):
        return None
    if any(of_mode[column] in ("", 0) for of_mode in (off, line) for column in COLUMNS):
        return None
    return [ratio(off, line, column) for column in COLUMNS]


def slower(lines):
    """Is auto slower than off, by wall and by processor time?"""
    found = ratios(lines["off"], lines.get("auto"))
    if found is None:
        return [False, False]
    return [value < SLOWER and lines["auto"][column] - lines["off"][column] > nothing for value, column, nothing in zip(found, COLUMNS, NOTHING)]


def gains(lines):
    """Has force a gain, by a plan that auto has not, by wall and by processor time?"""
    found = ratios(lines["off"], lines.get("force"))
    if found is None or lines["force"]["plan_of"] == "auto":
        return [False, False]
    return [value >= GAIN and lines["off"][column] - lines["force"][column] > nothing for value, column, nothing in zip(found, COLUMNS, NOTHING)]


def is_missed(lines):
    """Is there a gain of force in both times, of which auto keeps too little?"""
    if not all(gains(lines)):
        return False
    auto = ratios(lines["off"], lines.get("auto")) or [1.0, 1.0]
    return any(of_auto < 1 + KEPT * (of_force - 1) for of_auto, of_force in zip(auto, ratios(lines["off"], lines["force"])))


VERDICTS = (("SLOWER", lambda lines: all(slower(lines))), ("MISSED", is_missed), ("slower in one", lambda lines: any(slower(lines))))


def verdict(lines):
    return next((name for name, holds in VERDICTS if "auto" in lines and holds(lines)), "")


def headline(group):
    """How many queries auto changes, what that gains, and how many have which verdict."""
    found = [ratios(off, line) for _, off, line in changed(group, "auto") if line["plan"] == "other"]
    means = [geometric_mean(one[at] for one in found if one) for at in range(2)]
    verdicts = [verdict(lines) for lines in group.values()]
    return ["%d of %d" % (sum(lines["auto"]["plan"] == "other" for lines in group.values() if "auto" in lines), len(group))] + \
        ["%.2f" % mean if mean else "" for mean in means] + ["%d" % verdicts.count(name) for name, _ in VERDICTS]


def planning(group):
    """Sums of the least planning times, and what auto adds to a statement."""
    both = [(lines["off"]["planning_least_ms"], lines["auto"]["planning_least_ms"], query) for query, lines in group.items()
            if "auto" in lines and "" not in (lines["off"]["planning_least_ms"], lines["auto"]["planning_least_ms"])]
    if not both:
        return None
    off, auto = (sum(one[at] for one in both) for at in range(2))
    added = sorted(((of_auto - of_off, query) for of_off, of_auto, query in both), reverse=True)
    return ["%d" % len(both), "%.2f" % off, "%.2f" % auto, "%.4f" % ((auto - off) / len(both)),
            "%.2f" % geometric_mean(of_auto / of_off for of_off, of_auto, _ in both if of_off > 0), ", ".join("%s %+.3f" % (query, ms) for ms, query in added[:3])]


def cells(lines, mode):
    """Wall and processor time of a mode, and off's over them."""
    line = lines.get(mode)
    found = ratios(lines["off"], line)
    if found is None:
        return ["", ""]
    return ["%.1f / %.0f" % tuple(line[column] for column in COLUMNS), "%.2f, %.2f" % tuple(found)]


def tpc_verdicts(*folders):
    """bench/whole_queries/tpc: where auto is slower than off, or misses a gain."""
    rows = [row for folder in folders for row in read_rows(folder, "runs.csv")]
    groups = groups_of(rows)
    yield from paragraph("Of the queries that auto has another plan for: the geometric means of off's least times / auto's, wall and processors. SLOWER: auto is below %.2f in both. "
                         "MISSED: force is %.1f times as fast or more in both, with another plan than auto, and auto has less than three quarters of what force gains. %s"
                         % (SLOWER, GAIN, source(rows)))
    yield ""
    yield from table(["benchmark", "scale", "setting", "JIT", "other plans", "wall", "processors"] + [name for name, _ in VERDICTS],
                     [label(key) + headline(group) for key, group in groups.items()], left=4)
    yield ""
    lines = [label(key) + [verdict(of_query), str(query)] + ["%.1f / %.0f" % tuple(of_query["off"][column] for column in COLUMNS)] + cells(of_query, "auto") + cells(of_query, "force")
             for key, group in groups.items() for query, of_query in group.items() if verdict(of_query)]
    if lines:
        yield from paragraph("The queries with a verdict: milliseconds, wall / processors, and off's over them.")
        yield ""
        yield from table(["benchmark", "scale", "setting", "JIT", "verdict", "query", "off", "auto", "off / auto", "force", "off / force"], lines, left=6)
        yield ""
    yield from paragraph("Planning, milliseconds: sums of the least times of all queries, what auto adds to one, the geometric mean of auto / off, and the queries that it adds the most to.")
    yield ""
    yield from table(["benchmark", "scale", "setting", "JIT", "queries", "off", "auto", "added to one", "auto / off", "most"],
                     [label(key) + found for key, group in groups.items() for found in [planning(group)] if found], left=4)
