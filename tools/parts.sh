# shellcheck shell=bash
# Variables of the caller:
# shellcheck disable=SC2154
#
# The parts of tools/test, to be sourced after lib.sh and budgets.sh: by tools/test, which runs them all, and
# by tools/mutate, which runs those that should notice a mistake.  Each counts what passed and failed in
# $passed and $failed, and has a limit of time, its budget: what takes longer is ended and counted as failed,
# with what its servers were doing.
#
# Wanted from the caller: build_flags, the arguments of make; the throwaway cluster, where sessions are
# needed; time_limit, if all parts shall have the same limit; chosen_tests, a regular expression, if not all
# tests of a part shall run; for start_tap_tests, groups and all_groups, those wanted and those there are.

passed=0 failed=0

count_from_zero() { passed=0 failed=0; }
count_passed() { passed=$((passed + ${1:-1})); }
count_failed() { failed=$((failed + ${1:-1})); }

# Runs a command of the unprivileged user that may take so many seconds, its output to a file; sets status,
# and timed_out to something if it took longer.
run_limited() {
	local limit=${time_limit:-$1} log=$2
	shift 2
	status=0 timed_out=
	as_user timeout --foreground --kill-after=20 "$limit" "$@" >"$log" 2>&1 || status=$?
	[ "$status" != 124 ] && [ "$status" != 137 ] || timed_out=$limit
}

# Says that a part took too long.
report_timeout() {
	say "FAILED: $1 took longer than $timed_out s"
	count_failed
}

# The same of one whose sessions are the throwaway cluster's, and what these are at; starts the cluster again,
# for they won't end.
report_timeout_of_sessions() {
	report_timeout "$1"
	sql -F ' | ' -c "SELECT pid, backend_type, state, wait_event, left(query, 300) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND (state <> 'idle' OR backend_type LIKE '%worker%')" 2>&1 || true
	restart_cluster
}

# ---- several at a time ----

# Process groups that run, with the names of what they run.
declare -A running=()

# How many at a time: most of their time is waiting.  On a card they would be in each other's way.
jobs=$(($(nproc) + 1))
[ "$jobs" -le 4 ] || jobs=4
[ -z "${GPUSORT_TEST_CARD:-}" ] || jobs=1

# Runs one of the functions below, with its arguments, as soon as few enough others run; collect_all waits for
# the last ones.  What it prints is kept until it has ended.
start_beside() {
	local name=$1
	shift
	while [ "${#running[@]}" -ge "$jobs" ]; do collect_ended; done
	# A group of its own, to be ended with all that it has started.
	set -m
	(
		set +m
		count_from_zero
		"$@"
		echo "$passed $failed" >"$WORK/$name.counted"
	) </dev/null >"$WORK/$name.said" 2>&1 &
	set +m
	running[$!]=$name
}

# Waits until one has ended, and counts what those that have ended have counted.
collect_ended() {
	local pid name ok bad
	wait -n "${!running[@]}" || true
	for pid in "${!running[@]}"; do
		! kill -0 "$pid" 2>/dev/null || continue
		name=${running[$pid]}
		unset "running[$pid]"
		step "$name"
		cat "$WORK/$name.said"
		if read -r ok bad 2>/dev/null <"$WORK/$name.counted"; then
			count_passed "$ok"
			count_failed "$bad"
		else
			say "FAILED: $name ended early"
			count_failed
		fi
	done
}

collect_all() { while [ "${#running[@]}" -gt 0 ]; do collect_ended; done; }

# ---- programs of the sort alone, without a server ----

