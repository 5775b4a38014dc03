# shellcheck shell=bash
# Variables of the caller's, and for it:
# shellcheck disable=SC2154,SC2034
#
# The cases of bench/queries/orderby: what is sorted, and the tables.  To be sourced after bench/lib.sh;
# $rows, $text_rows and $all_distributions are the caller's options.  Tables are in the schema
# gpusort_orderby.

# ---- ORDER BY ----

# Real text, in a column of a collation, as in databases whose default it is.  Name | items of tools/real_text |
# collation
texts=(
	'words C|words|"C"'
	'words ICU|words|"en-US-x-icu"'
	'words en_US|words|gpusort_orderby."en_US"'
	'words de_DE|words|gpusort_orderby."de_DE"'
	'paths C|paths|"C"'
	'paths ICU|paths|"en-US-x-icu"'
	'paths en_US|paths|gpusort_orderby."en_US"'
	'paths de_DE|paths|gpusort_orderby."de_DE"'
)

# Text that repeats, in rows of 170 bytes, beside the same rows by int8, and text of which all is different
# with codes of values and without.  Name | columns, out of a number n | collation of k | settings | ORDER BY
made_up_paths="concat('/usr/share/doc/', md5((abs(n % 60000))::text), '/copyright') AS k, n AS h, repeat('x', 60) AS filler"
made_up_cities="concat('City ', left(md5((abs(n % 1000))::text), 5)) AS k, n AS h, repeat('x', 107) AS filler"
made_up_names="left(md5((abs(n % 50))::text), 9) COLLATE gpusort_orderby.\"en_US\" AS state, left(md5((abs(n % 1000))::text), 10) COLLATE gpusort_orderby.\"en_US\" AS city, concat('Name ', left(md5((abs(n % 200000))::text), 14)) COLLATE gpusort_orderby.\"en_US\" AS name, n AS h, repeat('x', 70) AS filler"
made_up_md5="md5(n::text) AS k, n AS h, repeat('x', 84) AS filler"
made_up_urls="concat('https://www.example.org/articles/', md5(n::text), '.html') AS k, n AS h, repeat('x', 47) AS filler"
made_up_uuids="md5(n::text)::uuid::text AS k, n AS h, repeat('x', 80) AS filler"
without_codes='SET gpusort.dictionary = off'
repeating=(
	"repeating: paths, by int8|$made_up_paths|||h"
	"repeating: paths C|$made_up_paths|\"C\"||k"
	"repeating: paths ICU|$made_up_paths|\"en-US-x-icu\"||k"
	"repeating: paths en_US|$made_up_paths|gpusort_orderby.\"en_US\"||k"
	"repeating: cities C|$made_up_cities|\"C\"||k"
	"repeating: cities C, no codes|$made_up_cities|\"C\"|$without_codes|k"
	"repeating: cities ICU|$made_up_cities|\"en-US-x-icu\"||k"
	"repeating: cities en_US|$made_up_cities|gpusort_orderby.\"en_US\"||k"
	"repeating: state, city, name en_US|$made_up_names|||state, city, name"
	"different: md5 C|$made_up_md5|\"C\"||k"
	"different: md5 C, no codes|$made_up_md5|\"C\"|$without_codes|k"
	"different: URLs C|$made_up_urls|\"C\"||k"
	"different: URLs C, no codes|$made_up_urls|\"C\"|$without_codes|k"
	"different: URLs en_US|$made_up_urls|gpusort_orderby.\"en_US\"||k"
	"different: URLs en_US, no codes|$made_up_urls|gpusort_orderby.\"en_US\"|$without_codes|k"
	"different: uuid as text C|$made_up_uuids|\"C\"||k"
	"different: uuid as text C, no codes|$made_up_uuids|\"C\"|$without_codes|k"
)

# ---- other queries ----

