# What the runs of one case of bench/queries/modes_grid or bench/queries/sort_grid say.  stdin: method|ms|temporary bytes|sorts by cpu|sorts by cuda|plan, a line a run.
# Methods with the same plan, done by the same device, do the same: the fewest ms of one are those of the other.
#
# Prints, with | between: ms of off, auto, force (fewest of all runs; force: its faster device, 0 if it was not run); device of auto and of force, - where
# PostgreSQL sorted; temporary bytes of off, auto, force; runs of each; the verdict.
#
#	SLOWER	auto takes more than 1.1 times as long as off, and 0.5 ms more
#	LEFT	force is faster than off, by a tenth and 0.5 ms at the least, without what TEMP says, and auto keeps less than three
#		quarters of that, by more than 0.5 ms and 3 percent of off
#	TEMP	auto has clearly more of temporary files than off: a fourth and 1 MB more
function has_more(method) { return temp[method] > 1.25 * temp["off"] + 1048576 }
BEGIN { FS = "|" }
{
	if (!($1 in ms)) {
		ms[$1] = $2
		temp[$1] = $3
	}
	if ($2 < ms[$1])
		ms[$1] = $2
	# Other sessions of the database can only add to it.
	if ($3 < temp[$1])
		temp[$1] = $3
	device[$1] = $5 > 0 ? "cuda" : $4 > 0 ? "cpu" : "-"
	work[$1] = $6 " " device[$1]
	runs += $1 == "off"
}
END {
	for (method in ms)
		if (!(work[method] in fewest) || ms[method] < fewest[work[method]])
			fewest[work[method]] = ms[method]
	for (method in ms)
		ms[method] = fewest[work[method]]
	force = "force_cpu"
	if ("force_cuda" in ms && (has_more(force) || ms["force_cuda"] < ms[force]))
		force = "force_cuda"
	off = ms["off"]
	noise = 0.03 * off > 0.5 ? 0.03 * off : 0.5
	gain = !(force in ms) || device[force] == "-" || has_more(force) ? 0 : off - ms[force]
	worth = 0.1 * off > 0.5 ? 0.1 * off : 0.5
	if (ms["auto"] > 1.1 * off && ms["auto"] > off + 0.5)
		verdict = "SLOWER"
	else if (gain > worth && ms["auto"] > off - 0.75 * gain + noise)
		verdict = "LEFT"
	if (has_more("auto"))
		verdict = verdict (verdict == "" ? "" : "+") "TEMP"
	printf "%.3f|%.3f|%.3f|%s|%s|%d|%d|%d|%d|%s\n", off, ms["auto"], ms[force], device["auto"], device[force],
		temp["off"], temp["auto"], temp[force], runs, verdict == "" ? "ok" : verdict
}
