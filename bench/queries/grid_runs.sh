# shellcheck shell=bash
# Variables of the caller's, and for it; $1 is a parameter of SQL:
# shellcheck disable=SC2154,SC2034,SC2016
#
# How bench/queries/modes_grid and bench/queries/sort_grid run a case in several modes of gpusort, in turn,
# and what they have in common besides.  To be sourced after tools/lib.sh and bench/lib.sh; $running, $csv and
# $repeat are the caller's options.  Tables are in the schema gpusort_grid.

# ---- the runs of a case ----

# The settings of a method.
declare -A methods=(
	[off]="SET gpusort.mode = off; RESET gpusort.backend;"
	[auto]="SET gpusort.mode = auto; RESET gpusort.backend;"
	[force_cpu]="SET gpusort.mode = force; SET gpusort.backend = cpu;"
	[force_cuda]="SET gpusort.mode = force; SET gpusort.backend = cuda;"
)

# Prints a line with all that runs count, for the difference.
print_counters() {
	echo "SELECT pg_stat_force_next_flush();"
	echo "SELECT '@counters', temp_bytes, $(sorts_of cpu), $(sorts_of cuda) FROM pg_stat_database WHERE datname = current_database();"
}

sorts_of() { echo "(SELECT coalesce(sum(sorts), 0) FROM pg_stat_gpusort WHERE device = '$1')"; }

# One run of a query, timed; without its ANALYZE, and then not executed, if $3 is "plan".  $1: explain
# (EXPLAIN ANALYZE of the query), ctas (of CREATE TABLE AS), execute ARGUMENT (of a prepared statement with a
# generic plan), cursor ROWS (DECLARE, MOVE, CLOSE), index (CREATE INDEX on what the query says).
print_run() {
	local how=$1 query=$2 explain='EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF)'
	[ "${3:-}" != plan ] || explain='EXPLAIN (COSTS OFF)'
	case $how in
		explain) print_timed "$explain $query" ;;
		ctas)
			print_timed "$explain CREATE UNLOGGED TABLE gpusort_grid.result AS $query"
			echo "DROP TABLE IF EXISTS gpusort_grid.result;"
			;;
		execute*)
			echo "PREPARE statement (bigint) AS $query;"
			print_timed "$explain EXECUTE statement (${how#* })"
			echo "DEALLOCATE statement;"
			;;
		cursor*)
			if [ "${3:-}" = plan ]; then
				print_timed "$explain DECLARE c CURSOR FOR $query"
			else
				echo "BEGIN;"
				print_timed "DECLARE c CURSOR FOR $query" "MOVE ${how#* } FROM c" "CLOSE c"
				echo "COMMIT;"
			fi
			;;
		index)
			[ "${3:-}" != plan ] || return 0
			print_timed "CREATE INDEX gpusort_grid_index ON $query"
			echo "DROP INDEX gpusort_grid.gpusort_grid_index;"
			;;
	esac
}

print_timed() {
	printf '\\timing on\n'
	printf '%s;\n' "$@"
	printf '\\timing off\n'
}

# The script of a session with so many rounds.
print_session() {
	local how=$1 query=$2 memory=$3 processes=$4 rounds=$5 method round i
	echo "SET jit = off; SET work_mem = '$memory'; SET maintenance_work_mem = '$memory'; SET max_parallel_workers_per_gather = 0; SET plan_cache_mode = force_generic_plan;"
	grep -oE 'gpusort_grid\.[a-z0-9_]+' <<<"$query" | sort -u | sed 's/.*/SELECT count(*) FROM &;/'
	echo "SET max_parallel_workers_per_gather = $processes; SET max_parallel_maintenance_workers = $processes;"
	for method in $method_names; do
		printf '%s\n\\echo @plan|%s\n' "${methods[$method]}" "$method"
		print_run "$how" "$query" plan
	done
	print_counters
	for ((round = 0; round < rounds; round++)); do
		for ((i = 0; i < method_count; i++)); do
			method=$(cut -d ' ' -f $(((round + i) % method_count + 1)) <<<"$method_names")
			printf '%s\n\\echo @run|%s\n' "${methods[$method]}" "$method"
			print_run "$how" "$query"
			print_counters
		done
	done
}

