# shellcheck shell=bash
# Variables for the caller:
# shellcheck disable=SC2034
#
# Shell functions shared by the programs here: tables to sort, what plans must look like, sessions that stay
# open.  To be sourced after tools/lib.sh.

# ---- tables ----

# SQL for the i-th number of a distribution.  x is a random 64-bit integer, u one of 0 .. 2^20 - 1.
declare -A distributions=(
	[uniform]='x'
	[sorted]='i'
	[reversed]='-i'
	[equal]='42'
	[few]='x % 100'
	[zipf]='floor((u / 1048576.0::float8) ^ 8 * 1000000)::bigint'
	[nearly]='CASE WHEN i % 1000 = 0 THEN x ELSE i END'
)
distribution_names='uniform sorted reversed equal few zipf nearly'

# Name | columns of the key, out of a number n | ORDER BY | the column that is NOT NULL, if one is
types=(
	'int8|n AS k|k'
	'int8 NOT NULL|n AS k|k|k'
	'int4, int8|(n % 1000)::int4 AS a, n AS b|a, b'
	'float8|n / 1000.0::float8 AS k|k'
	'numeric|(n % 1000000000000)::numeric / 100 AS k|k'
	'timestamp|timestamp '"'2000-01-01'"' + (n % 1000000000000000) * interval '"'1 microsecond'"' AS k|k'
	'uuid|md5(n::text)::uuid AS k|k'
	'text C|md5(n::text) AS k|k COLLATE "C"'
	'text ICU|md5(n::text) AS k|k COLLATE "en-US-x-icu"'
)

# The rows from .. to of a table with these columns, SQL out of the row's number i and a number n of the
# distribution.
made_up_rows() {
	local columns=$1 distribution=$2 from=$3 to=$4
	cat <<-EOT
		SELECT $columns
		FROM (SELECT i, ${distributions[$distribution]} AS n
			  FROM (SELECT i, hashint8extended(i, 0) AS x, hashint8extended(i, 1) & 1048575 AS u
					FROM (SELECT generate_series($from::bigint, $to) AS i) g) h) s
	EOT
}

# Makes an unlogged table of so many rows, which so many sessions insert at once (1: in the order of i),
# vacuums and reads it.
make_table() {
	local table=$1 columns=$2 distribution=$3 count=$4 sessions=$5 part pid inserting=()
	sql -c "DROP TABLE IF EXISTS $table" -c "CREATE UNLOGGED TABLE $table AS $(made_up_rows "$columns" "$distribution" 1 0)"
	for ((part = 0; part < sessions; part++)); do
		sql -c "INSERT INTO $table $(made_up_rows "$columns" "$distribution" $((count * part / sessions + 1)) \
			$((count * (part + 1) / sessions)))" &
		inserting+=($!)
	done
	for pid in "${inserting[@]}"; do
		wait "$pid" || die "making $table failed"
	done
	settle_table "$table"
}

settle_table() {
	sql -c "VACUUM ANALYZE $1" -c "SELECT count(*) FROM $1" >/dev/null
}

# ---- methods ----

# For a parallel plan: the costs of handing rows from process to process are taken out, or there might be none
# to time.
parallel_settings() {
	echo "SET max_parallel_workers_per_gather = $1; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
}

# Extended regular expressions that the plan of a sort must match.
plan_of_serial='^ *(->  )?Sort$'
plan_of_parallel='Gather Merge'
plan_of_gpusort='Custom Scan \(GpuSort(Ranges)?\)'
plan_of_parallel_feed='Parallel Custom Scan \(GpuSort(Feed|Ranges)\)'

# Does the plan of a query match the expression?  If not, says so with the plan, on stderr.
plan_matches() {
	local settings=$1 query=$2 expected=$3 plan
	plan=$(sql -c "$settings" -c "EXPLAIN (COSTS OFF) $query")
	grep -qE "$expected" <<<"$plan" || {
		printf 'no %s in the plan of %s\n%s\n' "$expected" "$query" "$plan" >&2
		return 1
	}
}

# ---- sessions that stay open ----

# Descriptors of what goes to each, and of what comes from it.
sessions_in=() sessions_out=()

# open_session SETTINGS: one more.
open_session() {
	local folder in out
	folder=$(mktemp -d)
	mkfifo "$folder/in" "$folder/out"
	sql -f - <"$folder/in" >"$folder/out" &
	exec {in}>"$folder/in" {out}<"$folder/out"
	rm -r "$folder"
	sessions_in+=("$in") sessions_out+=("$out")
	printf '%s\n' "$1;" '\timing on' >&"$in"
}

# ask NUMBER QUERY: sends a query to a session, and prints what it took by the clock, milliseconds.
ask() {
	local line=
	printf '%s;\n' "$2" >&"${sessions_in[$1]}"
	while read -r line <&"${sessions_out[$1]}"; do
		[[ $line != Time:* ]] || break
	done
	[ -n "$line" ] || die "a session has ended"
	awk '{ print $2 }' <<<"$line"
}

close_sessions() {
	local fd
	for fd in "${sessions_in[@]}" "${sessions_out[@]}"; do exec {fd}>&-; done
	sessions_in=() sessions_out=()
	wait
}

# ---- results ----

csv_text() { printf '"%s"' "${1//\"/\"\"}"; }

# The commit that is measured: $COMMIT if set, for where there is no repository.
measured_commit() {
	[ -z "${COMMIT:-}" ] || { echo "$COMMIT" && return; }
	git -C "$REPOSITORY" -c safe.directory='*' describe --always --dirty --abbrev=12 2>/dev/null || echo unknown
}

memory_mb() { awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo; }
