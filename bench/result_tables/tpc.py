"""The tables of bench/whole_queries/tpc: what gpusort does to whole queries, which ones, and which sorts it takes."""
import math
import statistics

from result_tables.common import digits, in_words, paragraph, read_rows, span, table, thousands, values_of

# How queries are told apart, and what they are taken together by.
GROUP = ("benchmark", "scale", "setting", "jit")
MODES = ("auto", "force", "noise")
# Times this close are one.
NOISE = 1.05


def source(rows):
    """On what a run was measured, when, at which commit, and how often each of its times."""
    first = rows[0]
    counts = [len(str(row["times_ms"]).split()) for row in rows if row["mode"] in MODES and row["times_ms"]]
    return "PostgreSQL %s, %s, %d cores, card: %s, %s, commit %s%s." % (
        str(first["postgresql"]).split()[0], first["cpu"], first["cores"], first["card"], first["date"][:10], in_words(values_of(rows, "commit")),
        "; medians of %s runs" % span(counts) if counts else "")


def groups_of(rows):
    """Rows by benchmark, scale, setting and JIT, and in these by query and mode: the last of each counts."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in GROUP), {}).setdefault(row["query"], {})[row["mode"]] = row
    return groups


def is_timed(row):
    return row is not None and row["median_ms"] != ""


def changed(group, mode):
    """Queries that off and a mode ran with different plans: name, milliseconds of off, of the mode."""
    return [(query, lines["off"], lines[mode]) for query, lines in group.items() if is_timed(lines.get("off")) and is_timed(lines.get(mode))]


def geometric_mean(values):
    values = list(values)
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def ratio(off, other, column="median_ms"):
    """How many times as fast as off."""
    return off[column] / other[column]


def sums(group, mode, column):
    """Of off and of a mode, over the queries that off ran and the mode did not give up; the same plan takes the same time."""
    off = total = 0.0
    for lines in group.values():
        line = lines.get(mode)
        if line is None or lines["off"][column] == "" or (line[column] == "" and line["plan"] != "same"):
            continue
        off += lines["off"][column]
        total += line[column] if line[column] != "" else lines["off"][column]
    return off, total


def seconds(ms):
    return digits(ms / 1000)


def named(ranked, how_many=3):
    return ", ".join("%s %.2f" % (query, value) for query, value in ranked[:how_many])


def headline(group, mode):
    """A row: what a mode does to a benchmark."""
    ratios = sorted(((query, ratio(off, line)) for query, off, line in changed(group, mode)), key=lambda one: one[1])
    least = [ratio(off, line, "least_ms") for _, off, line in changed(group, mode)]
    off, total = sums(group, mode, "median_ms")
    off_cpu, cpu = sums(group, mode, "cpu_ms")
    mean = geometric_mean(value for _, value in ratios)
    slower = [query for query, value in ratios if 1 / value > NOISE]
    return ["%d of %d" % (sum(lines[mode]["plan"] == "other" for lines in group.values() if mode in lines) if mode != "noise" else len(ratios), len(group)),
            "%.2f" % mean if mean else "", "%.2f" % geometric_mean(least) if least else "", seconds(off), seconds(total), seconds(off_cpu), seconds(cpu),
            named([one for one in reversed(ratios) if one[1] > 1]), named([one for one in ratios if one[1] < 1]), "%d" % len(slower)]


def label(key):
    benchmark, scale, setting, jit = key
    return [str(benchmark), scale if isinstance(scale, str) else "%g" % scale, str(setting), str(jit)]


def outcomes(groups):
    """What did not go as it should, and what took too long, a sentence each."""
    for words, wanted in (("took longer than the limit in off", lambda mode, line: mode == "off" and line["outcome"] == "limit"),
                          ("took longer than the limit in another mode, not in off", lambda mode, line: mode != "off" and line["outcome"] == "limit"),
                          ("failed", lambda mode, line: line["outcome"] == "failed"),
                          ("gave DIFFERENT rows", lambda mode, line: line["rows"] == "DIFFERENT"),
                          ("gave rows that could not be compared in time", lambda mode, line: line["rows"] == "undecided"),
                          ("differ in ties that a LIMIT cuts", lambda mode, line: line["rows"] == "ties at the limit"),
                          ("differ in the order of ties", lambda mode, line: line["rows"] == "ties")):
        found = {}
        for key, group in groups.items():
            for query, lines in group.items():
                for mode, line in lines.items():
                    if wanted(mode, line):
                        found.setdefault(" ".join(label(key)[:2] + [query]), []).append(mode)
        if found:
            yield "%s: %s." % (words[0].upper() + words[1:], ", ".join("%s (%s)" % (query, ", ".join(dict.fromkeys(modes))) for query, modes in found.items()))


def planning(group):
    """A row: sums of planning, and the query that a mode adds the most to."""
    totals = {mode: sum(lines[mode]["planning_ms"] for lines in group.values() if mode in lines and lines[mode]["planning_ms"] != "") for mode in ("off", "auto", "force")}
    added = sorted(((lines["auto"]["planning_ms"] - lines["off"]["planning_ms"], query) for query, lines in group.items()
                    if "auto" in lines and lines["auto"]["planning_ms"] != ""), reverse=True)
    ratios = [lines["auto"]["planning_ms"] / lines["off"]["planning_ms"] for lines in group.values() if "auto" in lines and lines["auto"]["planning_ms"] not in ("", 0)
              and lines["off"]["planning_ms"] not in ("", 0)]
    mean = geometric_mean(ratios)
    return ["%.1f" % totals[mode] if totals[mode] else "" for mode in totals] + ["%.2f" % mean if mean else "", ", ".join("%s %+.2f" % (query, ms) for ms, query in added[:2])]


def tpc(*folders):
    """bench/whole_queries/tpc: what each mode does to each benchmark, and planning."""
    rows = [row for folder in folders for row in read_rows(folder, "runs.csv")]
    groups = groups_of(rows)
    yield from paragraph("Seconds. Of the queries whose plan is another one than off's: the geometric mean of off's median / the mode's, and of their least times; "
                         "the best and the worst; those that take more than %.2f times off's. Sums are of all queries that off ends within the limit; the same plan takes the "
                         "same time there. Mode noise is off once more, where one of the other modes has another plan. %s" % (NOISE, source(rows)))
    yield ""
    lines = [label(key) + [mode] + headline(group, mode) for key, group in groups.items() for mode in MODES
             if any(mode in lines for lines in group.values()) and any(is_timed(lines.get("off")) for lines in group.values())]
    yield from table(["benchmark", "scale", "setting", "JIT", "mode", "other plans", "off / mode", "of least times", "all, off", "all, mode", "processors, off", "processors, mode",
                      "best", "worst", "slower"], lines, left=5)
    yield ""
    yield from paragraph("Planning, milliseconds: sums of the medians, the geometric mean of auto / off, and the queries that auto adds the most to.")
    yield ""
    yield from table(["benchmark", "scale", "setting", "JIT", "off", "auto", "force", "auto / off", "most"], [label(key) + planning(group) for key, group in groups.items()], left=4)
    for sentence in outcomes(groups):
        yield ""
        yield from paragraph(sentence)


def mode_cells(lines, mode):
    """Time, ratio and rows of a mode; nothing where the plan is off's."""
    line = lines.get(mode)
    if line is None or line["plan"] == "same" and mode != "noise":
        return ["", ""]
    if not is_timed(line):
        return [line["outcome"] if line["outcome"] != "ok" else "", ""]
    return [thousands(line["median_ms"]) if line["median_ms"] >= 100 else "%.1f" % line["median_ms"], "%.2f" % ratio(lines["off"], line) if is_timed(lines["off"]) else ""]