# Runs of a case, a line each: method|ms|temporary bytes|sorts by cpu|sorts by cuda|number of the plan.
run_rounds() {
	print_session "$@" | sql -f - | awk -F'|' '
		$1 == "@plan" { planned = $2; next }
		$1 == "@run" { method = $2; ms = 0; next }
		/^Time: / { split($0, words, " "); ms += words[2]; next }
		$1 == "@counters" {
			if (method != "") {
				if (!(plans[method] in numbers))
					numbers[plans[method]] = ++nnumbers
				printf "%s|%.3f|%d|%d|%d|%d\n", method, ms, $2 - temp, $3 - cpu, $4 - cuda, numbers[plans[method]]
			}
			planned = ""; temp = $2; cpu = $3; cuda = $4
		}
		planned != "" && $0 != "" { plans[planned] = plans[planned] $0 "\n" }'
}

rounds_of() { echo $(($1 <= 10000 ? 5 * repeat : $1 <= 100000 ? 3 * repeat : repeat)); }

# Runs a case; prints its verdict and what it rests on, as bench/queries/grid_verdict.awk does.  One that is
# bad by the predicate $1 is run again with twice as many rounds, three times at most, and all runs count
# then.
judge() {
	local is_bad=$1 how=$2 query=$3 memory=$4 processes=$5 rounds=$6 runs again verdict more=3
	runs=$(run_rounds "$how" "$query" "$memory" "$processes" "$rounds") || { echo '0|0|0|-|-|0|0|0|0|FAILED' && return; }
	verdict=$(awk -f "$REPOSITORY/bench/queries/grid_verdict.awk" <<<"$runs")
	while [ $((more--)) -gt 0 ] && $is_bad "$verdict" && again=$(run_rounds "$how" "$query" "$memory" "$processes" $((2 * rounds))); do
		runs+=$'\n'$again
		verdict=$(awk -f "$REPOSITORY/bench/queries/grid_verdict.awk" <<<"$runs")
	done
	echo "$verdict"
}

is_not_ok() { [[ $1 != *'|ok' ]]; }

# ---- the CSV ----

machine_columns=date,commit,cpu,card,cores,postgresql

begin_csv() {
	[ -n "$csv" ] || return 0
	mkdir -p "$(dirname "$csv")"
	echo "$1" >"$csv"
}

# A line of fields between |, and what they depend on.
add_to_csv() { [ -z "$csv" ] || printf '%s,%s,%s\n' "${1//|/,}" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$machine" >>"$csv"; }

# ---- the server ----

use_throwaway_cluster() {
	"$REPOSITORY/tools/setup" build
	enter_workspace
	require_disk_space 3000
	with_gpusortd=$(card_architecture || true)
	build_private_installation
	make_test_locales
	cat >"$WORK/bench.conf" <<-EOT
		shared_preload_libraries = 'gpusort'
		shared_buffers = $(($(memory_mb) / 5))MB
		max_parallel_workers = 8
		checkpoint_timeout = 1h
	EOT
	start_cluster "$WORK/bench.conf"
}

# What the results depend on, as columns of every line of the CSV.
describe_machine() {
	local card
	card=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | sort | uniq -c | sed 's/^ *//' | paste -sd ';') || true
	printf '%s,%s,%s,%s,%s' "$(measured_commit)" "$(csv_text "$(processor_name)")" "$(csv_text "${card:-none}")" "$(nproc)" \
		"$(csv_text "$(sql -c 'SHOW server_version')")"
}

# Starts a throwaway cluster, or finds the running server.
start_server() {
	if [ -n "$running" ]; then
		use_running_server
	else
		use_throwaway_cluster
	fi
	sql -c 'CREATE EXTENSION IF NOT EXISTS gpusort'
	wait_for_devices
}

# The modes that take turns.
set_methods() {
	method_names=$1 method_count=$(wc -w <<<"$1")
}
