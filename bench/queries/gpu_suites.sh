# shellcheck shell=bash
# Variables of the caller's, and for it:
# shellcheck disable=SC2154,SC2034
#
# The suites of bench/queries/gpu_orderby: what is sorted, how, and by which methods.  To be sourced; workers
# and most_workers are set.
#
# A visit to such a machine is short: PostgreSQL's slow plans run once or twice.
#
# A case is a line: suite|case|data|rows|ORDER BY|output|sessions|relative cost|methods with runs
#
# Data is a name of data_columns.  Output is one of
#
#	drained		SELECT ... OFFSET 1000000000: all rows are sorted and returned, none is sent
#	firstN		the same for ORDER BY ... LIMIT N
#	eachN		SELECT DISTINCT ON (the first column) ..., or with N > 1 the first N rows of each by row_number()
#	copy		COPY (SELECT ...) TO '/dev/null', by the server
#	ctas		CREATE UNLOGGED TABLE ... AS SELECT ...
#	again		drained, three times in each of many connections, one after the other
#	profile		drained, once, with what the processes' CPU time and waits were
#
# The relative cost is how many times as long as an int8 key PostgreSQL's sort takes about; for the estimate
# of --list alone.
#
# A method is KIND[WORKERS][-MEMORY]:RUNS, with gpusort.work_mem = MEMORY if there is one.  Kinds: scan (no
# ORDER BY), serial and parallel (PostgreSQL's own), cuda and cpu (gpusort with that device; 0 workers: the
# serial feed).

all_suites='headline limits first_n sizes types widths outputs workers sessions startup profile'

# The columns of a table, SQL out of a row's number i and a random int8 n.
data_columns() {
	local name=$1 type
	case $name in
		grouped) echo "n AS id, abs(n % 100000)::int AS d, i AS v, substr(to_hex(n), 1, 5 + (i % 3)::int) AS pad" ;;
		narrow) echo "n AS id, i AS v, substr(to_hex(n), 1, 5 + (i % 3)::int) AS pad" ;;
		# Header of 24 bytes, two columns of 8, and the length of the text.
		wide*) echo "n AS id, i AS v, repeat('x', ${name#wide} - 44) AS pad" ;;
		*)
			for type in "${types[@]}"; do
				[ "${type%%|*}" != "$name" ] || echo "$(cut -d '|' -f 2 <<<"$type"), i AS v, substr('padding', 1, 5 + (i % 3)::int) AS pad"
			done
			;;
	esac
}

suite_headline() {
	echo "headline|int8|narrow|50000000|id|drained|1|1|scan:3 serial:1 parallel$workers:2 parallel$most_workers:1 \
cuda0:3 cuda0-64MB:2 cuda$workers:3 cuda$most_workers:3 cuda$workers-64MB:3 cpu0:1 cpu$workers:2 cpu$most_workers:2"
	echo "headline|text C, int8|narrow|50000000|pad COLLATE \"C\", id|drained|1|3|serial:1 parallel$workers:1 \
cuda0:2 cuda$workers:3 cuda$most_workers:3 cpu$workers:1"
}

# The first rows of a large table: PostgreSQL keeps them in a heap, gpusort drops what can't be among them.
suite_limits() {
	local first methods="serial:1 parallel$workers:2 parallel$most_workers:2 \
cuda0:2 cuda$workers:2 cuda$most_workers:3 cpu0:2 cpu$workers:2 cpu$most_workers:3"
	for first in 100 10000 1000000 10000000; do
		echo "limits|LIMIT $first|narrow|50000000|id|first$first|1|0.4|$methods"
	done
}

# The first rows of each of 100,000 groups: the newest point of each host as TSBS asks for it (lastpoint), the
# two largest of each group as h2o.ai's db-benchmark does (group by, question 8), and three.
suite_first_n() {
	local methods="serial:1 parallel$workers:1 cuda0:2 cuda$most_workers:3 cpu0:2 cpu$most_workers:3"
	echo "first_n|any one|grouped|50000000|d, id|each1|1|1|$methods"
	echo "first_n|lastpoint|grouped|50000000|d, v DESC|each1|1|1|$methods"
	echo "first_n|two largest|grouped|50000000|d, id DESC|each2|1|1|$methods"
	echo "first_n|three|grouped|50000000|d, id|each3|1|1|$methods"
}