# Name | columns, out of a number n | settings | query, over t, or over t and u, which have half of the rows
# each.  {rows}: rows of a table.  Hash joins and hash groupings are left out where a sort is to be compared
# with a sort.
groups='md5((n % 1000)::text)'
queries=(
	"window|$groups COLLATE \"C\" AS g, n AS k||SELECT *, row_number() OVER (PARTITION BY g ORDER BY k) FROM t"
	"window en_US|$groups COLLATE gpusort_orderby.\"en_US\" AS g, n AS k||SELECT *, row_number() OVER (PARTITION BY g ORDER BY k) FROM t"
	"two windows|$groups COLLATE \"C\" AS g, n AS k||SELECT *, row_number() OVER (PARTITION BY g ORDER BY k), rank() OVER (ORDER BY v DESC) FROM t"
	"repeating: PARTITION BY city ORDER BY int8|left(md5((abs(n % 1000))::text), 10) COLLATE \"C\" AS city, n AS k, repeat('x', 107) AS filler||SELECT *, row_number() OVER (PARTITION BY city ORDER BY k) FROM t"
	"repeating: GROUP BY|md5((abs(n % ({rows} / 6)))::text) COLLATE \"C\" AS k, repeat('x', 84) AS filler||SELECT k, count(*), max(v) FROM t GROUP BY k"
	'windows: lag|n % 1000 AS g, n AS k||SELECT *, lag(v) OVER (PARTITION BY g ORDER BY k) FROM t'
	'windows: running sum|n % 1000 AS g, n AS k||SELECT *, sum(v) OVER (PARTITION BY g ORDER BY k ROWS UNBOUNDED PRECEDING) FROM t'
	'windows: running sum, peers|n % 1000 AS g, n AS k||SELECT *, sum(v) OVER (PARTITION BY g ORDER BY k) FROM t'
	'windows: first_value|n % 1000 AS g, n AS k||SELECT *, first_value(v) OVER (PARTITION BY g ORDER BY k) FROM t'
	'windows: lag, aggregated|n % 1000 AS g, n AS k||SELECT count(*), sum(d) FROM (SELECT v - lag(v) OVER (PARTITION BY g ORDER BY k) AS d FROM t) s'
	'windows: running sum, filtered|n % 1000 AS g, n AS k||SELECT * FROM (SELECT *, sum(v) OVER (PARTITION BY g ORDER BY k ROWS UNBOUNDED PRECEDING) AS total FROM t) s WHERE total % 100 = 0'
	'windows: first_value, aggregated|n % 1000 AS g, n AS k||SELECT count(*), sum(v - f) FROM (SELECT v, first_value(v) OVER (PARTITION BY g ORDER BY k) AS f FROM t) s'
	'aggregates: count(DISTINCT int8)|n AS k||SELECT count(DISTINCT k) FROM t'
	'aggregates: count(DISTINCT text en_US)|md5((n % 1000000)::text) COLLATE gpusort_orderby."en_US" AS k||SELECT count(DISTINCT k) FROM t'
	'aggregates: count(DISTINCT), few values|n % 1000 AS k||SELECT count(DISTINCT k) FROM t'
	'aggregates: percentile_cont|n::float8 AS k||SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY k) FROM t'
	'aggregates: percentile_cont, groups|n % 1000 AS g, n::float8 AS k||SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY k) FROM t GROUP BY g'
	'aggregates: percentile_cont, beside others|n % 1000 AS g, n::float8 AS k||SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY k), count(*), avg(v) FROM t GROUP BY g'
	"aggregates: string_agg|n % 1000 AS g, md5(n::text) COLLATE \"C\" AS k||SELECT g, string_agg(k, ',' ORDER BY v) FROM t GROUP BY g"
	'aggregates: two DISTINCTs|n AS k||SELECT count(DISTINCT k), count(DISTINCT v) FROM t'
	'aggregates: two DISTINCTs, neither in order|n AS k, hashint8extended(n, 9) AS h||SELECT count(DISTINCT k), count(DISTINCT h) FROM t'
	'merge join|abs(n % {rows}) AS k|SET enable_hashjoin = off; SET enable_nestloop = off|SELECT * FROM t JOIN u USING (k)'
	'merge join, text|md5((n % {rows})::text) COLLATE "C" AS k|SET enable_hashjoin = off; SET enable_nestloop = off|SELECT * FROM t JOIN u USING (k)'
	'any join|abs(n % {rows}) AS k||SELECT * FROM t JOIN u USING (k)'
	'GROUP BY|abs(n % ({rows} / 5)) AS k||SELECT k, count(*), sum(v) FROM t GROUP BY k'
	'GROUP BY, text|md5((n % ({rows} / 5))::text) COLLATE "C" AS k||SELECT k, count(*), sum(v) FROM t GROUP BY k'
	'GROUP BY, by a sort|abs(n % ({rows} / 5)) AS k|SET enable_hashagg = off|SELECT k, count(*), sum(v) FROM t GROUP BY k'
	'DISTINCT|abs(n % ({rows} / 2)) AS k||SELECT DISTINCT k FROM t'
	'DISTINCT, text|md5((n % ({rows} / 2))::text) COLLATE "C" AS k||SELECT DISTINCT k FROM t'
	'DISTINCT, by a sort|abs(n % ({rows} / 2)) AS k|SET enable_hashagg = off|SELECT DISTINCT k FROM t'
	'grouped: GROUP BY, different en_US|md5(n::text) COLLATE gpusort_orderby."en_US" AS k||SELECT k, count(*), max(v) FROM t GROUP BY k'
	'grouped: DISTINCT, different en_US|md5(n::text) COLLATE gpusort_orderby."en_US" AS k||SELECT DISTINCT k FROM t'
	'grouped: UNION, en_US|md5((n % {rows})::text) COLLATE gpusort_orderby."en_US" AS k||SELECT k FROM t UNION SELECT k FROM u'
	'grouped: lag, en_US, aggregated|md5(n::text) COLLATE gpusort_orderby."en_US" AS k||SELECT max(d) FROM (SELECT v - lag(v) OVER (PARTITION BY k ORDER BY v) AS d FROM t) s'
	'grouped: counted paths en_US|concat('\''/usr/share/doc/'\'', md5((n % 60000)::text), '\''/copyright'\'') COLLATE gpusort_orderby."en_US" AS k|SET work_mem = default|SELECT count(DISTINCT k) FROM t'
	'DISTINCT ON|abs(n % ({rows} / 5)) AS k||SELECT DISTINCT ON (k) * FROM t ORDER BY k, v DESC'
	'lastpoint, DISTINCT ON|abs(n % 100000) AS k||SELECT DISTINCT ON (k) * FROM t ORDER BY k, v DESC'
	'lastpoint, row_number|abs(n % 100000) AS k||SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM t) s WHERE r = 1'
	'lastpoint, text|md5((n % 100000)::text) COLLATE "C" AS k||SELECT DISTINCT ON (k) * FROM t ORDER BY k, v DESC'
	'first of each|abs(n % 100000) AS k, n AS w||SELECT DISTINCT ON (k) * FROM t ORDER BY k, w'
	'two largest of each|abs(n % 100000) AS k, n AS w||SELECT k, w FROM (SELECT k, w, row_number() OVER (PARTITION BY k ORDER BY w DESC) AS r FROM t) s WHERE r <= 2'
	'three of each|abs(n % 100000) AS k, n AS w||SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY w) AS r FROM t) s WHERE r <= 3'
	'DISTINCT, few repeated|n AS k||SELECT DISTINCT k, v FROM t'
	'UNION|abs(n % {rows}) AS k||SELECT k FROM t UNION SELECT k FROM u'
	'UNION, by a sort|abs(n % {rows}) AS k|SET enable_hashagg = off|SELECT k FROM t UNION SELECT k FROM u'
	'UNION, text|md5((n % {rows})::text) COLLATE "C" AS k||SELECT k FROM t UNION SELECT k FROM u'
)

