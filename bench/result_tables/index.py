"""The table of bench/indexes/index."""
import re

from result_tables.common import best_method, measured_on, paragraph, read_rows, select, table, thousands, values_of

DEVICES = ("cpu", "cuda", "auto")


def medians_of(rows):
    """The median run of each method: the lower of two in the middle."""
    by_method = {}
    for method in values_of(rows, "method"):
        runs = sorted(select(rows, method=method), key=lambda row: row["ms"])
        by_method[method] = runs[(len(runs) - 1) // 2]
    return by_method


def times_of(medians):
    return {method: run["ms"] for method, run in medians.items()}


def ms(time):
    return thousands(time) if time >= 100 else "%.1f" % time


def time_and_workers(medians, method):
    return "%s (%s)" % (ms(medians[method]["ms"]), re.sub(r"\D", "", method) or "0") if method else ""


def device_cells(medians, device, rival):
    """What is said of a device: without workers, best, ratios, stages of the best, size."""
    best = best_method(times_of(medians), device)
    run = medians[best]
    stages = [run[stage] for stage in ("feed_ms", "sort_ms", "load_ms")]
    return [device, ms(medians[device + "0"]["ms"]) if device + "0" in medians else "", time_and_workers(medians, best),
            "%.1f" % (medians["serial"]["ms"] / run["ms"]) if "serial" in medians else "",
            "%.1f" % (medians[rival]["ms"] / run["ms"]) if rival else ""] + [
                thousands(stage) if stage != "" else "" for stage in stages] + [
                    "%+.2f %%" % (100 * (run["index_bytes"] / medians[rival]["index_bytes"] - 1)) if rival else ""]


def source(rows):
    counts = [len(select(rows, case=case, rows=count, method=method))
              for case, count, method in dict.fromkeys((row["case"], row["rows"], row["method"]) for row in rows)]
    first = rows[0]
    return measured_on(rows, "%s, %s, %d cores, maintenance_work_mem %s" % (first["cpu"], first["card"], first["cores"], first["memory"]), counts)


def index_builds(*files):
    """Builds of indexes by PostgreSQL and gpusort: a line a case and device, of one run of bench/indexes/index or several."""
    measured = [read_rows("", name) for name in files]
    yield from paragraph("Milliseconds, and in brackets the workers. " + " ".join(source(rows) for rows in measured))
    yield ""
    lines = []
    for rows in measured:
        for count, case in dict.fromkeys((row["rows"], row["case"]) for row in rows):
            medians = medians_of(select(rows, case=case, rows=count))
            rival = best_method(times_of(medians), "serial", "parallel")
            first = [str(case), thousands(count), ms(medians["serial"]["ms"]) if "serial" in medians else "", time_and_workers(medians, rival)]
            for device in DEVICES:
                if best_method(times_of(medians), device):
                    lines.append(first + device_cells(medians, device, rival))
                    first = [""] * len(first)
    yield from table(["index", "rows", "PostgreSQL, serial", "its best", "device", "gpusort, serial", "its best", "serial / gpusort",
                      "best / gpusort", "feed", "sort", "load", "size"], lines)
