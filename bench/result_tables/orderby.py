"""Tables of bench/queries/orderby and bench/queries/gpu_orderby."""
import re
import statistics

from result_tables.common import best_method, measured_on, paragraph, read_rows, select, table, thousands, values_of


# Names of before there was a device to choose.
FORMER_NAMES = {"gpusort": "cpu0", "gpusort1": "cpu1"}


def times_of(rows):
    """Medians by method."""
    return {FORMER_NAMES.get(row["method"], row["method"]): row["median_ms"] for row in rows}


def method_times(rows):
    """Medians by method, and the better of PostgreSQL's parallel plans as `parallel`."""
    ms = times_of(rows)
    parallel = [ms[method] for method in ("parallel1", "parallel2") if method in ms]
    if parallel:
        ms["parallel"] = min(parallel)
    return ms


def orderby_source(rows):
    return measured_on(rows, "%s, %d cores" % (rows[0]["cpu"], rows[0]["cores"]), [len(row["times_ms"].split()) for row in rows])


def cases_of(rows):
    """Case, distribution, rows, memory; in order of first appearance."""
    return list(dict.fromkeys((row["case"], row["distribution"], row["rows"], row["memory"]) for row in rows))


def of_case(rows, case):
    return [row for row in rows if (row["case"], row["distribution"], row["rows"], row["memory"]) == case]


def orderby(*files):
    """bench/queries/orderby: one table of several runs of it."""
    measured = [read_rows("", name) for name in files]
    yield from paragraph("Milliseconds. " + " ".join(orderby_source(rows) for rows in measured))
    yield ""
    lines = []
    for rows in measured:
        for case in cases_of(rows):
            ms = method_times(of_case(rows, case))
            best = min(ms["serial"], ms.get("parallel1", ms["serial"]))
            lines.append([case[0], case[1], thousands(case[2])] +
                         [thousands(ms[method]) if method in ms else "" for method in ("serial", "parallel", "cpu0", "cpu1")] +
                         ["%.2f" % (ms["serial"] / ms["cpu0"]), "%.2f" % (ms["parallel"] / ms["cpu0"]),
                          "%.2f" % (best / ms["cpu1"]) if "cpu1" in ms else ""])
    yield from table(["key", "values", "rows", "serial", "parallel", "gpusort", "gpusort, 1 worker", "serial / gpusort",
                      "parallel / gpusort", "best with at most 1 worker / gpusort, 1 worker"], lines, left=2)


def read_versions(files):
    """The rows of each file, and the version of PostgreSQL that each is of."""
    measured = [read_rows("", name) for name in files]
    return measured, [str(rows[0]["postgresql"]).split()[0] for rows in measured]


def orderby_versions(*files):
    """bench/queries/orderby with two versions of PostgreSQL, beside each other."""
    measured, versions = read_versions(files)
    yield from paragraph("Milliseconds. " + " ".join(orderby_source(rows) for rows in measured))
    yield ""
    lines = []
    for case in cases_of(measured[0]):
        times = [method_times(of_case(rows, case)) for rows in measured]
        if not all("cpu0" in ms for ms in times):
            continue
        lines.append([case[0], case[1], thousands(case[2])] + [thousands(ms[method]) for method in ("serial", "cpu0") for ms in times] +
                     ["%.2f" % (ms[method] / ms["cpu0"]) for method in ("serial", "parallel") for ms in times])
    yield from table(["key", "values", "rows"] + ["%s, %s" % (what, version) for what in ("serial", "gpusort", "serial / gpusort", "parallel / gpusort")
                                                  for version in versions], lines, left=2)


def time_and_workers(ms, method):
    return "%s (%s)" % (thousands(ms[method]), re.sub(r"\D", "", method) or "0") if method else ""


def queries(*files):
    """bench/queries/orderby: PostgreSQL's best, and gpusort's by device, with any number of workers; of several runs of it."""
    measured = [read_rows("", name) for name in files]
    kinds = [kind for kind in ("cpu", "cuda", "auto") if any(best_method(times_of(rows), kind) for rows in measured)]
    yield from paragraph("Milliseconds, and in brackets the workers. " + " ".join(orderby_source(rows) for rows in measured))
    yield ""
    lines = []
    for rows in measured:
        for case in cases_of(rows):
            ms = times_of(of_case(rows, case))
            rival = best_method(ms, "serial", "parallel")
            ours = [best_method(ms, kind) for kind in kinds]
            lines.append([case[0], case[1], thousands(case[2]), time_and_workers(ms, "serial" if "serial" in ms else None),
                          time_and_workers(ms, best_method(ms, "parallel"))] + [time_and_workers(ms, method) for method in ours] +
                         ["%.2f" % (ms[rival] / ms[method]) if rival and method else "" for method in ours])
    yield from table(["query", "values", "rows", "PostgreSQL, serial", "parallel"] + kinds + ["PostgreSQL's best / " + kind for kind in kinds], lines, left=2)


