"""Tables of gpubench's results: fixed keys, stages, rows."""

from result_tables.common import digits, in_words, only, paragraph, power, read_rows, repetitions, select, table, thousands, values_of


def source(rows):
    """What rows of gpubench were measured on, and how often."""
    return "%s, CUDA %s, %s, commit %s; %s." % (in_words(values_of(rows, "card")), rows[0]["cuda"], rows[0]["date"],
                                                in_words(values_of(rows, "commit")), repetitions([row["repeats"] for row in rows]))


def key_type(row):
    return "%d bytes" % row["key_bytes"] + (" + %d" % row["value_bytes"] if row["value_bytes"] else "")


def copy_rate(folder):
    """Bytes read and written a second by the device's own copy, in GB/s."""
    return only(read_rows(folder, "headline.csv"), part="copy")["gb_per_s"]


def fixed_keys(folder):
    """What gpubench's headline says: each sort of uniform keys, its rivals, its floor."""
    rows = read_rows(folder, "headline.csv")
    ratios = select(rows, part="ratios")
    algorithms = values_of(ratios, "algorithm")
    yield from paragraph("%s keys. %s A device copy reads and writes %.0f GB/s (%d runs)." % (
        power(ratios[0]["n"]), source(ratios), copy_rate(folder), only(rows, part="copy")["repeats"]))
    yield ""
    lines = []
    for width in values_of(ratios, "key_bytes"):
        ms = {row["algorithm"]: row["median_ms"] for row in select(ratios, key_bytes=width)}
        rival = min(value for name, value in ms.items() if name.startswith("cub"))
        floor = only(ratios, key_bytes=width, algorithm="sample")["times_floor"]
        lines.append(["%d bytes" % width] + ["%.2f" % ms[name] if name in ms else "" for name in algorithms] +
                     ["%.2f" % (rival / ms["sample"]), "%.2f" % (rival / ms["sample-numbering"]), "%.1f" % floor])
    yield from table(["keys"] + algorithms + ["faster of CUB / sample", "/ sample-numbering", "sample / floor"], lines)


def spread(folder):
    """Every distribution against uniform keys."""
    rows = select(read_rows(folder, "headline.csv"), part="spread")
    series = [(algorithm, width) for algorithm in values_of(rows, "algorithm")
              for width in values_of(select(rows, algorithm=algorithm), "key_bytes")]
    ms = {(row["algorithm"], row["key_bytes"], row["distribution"]): row["median_ms"] for row in rows}
    yield from paragraph("%s keys with a 4-byte value, milliseconds. %s" % (power(rows[0]["n"]), source(rows)))
    yield ""
    lines = [[name] + ["%.2f" % ms[algorithm, width, name] if (algorithm, width, name) in ms else "" for algorithm, width in series]
             for name in values_of(rows, "distribution")]
    for what, chosen in (("slowest / uniform", lambda times, uniform: max(times) / uniform),
                         ("slowest / fastest", lambda times, uniform: max(times) / min(times))):
        lines.append([what])
        for algorithm, width in series:
            of_series = [row["median_ms"] for row in select(rows, algorithm=algorithm, key_bytes=width)]
            lines[-1].append("%.2f" % chosen(of_series, ms[algorithm, width, "uniform"]))
    yield from table(["distribution"] + ["%s, %d bytes" % one for one in series], lines)


def stages(folder):
    """Time by stage, and its share of the copy's rate."""
    rows = read_rows(folder, "stages.csv")
    yield from paragraph("%s uniform keys with a 4-byte value. %s A device copy reads and writes %.0f GB/s." % (
        power(rows[0]["n"]), source(rows), rows[0]["copy_gb_per_s"]))
    yield ""
    yield from table(["sort, keys", "stage", "ms", "bytes a row", "GB/s", "of the copy's rate"], [
        ["%s, %d bytes" % (row["algorithm"], row["key_bytes"]), str(row["stage"]), "%.2f" % row["median_ms"],
         "%d" % row["bytes_per_row"] if row["bytes_per_row"] else "", thousands(row["gb_per_s"]) if row["bytes_per_row"] else "",
         "%.0f %%" % (100 * row["share_of_copy"]) if row["bytes_per_row"] else ""] for row in rows], left=2)