def tpc_queries(*folders):
    """bench/whole_queries/tpc: each query that a mode has another plan for."""
    rows = [row for folder in folders for row in read_rows(folder, "runs.csv")]
    yield from paragraph("Milliseconds, and how many times as fast as off. Queries that auto or force has another plan for. " + source(rows))
    yield ""
    modes = [mode for mode in MODES if mode in values_of(rows, "mode")]
    lines = []
    for key, group in groups_of(rows).items():
        for query, of_query in group.items():
            if all(line["plan"] == "same" for line in of_query.values()):
                continue
            off = of_query["off"]
            lines.append(label(key) + [str(query), ("%.1f" % off["median_ms"] if off["median_ms"] < 100 else thousands(off["median_ms"])) if is_timed(off) else off["outcome"]] +
                         [cell for mode in modes for cell in mode_cells(of_query, mode)] +
                         [", ".join(dict.fromkeys(line["rows"] for line in of_query.values() if line["rows"]))])
    yield from table(["benchmark", "scale", "setting", "JIT", "query", "off"] + [head for mode in modes for head in (mode, "off / " + mode)] + ["rows"], lines, left=5)


def tpc_sorts(*folders):
    """bench/whole_queries/tpc: the sorts of the plans of mode auto, taken or why not."""
    rows = [row for folder in folders for row in read_rows(folder, "sorts.csv")]
    counts = {}
    for row in rows:
        # Numbers in a reason differ from sort to sort.
        reason = "taken" if row["taken"] == "t" else " ".join("..." if word.strip(",.;:()").replace(".", "").isdigit() else word for word in str(row["reason"]).split())
        of_reason = counts.setdefault(reason, {})
        key = (row["benchmark"], row["scale"], row["setting"])
        # JIT changes nothing of a plan, so one of its settings is enough.
        if row["jit"] == rows[0]["jit"]:
            of_reason[key] = of_reason.get(key, 0) + 1
    keys = list(dict.fromkeys(key for of_reason in counts.values() for key in of_reason))
    yield from paragraph("Sorts in the plans of mode auto, by gpusort_check. " + source_of_sorts(rows))
    yield ""
    ranked = sorted(counts, key=lambda reason: (reason != "taken", -sum(counts[reason].values())))
    yield from table(["sort"] + ["%s %s, %s" % tuple(label((*key, ""))[:3]) for key in keys], [[reason] + ["%d" % counts[reason].get(key, 0) for key in keys] for reason in ranked])


def source_of_sorts(rows):
    first = rows[0]
    return "PostgreSQL %s, %d cores, card: %s, %s, commit %s." % (
        str(first["postgresql"]).split()[0], first["cores"], first["card"], first["date"][:10], in_words(values_of(rows, "commit")))
