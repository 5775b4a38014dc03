# shellcheck shell=bash
# Variables of the caller's; $1 is a parameter of SQL:
# shellcheck disable=SC2154,SC2016
#
# The cases of bench/queries/modes_grid: keys, shapes of queries, and the tables they read.  To be sourced
# after bench/lib.sh.

# ---- keys ----

# Name | columns, out of a number n of the distribution | ORDER BY | distribution | bytes of padding, for rows
# of about 120 bytes; p: of a hundredth as many numbers as rows
grid_keys=(
	'int8|n AS k|k|uniform|79'
	'two|(n % 1000)::int4 AS k, n AS k2|k, k2|uniform|71'
	'duplicates|abs(n % 100) AS k|k|uniform|79'
	'sorted|n AS k|k|sorted|79'
	'nearly|n AS k|k|nearly|79'
	'reversed|n AS k|k|reversed|79'
	'numeric|(n % 1000000000000)::numeric / 100 AS k|k|uniform|77'
	'text|md5(n::text) COLLATE "C" AS k|k|uniform|54'
	'icu|md5(n::text) COLLATE "en-US-x-icu" AS k|k|uniform|54'
	# In a locale of the C library, which make_schema sees to.
	'locale|md5(n::text) COLLATE gpusort_grid.english AS k|k|uniform|54'
	# Like the files of packages: long common prefixes, each path about 100 times.
	"paths|format('/usr/share/doc/packages/group-%s/component-%s/README', p / 100, p % 100) COLLATE \"C\" AS k|k|uniform|34"
	# Customers, each with about 100 orders, in no order.
	"orders|p AS k, date '1992-01-01' + (abs(n / 1000) % 2400)::int AS date, substr('FOP', 1 + (abs(n / 7) % 3)::int, 1) COLLATE \"C\" AS status, format('Clerk#%s', lpad((abs(n / 13) % 1000)::text, 9, '0')) COLLATE \"C\" AS clerk|k, date|uniform|52"
)

# A field of a key's line, with the number p of a path put in.
key_field() {
	local key=$1 field=$2 count=$3 entry
	for entry in "${grid_keys[@]}"; do
		[ "${entry%%|*}" != "$key" ] || cut -d '|' -f "$field" <<<"$entry" | sed "s/\bp\b/abs(n % ($count \/ 100))/g"
	done
}

# ---- shapes ----