def gather(folder):
    """Plan, gather, and both: the rate of what a caller gets."""
    rows = read_rows(folder, "headline-gather.csv")
    copy = copy_rate(folder)
    yield from paragraph("%s A device copy reads and writes %.0f GB/s." % (source(rows), copy))
    yield ""
    lines = []
    for name in values_of(rows, "rows"):
        plan, moved = (only(rows, rows=name, algorithm=what) for what in ("plan", "gather"))
        gigabytes = moved["row_bytes"] * moved["n"] / 1e9
        ms = plan["median_ms"] + moved["median_ms"]
        lines.append(["24 to 256 bytes, mixed" if name == "mixed" else "%d bytes" % name, thousands(moved["n"]),
                      "%.2f" % plan["median_ms"], "%.2f" % moved["median_ms"], "%.2f" % ms, thousands(gigabytes / ms * 1000),
                      thousands(moved["rows_gb_per_s"])] +
                     ["%.0f %%" % (100 * row["traffic_gb_per_s"] / copy) for row in (plan, moved)])
    yield from table(["row", "rows", "plan, ms", "gather, ms", "both, ms", "GB/s of rows", "without the plan",
                      "plan: of the copy's rate", "gather: of the copy's rate"], lines)


def bucket(folder):
    """The bucket sort over distributions, keys alone and pairs."""
    rows = select(read_rows(folder, "bucket.csv"), figure="distributions")
    types = list(dict.fromkeys((row["key_bytes"], row["value_bytes"]) for row in rows))
    ms = {(row["key_bytes"], row["value_bytes"], row["distribution"]): row["median_ms"] for row in rows}
    yield from paragraph("%s keys. %s" % (power(rows[0]["n"]), source(rows)))
    yield ""
    lines = [[name] + ["%.2f" % ms[one + (name,)] for one in types] for name in values_of(rows, "distribution")]
    of_types = [[row["median_ms"] for row in select(rows, key_bytes=keys, value_bytes=values)] for keys, values in types]
    lines.append(["slowest / fastest"] + ["%.3f" % (max(times) / min(times)) for times in of_types])
    yield from table(["distribution"] + ["%d-byte keys%s, ms" % (keys, " and %d-byte values" % values if values else "") for keys, values in types], lines)


def variance(folder):
    """Mean and deviation of 100 sorts of other keys."""
    rows = read_rows(folder, "variance.csv")
    yield from paragraph(source(rows).replace("medians of", "means of"))
    yield ""
    yield from table(["sort", "keys", "distribution", "n", "mean, ms", "standard deviation", "least", "most"], [
        [str(row["algorithm"]), key_type(row), str(row["distribution"]), power(row["n"])] +
        [digits(row[column], places) for column, places in (("mean_ms", 4), ("deviation_ms", 2), ("min_ms", 4), ("max_ms", 4))]
        for row in rows if row["n"] in (2**20, 2**24, 2**27)], left=3)


def key_widths(folder):
    """Figure 3 of Deshpande, Narayanan: what a byte of a key takes to sort, by the key's width."""
    rows = [row for row in read_rows(folder, "rates.csv") + read_rows(folder, "wide.csv")
            if row["distribution"] == "uniform" and row["value_bytes"] == 4 and row["algorithm"] in ("sample", "cub-radix", "cub-merge")]
    sizes = [2**20, 2**22, 2**24, 2**26]
    yield from paragraph("Picoseconds a row and byte of its key, uniform keys with a 4-byte value. %s" % source(
        [row for row in rows if row["n"] in sizes]))
    yield ""
    lines = []
    for width in sorted(values_of(rows, "key_bytes")):
        for algorithm in values_of(rows, "algorithm"):
            times = [only(rows, key_bytes=width, algorithm=algorithm, n=float(n)) for n in sizes]
            lines.append(["%d bytes" % width, algorithm] + [digits(row and row["median_ms"] * 1e9 / row["n"] / width, 3) for row in times])
    yield from table(["key", "sort"] + ["n = " + power(n) for n in sizes], lines, left=2)


def rates_on_cards(*folders):
    """Figure 6 of Leischner, Osipov, Sanders: the same sorts on two cards."""
    measured = [[row for row in read_rows(folder, "rates.csv") if row["key_type"] == "u32+u32" and row["distribution"] == "uniform"]
                for folder in folders]
    sizes = [2.0**log_n for log_n in (19, 21, 23, 25, 27)]
    copies = [copy_rate(folder) for folder in folders]
    yield from paragraph("Million keys a second, uniform 4-byte keys with a 4-byte value. %s Their copies read and write %s GB/s: %.2f times as much." % (
        " ".join(source(rows) for rows in measured), in_words("%.0f" % rate for rate in copies), copies[1] / copies[0]))
    yield ""
    lines = []
    for algorithm in values_of(measured[0], "algorithm"):
        for card, rows in enumerate(measured):
            lines.append([str(algorithm) if card == 0 else "", str(rows[0]["card"])] +
                         [thousands(only(rows, algorithm=algorithm, n=n)["mkeys_per_s"]) for n in sizes])
        lines.append(["", "ratio"] + ["%.2f" % (only(measured[1], algorithm=algorithm, n=n)["mkeys_per_s"] /
                                                only(measured[0], algorithm=algorithm, n=n)["mkeys_per_s"]) for n in sizes])
    yield from table(["sort", "card"] + ["n = " + power(n) for n in sizes], lines, left=2)