def queries_by_version(*files):
    """bench/queries/orderby of several versions of PostgreSQL, beside each other: its best plan, and mode auto."""
    measured, versions = read_versions(files)
    yield from paragraph("Milliseconds. " + " ".join(orderby_source(rows) for rows in measured))
    yield ""
    lines = []
    for case in cases_of(measured[0]):
        line = [case[0], case[1], thousands(case[2])]
        for rows in measured:
            ms = times_of(of_case(rows, case))
            rival, ours = best_method(ms, "serial", "parallel"), best_method(ms, "auto")
            line += [thousands(ms[rival]), thousands(ms[ours]), "%.2f" % (ms[rival] / ms[ours])] if rival and ours else ["", "", ""]
        lines.append(line)
    yield from table(["query", "values", "rows"] + ["%s, %s" % (what, version) for version in versions
                                                    for what in ("PostgreSQL's best", "auto", "ratio")], lines, left=2)


# ---- ORDER BY with a card ----


def case_medians(rows):
    """Median milliseconds and number of runs, by case and method."""
    grouped = {}
    for row in rows:
        if row["sort"] == 1:
            grouped.setdefault((row["case"], row["method"]), []).append(row["ms"])
    return {key: (statistics.median(times), len(times)) for key, times in grouped.items()}


def gpu_source(rows, medians):
    return measured_on(rows, "%s, %d cores" % (rows[0]["card"], rows[0]["cores"]), [runs for _, runs in medians.values()])


def sessions(folder):
    """Several sessions that sort at once: the throughput of all against that of one."""
    rows = select(read_rows(folder, "runs.csv"), suite="sessions")
    medians = case_medians(rows)
    counts = {row["case"]: row["sessions"] for row in rows}
    one = next(case for case, count in counts.items() if count == 1)
    yield from paragraph("%s rows a session. %s" % (thousands(rows[0]["rows"]), gpu_source(rows, medians)))
    yield ""
    lines = []
    for method in values_of(rows, "method"):
        line = [str(method)]
        for case, count in counts.items():
            ms = medians.get((case, method), (None, 0))[0]
            line.append(thousands(ms) if ms else "")
            if count > 1:
                line.append("%.1f" % (count * medians[one, method][0] / ms) if ms else "")
        workers = re.sub(r"\D", "", str(method).split("-")[0])
        line.append("%d" % (max(counts.values()) * (int(workers or 0) + 1)))
        lines.append(line)
    heads = ["method"]
    for case, count in counts.items():
        heads.append("%d session%s, ms" % (count, "s" if count > 1 else ""))
        if count > 1:
            heads.append("throughput / that of one")
    yield from table(heads + ["processes, %d sessions" % max(counts.values())], lines)


def gpu_orderby(suite, folder):
    """A suite of bench/queries/gpu_orderby: milliseconds by case and method, with the number of runs."""
    rows = select(read_rows(folder, "runs.csv"), suite=suite)
    medians = case_medians(rows)
    methods = values_of(rows, "method")
    yield from paragraph("Milliseconds, and in brackets the runs. " + gpu_source(rows, medians))
    yield ""
    lines = []
    for case in values_of(rows, "case"):
        count = select(rows, case=case)[0]["rows"]
        times = {method: medians[case, method][0] for method in methods if (case, method) in medians}
        # Not of the methods with a memory limit, which are of other kinds.
        rival, ours = best_method(times, "serial", "parallel"), best_method(times, "cuda")
        lines.append([str(case), thousands(count)] +
                     ["%s (%d)" % (thousands(medians[case, method][0]), medians[case, method][1]) if (case, method) in medians else "" for method in methods] +
                     ["%.1f" % (times[rival] / times[ours]) if rival and ours else ""])
    heads = ["case", "rows"] + [str(method) for method in methods] + ["best of PostgreSQL / best of cuda"]
    # No such column where PostgreSQL's sorts were not timed.
    keep = len(heads) if any(line[-1] for line in lines) else len(heads) - 1
    yield from table(heads[:keep], [line[:keep] for line in lines])