# ---- all of them ----

# Prints the cases, one a line: name|distribution|rows.
list_cases() {
	local entry name distribution
	for entry in "${types[@]}"; do
		name=${entry%%|*}
		for distribution in $distribution_names; do
			if [ "$distribution" = uniform ] || { [ -n "$all_distributions" ] && [[ $name =~ ^(int8|int8 NOT NULL|float8|text C)$ ]]; }; then
				echo "$name|$distribution|$rows"
			fi
		done
	done
	for entry in "${texts[@]}"; do
		echo "${entry%%|*}|real|$text_rows"
	done
	for entry in "${repeating[@]}" "${queries[@]}"; do
		echo "${entry%%|*}|uniform|$rows"
	done
}

# Sets columns (or items, of real text), collation (of real text), not_null (the column that is, if one is),
# settings, query, and shape: sort, an ORDER BY that all methods are to sort, or query, of a case by its name.
find_case() {
	local wanted=$1 count=$2 entry name order
	collation='' not_null='' settings='' shape=sort
	for entry in "${types[@]}"; do
		IFS='|' read -r name columns order not_null <<<"$entry"
		[ "$name" = "$wanted" ] || continue
		query="SELECT * FROM t ORDER BY $order"
		return
	done
	not_null=
	for entry in "${texts[@]}"; do
		IFS='|' read -r name columns collation <<<"$entry"
		[ "$name" = "$wanted" ] || continue
		query='SELECT * FROM t ORDER BY k'
		return
	done
	for entry in "${repeating[@]}"; do
		IFS='|' read -r name columns collation settings order <<<"$entry"
		[ "$name" = "$wanted" ] || continue
		columns=${columns//"{rows}"/$count} query="SELECT * FROM t ORDER BY $order"
		return
	done
	collation=''
	for entry in "${queries[@]}"; do
		IFS='|' read -r name columns settings query <<<"$entry"
		[ "$name" = "$wanted" ] || continue
		columns=${columns//"{rows}"/$(table_rows "$query" "$count")} shape=query
		return
	done
}

# ---- tables ----

reads_u() { [[ "$1 " == *' u '* ]]; }

# Rows of each table of a query.
table_rows() { if reads_u "$1"; then echo $(($2 / 2)); else echo "$2"; fi; }

# The collations that a case names; false if the server's machine has no such locale.
make_collations() {
	local name
	for name in $(grep -oE '"(en_US|de_DE)"' <<<"$1" | sort -u | tr -d '"'); do
		sql -c "CREATE COLLATION IF NOT EXISTS gpusort_orderby.\"$name\" (provider = libc, locale = '$name.UTF-8')" || return
	done
}

loaded=
# Makes t, and u if the query reads it, unless they are there from the case before.  The collation, if any, is
# that of the column k; the column not_null of t, if any, is to be that.
load_tables() {
	local columns=$1 query=$2 distribution=$3 count=$4 collation=$5 not_null=$6 padded="$1, i AS v, substr('padding', 1, 5 + (i % 3)::int) AS pad" sessions table since=$SECONDS
	count=$(table_rows "$query" "$count")
	if [ "$loaded" != "$columns $distribution $count" ]; then
		sql -c 'DROP TABLE IF EXISTS gpusort_orderby.t, gpusort_orderby.u'
		# Rows in an order come from one session.
		sessions=1
		[ "$distribution" != uniform ] || sessions=$(($(nproc) < 16 ? $(nproc) : 16))
		if [ "$distribution" = real ]; then
			load_real_text "$columns" "$count"
		else
			make_table gpusort_orderby.t "$padded" "$distribution" "$count" "$sessions"
		fi
		loaded="$columns $distribution $count" has_u=
	fi
	if reads_u "$query" && [ -z "$has_u" ]; then
		make_table gpusort_orderby.u "$(sed -E 's/\bn\b/hashint8extended(n, 7)/g' <<<"$columns"), i AS w" "$distribution" "$count" "$sessions"
		has_u=yes
	fi
	# The table is not written again for that, but the column loses its statistics.
	[ -z "$collation" ] || sql -c "ALTER TABLE gpusort_orderby.t ALTER COLUMN k TYPE text COLLATE $collation" -c 'ANALYZE gpusort_orderby.t'
	[ -z "$not_null" ] || sql -c "ALTER TABLE gpusort_orderby.t ALTER COLUMN $not_null SET NOT NULL"
	for table in t ${has_u:+u}; do
		# As many workers as max_parallel_workers_per_gather allows.
		sql -c "ALTER TABLE gpusort_orderby.$table SET (parallel_workers = $(most_workers))"
	done
	[ "$since" = "$SECONDS" ] || say "tables of $(sql -c "SELECT pg_size_pretty(sum(pg_table_size(oid))) FROM pg_class WHERE relnamespace = 'gpusort_orderby'::regnamespace AND relkind = 'r'"), made in $((SECONDS - since)) s"
}

load_real_text() {
	sql -c 'CREATE UNLOGGED TABLE gpusort_orderby.t (k text, v bigint GENERATED ALWAYS AS IDENTITY)'
	"$REPOSITORY/tools/real_text" "$1" "$2" 2>/dev/null | sql -c 'COPY gpusort_orderby.t (k) FROM STDIN'
	settle_table gpusort_orderby.t
}