# Name | keys | how | query.  How: explain (EXPLAIN ANALYZE of the query), ctas (of CREATE TABLE AS), execute
# ARGUMENT (of a prepared statement with a generic plan), cursor ROWS (DECLARE, MOVE, CLOSE).  {w}, {n} ...:
# tables, see make_relation; {k}: the key's columns; {rows}: rows of a table.
all_keys='int8 two duplicates sorted nearly reversed numeric text icu locale paths'
grid_shapes=(
	"plain|$all_keys|explain|SELECT * FROM {w} ORDER BY {k}"
	'narrow_1|int8 sorted nearly numeric text locale|explain|SELECT k FROM {n} ORDER BY k'
	'narrow_2|int8 two duplicates reversed text|explain|SELECT * FROM {n} ORDER BY {k}'
	'ctas|int8 text|ctas|SELECT * FROM {w} ORDER BY {k}'
	'filter|int8|explain|SELECT * FROM {w} WHERE id % 10 = 0 ORDER BY {k}'
	'limit_10|int8 reversed text icu locale|explain|SELECT * FROM {w} ORDER BY {k} LIMIT 10'
	'limit_1000|int8 reversed paths|explain|SELECT * FROM {w} ORDER BY {k} LIMIT 1000'
	'limit_tenth|int8 text paths|explain|SELECT * FROM {w} ORDER BY {k} LIMIT {rows} / 10'
	'limit_half|int8 sorted text locale|explain|SELECT * FROM {w} ORDER BY {k} LIMIT {rows} / 2'
	'limit_narrow|int8 duplicates|explain|SELECT * FROM {n} ORDER BY {k} LIMIT {rows} / 5'
	'limit_offset|int8 text|explain|SELECT * FROM {w} ORDER BY {k} LIMIT 100 OFFSET {rows} / 4'
	'limit_select|int8 text|explain|SELECT * FROM {w} ORDER BY {k} LIMIT (SELECT 10)'
	'limit_view|int8 text|explain|SELECT * FROM {v} LIMIT 10'
	'limit_subquery|int8 text|explain|SELECT * FROM (SELECT * FROM {w} ORDER BY {k} OFFSET 0) s LIMIT 10'
	'offset|int8|explain|SELECT * FROM {w} ORDER BY {k} OFFSET {rows} / 2'
	'ties|int8 duplicates|explain|SELECT * FROM {w} ORDER BY {k} FETCH FIRST 10 ROWS WITH TIES'
	'generic_10|int8 text|execute 10|SELECT * FROM {w} ORDER BY {k} LIMIT $1'
	'generic_half|int8|execute {rows} / 2|SELECT * FROM {w} ORDER BY {k} LIMIT $1'
	'cursor_100|int8 text|cursor 100|SELECT * FROM {w} ORDER BY {k}'
	'cursor_all|int8 text locale|cursor ALL|SELECT * FROM {w} ORDER BY {k}'
	'exists|int8|explain|SELECT EXISTS (SELECT * FROM {w} ORDER BY {k} OFFSET 10)'
	'distinct|int8 duplicates text|explain|SELECT DISTINCT {k} FROM {n} ORDER BY {k}'
	'group|int8 duplicates paths|explain|SELECT {k}, count(*) FROM {n} GROUP BY {k} ORDER BY {k}'
	'group_count|paths|explain|SELECT {k}, count(*) AS c FROM {n} GROUP BY {k} ORDER BY c DESC, {k}'
	'window|int8|explain|SELECT *, row_number() OVER (PARTITION BY id % 100 ORDER BY {k}) FROM {w} ORDER BY id'
	'window_other|int8 text|explain|SELECT *, row_number() OVER (ORDER BY id) FROM {w} ORDER BY {k}'
	'hash_partitions|int8 text|explain|SELECT * FROM {h} ORDER BY {k}'
	'range_partitions|int8|explain|SELECT * FROM {r} ORDER BY {k}'
	'range_partitions_limit|int8|explain|SELECT * FROM {r} ORDER BY {k} LIMIT 10'
	'join|int8 text|explain|SELECT w.*, d.name FROM {w} w JOIN {d} d ON d.g = w.id % 1000 ORDER BY {k}'
	'join_limit|int8|explain|SELECT w.*, d.name FROM {w} w JOIN {d} d ON d.g = w.id % 1000 ORDER BY {k} LIMIT 10'
	'index|int8 sorted|explain|SELECT * FROM {x} ORDER BY {k}'
	'index_only|int8|explain|SELECT k FROM {x} ORDER BY k'
	'index_limit|int8|explain|SELECT * FROM {x} ORDER BY {k} LIMIT 100'
	'index_half|int8 sorted|explain|SELECT * FROM {x} ORDER BY {k} LIMIT {rows} / 2'
	'index_part|duplicates int8|explain|SELECT * FROM {x} ORDER BY {k}, id'
	'index_part_limit|duplicates|explain|SELECT * FROM {x} ORDER BY {k}, id LIMIT 100'
	# Hashed, or formed in workers; windows over an index that is not the order of the table; sorts that
	# workers of a parallel plan do: below partial groups, below a merge join, over an Append.
	'group_three|orders|explain|SELECT date, status, clerk, count(*) FROM {w} GROUP BY date, status, clerk'
	'group_customer|orders|explain|SELECT k, date, count(*) FROM {w} GROUP BY k, date'
	'window_lag|orders|explain|SELECT k, date, lag(date) OVER (PARTITION BY k ORDER BY date) FROM {x}'
	'window_first|orders|explain|SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY date) AS r FROM {x}) s WHERE r = 1'
	'group_workers|orders|explain|SELECT lower(clerk) AS name, date, max(id) FROM {w} GROUP BY name, date'
	'group_partitions|orders|explain|SELECT lower(clerk) AS name, date, max(id) FROM {h} GROUP BY name, date'
	'join_workers|orders|explain|SELECT count(*), sum(w.id) FROM {w} w JOIN {x} x USING (k, date, clerk)'
)

# What --quick keeps of the cases with fewer than 100,000 rows, and with a million and more.
quick_small='^(plain|limit_10|cursor_all)\|'
quick_large='^(plain\|(int8|icu)|(limit_10|limit_subquery|join)\|int8)\|'

is_quick() {
	if [ "$2" -ge 1000000 ]; then [[ $1 =~ $quick_large ]]; elif [ "$2" -lt 100000 ]; then [[ $1 =~ $quick_small ]]; fi
}