# PostgreSQL's own sort of 200 million rows would take minutes; its serial one of 50 million is in the suite
# headline.
suite_sizes() {
	local millions postgresql
	for millions in 1 10 50 200; do
		postgresql="serial:1 parallel$workers:2"
		[ "$millions" -lt 50 ] || postgresql="parallel$workers:1"
		[ "$millions" -le 50 ] || postgresql=
		echo "sizes|$millions million|narrow|$((millions * 1000000))|id|drained|1|1|scan:2 $postgresql cuda0:2 cuda$workers:3 cpu$workers:1"
	done
}

suite_types() {
	local entry name order cost
	for entry in 'int8 1' 'int4, int8 2.5' 'float8 1' 'numeric 1.5' 'text C 3' 'text ICU 9'; do
		name=${entry% *} cost=${entry##* }
		for order in "${types[@]}"; do
			[ "${order%%|*}" != "$name" ] ||
				echo "types|$name|$name|10000000|${order##*|}|drained|1|$cost|serial:1 parallel$workers:2 cuda0:2 cuda$workers:3 cpu$workers:2"
		done
	done
}

suite_widths() {
	local methods="scan:2 serial:1 parallel$workers:2 cuda0:2 cuda$workers:3 cpu$workers:2"
	echo "widths|narrow|narrow|10000000|id|drained|1|1|$methods"
	echo "widths|200 bytes|wide200|10000000|id|drained|1|1.5|$methods"
	echo "widths|1000 bytes|wide1000|5000000|id|drained|1|3|$methods"
}

suite_outputs() {
	local output
	for output in drained copy ctas; do
		echo "outputs|$output|narrow|10000000|id|$output|1|1.7|scan:2 serial:1 parallel$workers:2 cuda0:2 cuda$workers:3 cpu$workers:2"
	done
}

suite_workers() {
	local n methods='scan:2 cuda0:2 cpu0:1'
	for n in 1 2 4 8 15; do
		[ "$n" -gt "$most_workers" ] || methods+=" parallel$n:1 cuda$n:2 cpu$n:1"
	done
	echo "workers|int8|narrow|50000000|id|drained|1|1|$methods"
}

suite_sessions() {
	local sessions
	for sessions in 1 4 8; do
		echo "sessions|$sessions sessions|narrow|10000000|id|drained|$sessions|1|serial:1 parallel2:1 cuda0:3 cuda2:3 cuda$workers:3 cpu2:1"
	done
}

suite_startup() {
	echo "startup|100 thousand|narrow|100000|id|again|1|1|serial:10 cuda0:10 cpu0:10"
	echo "startup|1 million|narrow|1000000|id|again|1|1|serial:5 cuda0:10 cuda2:10 cpu0:5"
}

suite_profile() {
	echo "profile|int8|narrow|50000000|id|profile|1|1|scan:1 parallel$workers:1 cuda0:1 cuda$workers:1 cuda$most_workers:1 cpu$workers:1"
	echo "profile|text C, int8|narrow|50000000|pad COLLATE \"C\", id|profile|1|3|cuda0:1 cuda$workers:1 cpu$workers:1"
}

# Seconds that the runs of a case take about, on 16 cores of 2026 with an H100: for planning a visit, not for
# results.
estimate_seconds() {
	local rows=$1 sessions=$2 cost=$3 methods=$4
	tr ' ' '\n' <<<"$methods" | awk -F: -v rows="$rows" -v sessions="$sessions" -v cost="$cost" '
		/^scan/ { ns += 25 * $2 }
		/^serial/ { ns += 370 * cost * $2 }
		/^parallel/ { ns += 200 * cost * sessions / 2 ^ (sessions > 1) * $2 }
		/^cuda0/ { ns += 100 * ($2 + 1) }
		/^cuda[1-9]/ { ns += 40 * (cost + 1) / 2 * sessions * ($2 + 1) }
		/^cpu0/ { ns += 200 * cost * ($2 + 1) }
		/^cpu[1-9]/ { ns += 80 * (cost + 1) / 2 * sessions * ($2 + 1) }
		END { printf "%.0f\n", rows * ns / 1e9 + 5 }'
}
