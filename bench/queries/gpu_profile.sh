# shellcheck shell=bash
# Variables of the caller's:
# shellcheck disable=SC2154
#
# What bench/queries/gpu_orderby learns of single runs besides their time: stages, memory, CPU time, waits.
# To be sourced; method_settings, case_query, add_line, $table, $output and $scratch are the caller's.

# One run with EXPLAIN ANALYZE: its text to explain/, stages and the backend's memory to details.csv.
explain_once() {
	local suite=$1 name=$2 count=$3 method=$4 order=$5 file detail value
	file=$output/explain/${suite}-${name//[^a-zA-Z0-9]/_}-$count-$method.txt
	sql >"$file" <<-EOT || return 0
		$(method_settings "$method")
		SELECT pg_backend_pid() AS pid \\gset
		\\setenv BACKEND :pid
		\\! env -u LD_LIBRARY_PATH "$REPOSITORY/bench/queries/backend_memory" "\$BACKEND" "$scratch/memory" >/dev/null 2>&1 </dev/null &
		EXPLAIN (ANALYZE, VERBOSE) $(case_query "$method" "$table" "$order" drained);
	EOT
	{
		sed -n 's/^ *Stages: //p' "$file" | sed -E 's/ ms( +|$)/\n/g' | sed -n 's/=/ ms=/p'
		grep -E '^ *(Sort Method|Device Memory):' "$file" | grep -oE '[A-Z][a-zA-Z ]*: [0-9]+kB' | sed -E 's/^(.*): (.*)kB/\1 kB=\2/'
		print_memory
	} | while IFS='=' read -r detail value; do
		add_line details.csv "$suite" "$(csv_text "$name")" "$count" "$method" "$(csv_text "$detail")" "$value"
	done
}

# What backend_memory has found, when it is through.
print_memory() {
	local i memory
	for ((i = 0; i < 20; i++)); do
		[ ! -s "$scratch/memory" ] || break
		sleep 0.1
	done
	read -ra memory <"$scratch/memory" || return 0
	rm "$scratch/memory"
	printf '%s kB=%s\n' 'peak resident' "${memory[0]}" 'own memory' "${memory[1]}" 'shared by memfd' "${memory[2]}"
}

# What client backends and parallel workers are doing, again and again until the file is gone: a line each.
sample_waits() {
	while [ -e "$1" ]; do
		echo "SELECT backend_type || ', ' || state || ', ' || coalesce(wait_event_type || ' ' || wait_event, 'on the CPU')
			FROM pg_stat_activity WHERE backend_type IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid();"
		sleep 0.05
	done | sql
}

# User and system seconds of the server's gpusortd, which works in its data directory; nothing if there is
# none.
service_cpu_seconds() {
	local process directory
	directory=$(sql -c 'SHOW data_directory')
	for process in /proc/[0-9]*; do
		[ "$(cat "$process/comm" 2>/dev/null)" = gpusortd ] || continue
		[ "$(readlink "$process/cwd")" = "$directory" ] || continue
		sed 's/^.*) //' "$process/stat" | awk -v ticks="$(getconf CLK_TCK)" '{ print $12 / ticks, $13 / ticks }'
	done
}

# One run with the CPU time of the backend, and what it and its workers waited for, sampled.
profile_once() {
	local name=$1 count=$2 method=$3 order=$4 file before
	file=$output/profile/${name//[^a-zA-Z0-9]/_}-$count-$method.txt
	before=$(service_cpu_seconds)
	touch "$scratch/sampling"
	sample_waits "$scratch/sampling" >"$scratch/waits" &
	sql >"$file" 2>&1 <<-EOT || true
		$(method_settings "$method")
		SET client_min_messages = log;
		SET log_executor_stats = on;
		\\o /dev/null
		\\timing on
		$(case_query "$method" "$table" "$order" drained);
	EOT
	rm "$scratch/sampling"
	wait
	{
		echo
		echo "gpusortd: user and system seconds since its start, before and after: ${before:-none}; $(service_cpu_seconds)"
		echo
		echo 'samples, process, state, waiting for:'
		sort "$scratch/waits" | uniq -c | sort -rn
	} >>"$file"
	say "$method: $(grep '^Time:' "$file"), ${file#"$output/"}"
}