# Prints the cases, one a line: shape|key|how|query|rows|work_mem|workers, those that use the same tables
# together.
list_grid() {
	local count shape keys how query key memory processes
	for count in $sizes; do
		for key in $all_keys orders; do
			for shape in "${grid_shapes[@]}"; do
				IFS='|' read -r shape keys how query <<<"$shape"
				[[ " $keys " == *" $key "* && $shape =~ ^($wanted_shapes)$ && $key =~ ^($wanted_keys)$ ]] || continue
				[ -z "$quick" ] || is_quick "$shape|$key|" "$count" || continue
				for memory in $memories; do
					for processes in $worker_counts; do
						echo "$shape|$key|$how|$query|$count|$memory|$processes"
					done
				done
			done
		done
	done
}

# ---- tables ----

# Makes the schema for a key's tables; false if the server's machine lacks the locale that the key is in.
make_schema() {
	sql -c 'DROP SCHEMA IF EXISTS gpusort_grid CASCADE' -c 'CREATE SCHEMA gpusort_grid'
	[ "$1" != locale ] || sql -c "CREATE COLLATION gpusort_grid.english (provider = libc, locale = 'en_US.UTF-8')"
}

# The columns of the rows of a key, as a table is made of them.
wide_columns() { echo "$(key_field "$1" 2 "$2"), i AS id, repeat('x', $(key_field "$1" 5 "$2")) AS pad"; }

# Those that are there.
declare -A relations

# Makes gpusort_grid.LETTER_KEY if it is not there: w, wide rows of about 120 bytes; n, the key and an id; x,
# like w with an index on k; v, a view of w in order; h and r, like w in partitions, by hash and by ranges of
# k; d, 1000 names for joins.
make_relation() {
	local letter=$1 key=$2 count=$3 relation=gpusort_grid.$1_$2 part bound order
	[ -z "${relations[$relation]:-}" ] || return 0
	relations[$relation]=made
	order=$(key_field "$key" 3 "$count")
	[[ $letter != [vxhr] ]] || make_relation w "$key" "$count"
	case $letter in
		w) make_table "$relation" "$(wide_columns "$key" "$count")" "$(key_field "$key" 4 "$count")" "$count" 1 ;;
		n) make_table "$relation" "$(key_field "$key" 2 "$count"), i AS id" "$(key_field "$key" 4 "$count")" "$count" 1 ;;
		d) make_table "$relation" "i - 1 AS g, 'name ' || i AS name" uniform 1000 1 ;;
		v) sql -c "CREATE VIEW $relation AS SELECT * FROM gpusort_grid.w_$key ORDER BY $order" ;;
		x)
			sql -c "CREATE UNLOGGED TABLE $relation AS SELECT * FROM gpusort_grid.w_$key" -c "CREATE INDEX ON $relation (k)"
			settle_table "$relation"
			;;
		h)
			sql -c "CREATE TABLE $relation (LIKE gpusort_grid.w_$key) PARTITION BY HASH (id)"
			for part in 0 1 2 3; do
				sql -c "CREATE UNLOGGED TABLE ${relation}_$part PARTITION OF $relation FOR VALUES WITH (MODULUS 4, REMAINDER $part)"
			done
			fill_partitions "$relation" "$key"
			;;
		r)
			sql -c "CREATE TABLE $relation (LIKE gpusort_grid.w_$key) PARTITION BY RANGE (k)"
			part=MINVALUE
			for bound in -4611686018427387904 0 4611686018427387904 MAXVALUE; do
				sql -c "CREATE UNLOGGED TABLE ${relation}_${bound//-/minus_} PARTITION OF $relation FOR VALUES FROM ($part) TO ($bound)"
				part=$bound
			done
			fill_partitions "$relation" "$key"
			;;
	esac
}

fill_partitions() {
	sql -c "INSERT INTO $1 SELECT * FROM gpusort_grid.w_$2"
	settle_table "$1"
}

# Makes the tables of a query.
make_relations() {
	local query=$1 key=$2 count=$3 letter
	for letter in w n x v h r d; do
		[[ $query != *"{$letter}"* ]] || make_relation "$letter" "$key" "$count"
	done
}

# The query of a case with the names of its tables, its columns and its numbers.
case_query() {
	local query=$1 key=$2 count=$3
	query=${query//"{k}"/$(key_field "$key" 3 "$count")}
	query=${query//"{rows}"/$count}
	sed -E "s/\{([a-z])\}/gpusort_grid.\1_$key/g" <<<"$query"
}
