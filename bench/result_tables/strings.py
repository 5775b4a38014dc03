"""Tables of gpubench's results: strings (Deshpande, Narayanan, tables II to VIII)."""
import math
import statistics

from result_tables.common import digits, only, paragraph, read_rows, repetitions, select, table, thousands, values_of
from result_tables.gpubench import source

# Sets that the library knows a way around: bench/results/gpu-h100-2026-11-25-lowentropy/README.md.
SPECIAL_SETS = ("artificial-2", "artificial-5")


def string_table(folder):
    """The rows of the ten sets, by set and sorter."""
    rows = select(read_rows(folder, "strings.csv"), figure="table")
    return rows, {(row["distribution"], row["algorithm"]): row for row in rows}


def made_from(row):
    words = str(row["source"]).split(": ")[-1]
    return words.replace(" with prefixes", "")


def strings(*folders):
    """Tables II to IV, and Thrust; of a second folder the sets that are made of real lines."""
    lines, medians, sources = [], [], []
    generated = {}
    for folder in folders:
        rows, cell = string_table(folder)
        sources.append(source(rows))
        speed = {}
        for name in values_of(rows, "distribution"):
            row = cell[name, "segments"]
            speed[name] = row["speed_up_over_thrust"]
            if folder != folders[0] and row["source"] == "generated":
                continue
            lines.append([name + (" \\*" if name in SPECIAL_SETS else ""), thousands(row["n"]), made_from(row), "%.2f" % row["median_ms"],
                          "%d" % row["rounds"]] +
                         ["%.2f" % cell[name, sorter]["median_ms"] for sorter in
                          ("segments-published", "segments-fixed-ids", "segments-fixed-ids-keeping", "thrust-merge")] +
                         ["%.1f" % row["speed_up_over_thrust"], "%.0f" % row["times_paper"]])
        generated = generated or dict(speed)
        medians.append("%.1f over the ten sets%s, %.1f over the eight without a mark" % (
            statistics.median(speed.values()), "" if folder == folders[0] else " with those of real lines",
            statistics.median(value for name, value in speed.items() if name not in SPECIAL_SETS)))
    yield from paragraph("Milliseconds. %s Median speed-up over Thrust: %s." % (" ".join(dict.fromkeys(sources)), "; ".join(medians)))
    yield ""
    yield from table(["set", "strings", "made from", "ms", "rounds", "as published", "fixed ids", "fixed ids, keeping", "Thrust",
                      "speed-up over Thrust", "over the paper"], lines)


def stage_sum(row):
    return row["sort_ms"] + row["segments_ms"] + row["load_ms"]


def sort_rate(rates, n):
    """Million keys a second of the sort that a round is made of, at the power of two next to n."""
    rows = [row for row in rates if row["key_type"] == "u64+u32" and row["distribution"] == "uniform" and row["algorithm"] == "sample"]
    return min(rows, key=lambda row: abs(math.log2(row["n"]) - math.log2(n)))["mkeys_per_s"]


def strings_expected(folder, rates_folder):
    """Tables V and VI: time expected from the rounds alone and the rate of the sort, and the share of primitives."""
    rows, cell = string_table(folder)
    rates = read_rows(rates_folder, "rates.csv")
    yield from paragraph("%s The stages are of one more run." % source(rows))
    yield ""
    lines = []
    for name in values_of(rows, "distribution"):
        row, ours = cell[name, "segments-published"], cell[name, "segments"]
        rate = sort_rate(rates, row["n"])
        achieved = stage_sum(row)
        lines.append([name, "%.2f" % achieved, "%d" % row["rounds"], thousands(rate), "%.2f" % (2.5 * row["n"] / rate / 1000 * row["rounds"]),
                      "%.1f" % (achieved / row["sort_ms"])] +
                     ["%.0f %%" % (100 * (one["sort_ms"] + one["segments_ms"]) / stage_sum(one)) for one in (row, ours)])
    yield from table(["set", "achieved, ms", "rounds", "million keys a second", "expected, ms", "alpha", "sort and segments, as published",
                      "with what is added"], lines)


def strings_on_cards(*folders):
    """Table VII: the same sets on two cards."""
    measured = [select(read_rows(folder, "strings.csv"), algorithm="segments") for folder in folders]
    cards = [rows[0]["card"] for rows in measured]
    yield from paragraph("Milliseconds. " + " ".join(source([row for row in rows if row["figure"] in ("table", "twice")]) for rows in measured))
    yield ""
    lines = []
    for row in measured[1]:
        if row["figure"] not in ("table", "twice"):
            continue
        other = only(measured[0], distribution=row["distribution"], figure=row["figure"])
        lines.append([str(row["distribution"]) + (", twice" if row["figure"] == "twice" else ""), thousands(row["n"])] +
                     [digits(one and one["median_ms"], 3) for one in (other, row)] +
                     ["%.2f" % (other["median_ms"] / row["median_ms"]) if other else ""])
    yield from table(["set", "strings"] + [str(card) for card in cards] + ["ratio"], lines)


def strings_host(folder):
    """Table VIII: one processor of the host."""
    rows, cell = string_table(folder)
    host = read_rows(folder, "strings-host.csv")
    yield from paragraph("%s One processor of the host by std::sort: %s." % (
        source(select(rows, algorithm="segments")), repetitions([row["repeats"] for row in host])))
    yield ""
    yield from table(["set", "strings", "card, ms", "host, ms", "host / card"], [
        [str(row["distribution"]), thousands(row["n"]), "%.2f" % cell[row["distribution"], "segments"]["median_ms"], thousands(row["median_ms"]),
         thousands(row["median_ms"] / cell[row["distribution"], "segments"]["median_ms"])] for row in host])