run_unit_test() {
	local program=$1 log=$WORK/${1##*/}.log status timed_out
	if ! as_user make -C "$WORK/source" PG_CONFIG="$(find_pg_config)" "${build_flags[@]}" "$program" >"$log" 2>&1; then
		tail -n 50 "$log"
		say "FAILED: building $program"
		count_failed
		return
	fi
	run_limited "$(budget_of unit)" "$log" "$WORK/source/$program" --check
	if [ "$status" = 0 ]; then
		say "ok: $program --check"
		count_passed
		return
	fi
	tail -n 50 "$log"
	if [ -n "$timed_out" ]; then
		report_timeout "$program --check"
	else
		say "FAILED: $program --check"
		count_failed
	fi
}

run_unit_tests() {
	run_unit_test bench/cpu/cpu_sort
	run_unit_test bench/cpu/cpu_sort_tight
}

# ---- gpusortd, and the device library ----

# For what is compiled by nvcc: the architecture of the card, or one whose code is not optimised, for it is
# not run.
cuda_flags() {
	local architecture
	if architecture=$(card_architecture); then echo "CUDA_ARCHS=$architecture"; else printf '%s\n' CUDA_ARCHS=90 PTX_ONLY=1; fi
}

# Builds a target of cuda/cuda.mk; one that can't be built has failed.
build_checked() {
	local log=$WORK/${1##*/}.log flags nvcc
	nvcc=$(find_nvcc) || nvcc=
	mapfile -t flags < <(cuda_flags)
	as_user make -C "$WORK/source" -j"$(nproc)" NVCC="$nvcc" "${flags[@]}" "${build_flags[@]}" "$1" >"$log" 2>&1 && return
	tail -n 50 "$log"
	say "FAILED: building ${1##*/}"
	count_failed
	return 1
}

# Builds a program of checks and runs it; its lines are 'ok N', 'not ok N' and 'skipped'.
run_checks() {
	local target=$1 program=${1##*/} log=$WORK/${1##*/}.log status timed_out ok bad
	shift
	build_checked "$target" || return 0
	run_limited "$(budget_of service)" "$log" "$WORK/source/$target" "$@"
	grep -E '^(not ok|skipped|# seed|#   )' "$log" || true
	ok=$(grep -cE '^ok [0-9]+' "$log" || true)
	bad=$(grep -cE '^not ok [0-9]+' "$log" || true)
	count_passed "$ok"
	count_failed "$bad"
	if [ -n "$timed_out" ]; then
		tail -n 3 "$log"
		report_timeout "$program"
	elif [ "$bad" = 0 ] && { [ "$status" != 0 ] || [ "$ok" = 0 ]; }; then
		tail -n 40 "$log"
		say "FAILED: $program (status $status)"
		count_failed
	else
		say "$program: $ok ok, $bad not"
	fi
}

# ---- pg_regress and pg_isolation_regress ----

# pg_regress prints 'test NAME ... ok' up to PostgreSQL 15 and TAP from 16 on.
count_pg_regress() {
	local ok bad
	ok=$(grep -cE '^(test| +|ok [0-9]+ +[-+] ).*( \.\.\. ok |[0-9]+ ms)' <(grep -vE 'FAILED|^not ok' "$1") || true)
	bad=$(grep -cE '\.\.\. FAILED|^not ok ' "$1" || true)
	count_passed "$ok"
	count_failed "$bad"
	if [ -n "$timed_out" ]; then
		report_timeout_of_sessions "$(basename "$1" .log)"
	elif [ "$status" != 0 ] && [ "$bad" = 0 ]; then
		say "FAILED: $(basename "$1" .log) ended with status $status"
		count_failed
	fi
}

# Prints those names, one a line, that are to run.
chosen() { grep -xE "${chosen_tests:-.*}"; }

# The tests of regress/schedule that are to run, after those that provide functions for them, in words.  seams
# looks at every type, which takes minutes under valgrind, and few tests need its functions.
chosen_regression_tests() {
	local test known=
	echo setup
	sed -n 's/^test: *//p' "$WORK/source/regress/schedule" | tr ' ' '\n' | chosen | grep -vx setup | while IFS= read -r test; do
		if [ -z "$known" ] && grep -q seams "$WORK/source/regress/sql/$test.sql"; then
			known=yes
			[ "$test" = seams ] || echo seams
		fi
		echo "$test"
	done
}

# Runs one of the two programs within so many seconds.
run_pg_regress() {
	local name=$1 limit=$2 log=$WORK/$1.log status timed_out
	shift 2
	cd "$WORK/source" || die "no sources"
	PGOPTIONS="${PGOPTIONS:-}$(! runs_all || echo ' -c tests.whole=on')" run_limited "$limit" "$log" "$@" --outputdir=. --bindir="$BINDIR" --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --encoding=UTF8
	cd "$WORK" || die "no folder"
	grep -E '^(test |     |ok |not ok |# )' "$log" || cat "$log"
	count_pg_regress "$log"
	if [ "$status" != 0 ]; then
		find "$WORK/source" -name regression.diffs -exec cat {} +
		find "$WORK/source" -name regression.diffs -delete
	fi
}

# The tests of regress/schedule that are to run, or those given.
run_regression_tests() {
	local tests=("$@")
	if [ $# = 0 ] && [ -n "${chosen_tests:-}" ]; then
		mapfile -t tests < <(chosen_regression_tests)
	elif [ $# = 0 ]; then
		tests=(--schedule=regress/schedule)
	fi
	run_pg_regress regress "$(budget_of regress)" "$PGXS_DIR/src/test/regress/pg_regress" --inputdir=regress --dbname=gpusort_regression "${tests[@]}"
}

# Tests that notice with low thresholds what they don't otherwise, and in the whole run the others of orders,
# of memory and of indexes.
tight_tests() {
	echo types_text few_rows parallel index_builds index_statements index_spill
	! runs_all || echo dictionary memory types_fixed types_variable types_seams bounds columns text_icu_ascii elsewhere cursors rescan
}

# The same with low thresholds, by which more processes write an index than there are pages for.
run_tight_regression_tests() { PGOPTIONS='-c tests.unused_blocks=200' run_regression_tests "$@"; }

# All specs that are to run, or those given.
run_isolation_tests() {
	local specs=("$@")
	[ $# != 0 ] || mapfile -t specs < <(find "$WORK/source/regress/specs" -name '*.spec' -exec basename {} .spec ';' | sort | chosen)
	[ ${#specs[@]} != 0 ] || return 0
	run_pg_regress isolation "$(budget_of isolation)" "$PGXS_DIR/src/test/isolation/pg_isolation_regress" --inputdir=regress --dbname=gpusort_isolation "${specs[@]}"
}

# ---- TAP ----

# Ends servers that a test which was killed has left.
stop_tap_servers() {
	local pidfile
	find "$WORK/tap/tmp_check" -path "*/t_$1_*" -name postmaster.pid 2>/dev/null | while IFS= read -r pidfile; do
		as_user "$BINDIR/pg_ctl" -D "$(dirname "$pidfile")" -m immediate -w stop >/dev/null 2>&1 || true
	done
}

# Counts the assertions of a test program, and its death as one more failure.
run_tap_test() {
	local test=$1 name log status timed_out ok bad
	name=$(basename "$test" .pl)
	log=$WORK/$name.log
	as_user mkdir -p "$WORK/tap"
	# Servers that it has left, as tests do that fail, would be in its way.
	rm -rf "$WORK/tap/tmp_check/t_${name}_"*
	cd "$WORK/source" || die "no sources"
	run_limited "$(budget_of "$name")" "$log" env PATH="$PATH" PG_CONFIG="$(find_pg_config)" PG_REGRESS="$PGXS_DIR/src/test/regress/pg_regress" \
		TESTDIR="$WORK/tap" TESTDATADIR="$WORK/tap/tmp_check" TESTLOGDIR="$WORK/tap/tmp_check/log" \
		PG_TEST_TIMEOUT_DEFAULT=180 PGUSER= PGHOST= perl -I "$PGXS_DIR/src/test/perl" -I regress/t "$test"
	cd "$WORK" || die "no folder"
	ok=$(grep -cE '^ok [0-9]+' "$log" || true)
	bad=$(grep -cE '^not ok [0-9]+' "$log" || true)
	count_passed "$ok"
	count_failed "$bad"
	if [ "$status" = 0 ] && [ "$ok" != 0 ]; then
		say "ok: $name, $ok assertions"
		return
	fi
	if [ "$status" = 0 ] && grep -q '^1\.\.0 # SKIP' "$log"; then
		say "skipped: $name: $(sed -n 's/^1\.\.0 # SKIP //p' "$log")"
		return
	fi
	# The failures, and its last lines; all of the log is in the temporary folder.
	grep -aE -A 30 '^not ok' "$log" | head -n 400 || true
	tail -n 40 "$log"
	if [ -n "$timed_out" ]; then
		stop_tap_servers "$name"
		report_timeout "$name"
		return
	fi
	if [ "$bad" = 0 ]; then
		# it died; the reason is in its own log
		count_failed
		grep -aE -m 5 -A 2 "error running|ERROR|FATAL|PANIC" "$WORK/tap/tmp_check/log/regress_log_$name" || true
	fi
	say "FAILED: $name (status $status)"
}

# Libraries that are there for tests alone: one with hooks of its own, one that builds indexes by parts of
# gpusort, one that has system calls fail, one with the targets of tools/fuzz.
build_test_modules() {
	local module log=$WORK/modules.log
	for module in neighbour btree_writer failing_calls fuzz; do
		as_user make -C "$WORK/source/regress/$module" PG_CONFIG="$(find_pg_config)" with_llvm=no DESTDIR="$WORK/pg" install >"$log" 2>&1 ||
			{ cat "$log" >&2 && die "regress/$module could not be built"; }
	done
}

# Has the private installation's initdb copy what it has made before with the same arguments: a copy takes a
# third of the time, and every TAP program makes clusters.
keep_initial_clusters() {
	as_user mkdir "$WORK/initial"
	as_user mv "$BINDIR/initdb" "$BINDIR/initdb_itself"
	as_user tee "$BINDIR/initdb" >/dev/null <<-EOT
		#!/bin/bash
		set -euo pipefail
		all=("\$@") options=() folder=
		while [ \$# -gt 0 ]; do
			case \$1 in
				-D | --pgdata) folder=\$2 && shift 2 ;;
				*) options+=("\$1") && shift ;;
			esac
		done
		# Without such a folder there is something else to do.
		[ -n "\$folder" ] || exec "\$0_itself" "\${all[@]}"
		made=$WORK/initial/\$(printf '%s\\n' "\${LANG:-}" "\${LC_ALL:-}" "\${TZ:-}" "\${options[@]}" | sha256sum | cut -c 1-32)
		exec 9>"\$made.lock"
		flock 9
		if [ ! -d "\$made" ]; then
			rm -rf "\$made.new"
			"\$0_itself" -D "\$made.new" "\${options[@]}" >"\$made.log" 2>&1 || { cat "\$made.log" >&2 && exit 1; }
			mv "\$made.new" "\$made"
		fi
		exec 9>&-
		mkdir -p -m 700 "\$folder"
		cp -a "\$made/." "\$folder"
		cat "\$made.log"
	EOT
	as_user chmod 755 "$BINDIR/initdb"
}

# The scripts that have installed former versions, each as git has had it, for the test of upgrades: oldest
# first, NUMBER-COMMIT-FILE.
provide_former_sql() {
	local folder=$WORK/source/regress/former_sql line commit='' number=0
	is_working_tree || return 0
	as_user mkdir -p "$folder"
	git -C "$REPOSITORY" -c safe.directory='*' log --reverse --diff-filter=AM --format=%h --name-only -- sql |
		while IFS= read -r line; do
			case $line in
				"" | sql/gpusort--*--*.sql | "sql/gpusort--$(extension_version).sql") ;;
				sql/gpusort--*.sql)
					number=$((number + 1))
					git -C "$REPOSITORY" -c safe.directory='*' show "$commit:$line" |
						as_user tee "$folder/$(printf %02d "$number")-$commit-${line#sql/}" >/dev/null
					;;
				*) commit=$line ;;
			esac
		done
}

# One of them, with its seconds.
run_timed_tap_test() {
	local start=$SECONDS
	run_tap_test "$WORK/source/regress/t/$1.pl"
	end_part "$1" "$start"
}

# A quick run of all groups leaves out what takes much time for the mistakes that it alone notices
# (docs/decisions/0019-quick-run-of-the-tests.md).
tap_tests_of_the_whole_run='004_temporary_files|009_faults|010_neighbours|012_fairness|013_index_builds|018_verified_order|020_default_collations|027_several_cards'

# The TAP programs that this run has, one a line.
wanted_tap_tests() {
	local left_out=$tap_tests_of_the_whole_run
	if runs_all || [ "$groups" != "$all_groups" ] || [ -n "${chosen_tests:-}" ]; then left_out='^$'; fi
	find "$WORK/source/regress/t" -name '*.pl' -exec basename {} .pl ';' | chosen | grep -vxE "$left_out"
}

# Those that take longest come first.
start_tap_tests() {
	local test
	for test in $(wanted_tap_tests | by_budget); do
		start_beside "$test" run_timed_tap_test "$test"
	done
}

# ---- random sorts ----

# shellcheck disable=SC2034
# Of the quick run: that long in mode force, a third of it in auto, and once more with low thresholds.
quick_random_seconds=12

# For so many seconds, from this seed.
run_random_sorts() {
	local seconds=$1 seed=$2 log=$WORK/random.log status timed_out
	shift 2
	run_limited "$((seconds + $(budget_of random)))" "$log" env PATH="$PATH" perl "$WORK/source/regress/random_sorts" --seconds "$seconds" --seed "$seed" "$@"
	cat "$log"
	if [ -n "$timed_out" ]; then
		report_timeout_of_sessions "random sorts"
	elif [ "$status" = 0 ]; then
		count_passed
	else
		count_failed
	fi
}

# ---- a build with low thresholds ----

# Builds gpusort with TIGHT=1 and installs it in place of the other; sessions that begin from now on use it.
install_tight_build() {
	local log=$WORK/tight.log
	if [ ! -d "$WORK/tight" ]; then
		as_user mkdir "$WORK/tight"
		tar -C "$WORK/source" --exclude='*.o' --exclude='*.so' --exclude='*.a' --exclude='./cuda/build*' -cf - . | as_user tar -C "$WORK/tight" -xf -
	fi
	as_user make -C "$WORK/tight" -j"$(nproc)" PG_CONFIG="$(find_pg_config)" TIGHT=1 "${build_flags[@]}" DESTDIR="$WORK/pg" install >"$log" 2>&1 ||
		{ cat "$log" >&2 && die "the build with low thresholds failed"; }
}
