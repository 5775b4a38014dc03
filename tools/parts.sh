# shellcheck shell=bash
# Variables of the caller:
# shellcheck disable=SC2154
#
# The parts of tools/test, to be sourced after lib.sh: by tools/test, which runs them all, and by
# tools/mutate, which runs those that should notice a mistake.  Each counts what passed and failed in $passed
# and $failed, and has a limit of time: what takes longer is ended and counted as failed, with what its
# servers were doing.
#
# Wanted from the caller: build_flags, the arguments of make; the throwaway cluster, where sessions are
# needed; time_limit, if all parts shall have the same limit; and chosen_tests, a regular expression, if not
# all tests of a part shall run.

passed=0 failed=0

count_passed() { passed=$((passed + ${1:-1})); }
count_failed() { failed=$((failed + ${1:-1})); }

# The seconds that something may take that takes so many at the most on a busy machine; GPUSORT_TIME_FACTOR
# makes it more for slow ones, such as under valgrind.
time_limit() { echo "${time_limit:-$(($1 * ${GPUSORT_TIME_FACTOR:-1}))}"; }

# Runs a command of the unprivileged user that may take so many seconds, its output to a file; sets status,
# and timed_out to something if it took longer.
run_limited() {
	local limit log=$2
	limit=$(time_limit "$1")
	shift 2
	status=0 timed_out=
	as_user timeout --foreground --kill-after=20 "$limit" "$@" >"$log" 2>&1 || status=$?
	[ "$status" != 124 ] && [ "$status" != 137 ] || timed_out=$limit
}

# Says that a part took too long, and what the cluster's sessions are at; starts the cluster again, for they
# won't end.
report_timeout() {
	say "FAILED: $1 took longer than $timed_out s"
	count_failed
	[ -f "$WORK/data/postmaster.pid" ] || return 0
	sql -F ' | ' -c "SELECT pid, backend_type, state, wait_event, left(query, 300) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND (state <> 'idle' OR backend_type LIKE '%worker%')" 2>&1 || true
	restart_cluster
}

# ---- programs of the sort alone, without a server ----

run_unit_test() {
	local program=$1 log=$WORK/unit.log status timed_out
	if ! as_user make -C "$WORK/source" PG_CONFIG="$(find_pg_config)" with_llvm=no "${build_flags[@]}" "$program" >"$log" 2>&1; then
		tail -n 50 "$log"
		say "FAILED: building $program"
		count_failed
		return
	fi
	run_limited 300 "$log" "$WORK/source/$program" --check
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

# ---- the device library ----

# Builds a program of checks and runs it; its lines are 'ok N', 'not ok N' and 'skipped'.  Wants nvcc.
run_checks() {
	local target=$1 program=${1##*/} log=$WORK/${1##*/}.log status timed_out ok bad
	shift
	if ! as_user make -C "$WORK/source" -j"$(nproc)" NVCC="$nvcc" CUDA_ARCHS="$(card_architecture || echo 90)" \
		"${build_flags[@]}" "$target" >"$log" 2>&1; then
		tail -n 50 "$log"
		say "FAILED: building $program"
		count_failed
		return
	fi
	run_limited 900 "$log" "$WORK/source/$target" "$@"
	grep -E '^(ok|not ok|skipped|# seed|#   )' "$log" || cat "$log"
	ok=$(grep -cE '^ok [0-9]+' "$log" || true)
	bad=$(grep -cE '^not ok [0-9]+' "$log" || true)
	count_passed "$ok"
	count_failed "$bad"
	if [ -n "$timed_out" ]; then
		report_timeout "$program"
	elif [ "$bad" = 0 ] && { [ "$status" != 0 ] || [ "$ok" = 0 ]; }; then
		say "FAILED: $program (status $status)"
		count_failed
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
		report_timeout "$(basename "$1" .log)"
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
	run_limited "$limit" "$log" "$@" --outputdir=. --bindir="$BINDIR" --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" --encoding=UTF8
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
	run_pg_regress regress 900 "$PGXS_DIR/src/test/regress/pg_regress" --inputdir=regress --dbname=gpusort_regression "${tests[@]}"
}

# The same with low thresholds, by which more processes write an index than there are pages for.
run_tight_regression_tests() { PGOPTIONS='-c tests.unused_blocks=200' run_regression_tests "$@"; }

# All specs that are to run, or those given.
run_isolation_tests() {
	local specs=("$@")
	[ $# != 0 ] || mapfile -t specs < <(find "$WORK/source/regress/specs" -name '*.spec' -exec basename {} .spec ';' | sort | chosen)
	[ ${#specs[@]} != 0 ] || return 0
	run_pg_regress isolation 300 "$PGXS_DIR/src/test/isolation/pg_isolation_regress" --inputdir=regress --dbname=gpusort_isolation "${specs[@]}"
}

# ---- TAP ----

# Ends servers that a test which was killed has left.
stop_tap_servers() {
	local pidfile
	find "$WORK/tap" -name postmaster.pid 2>/dev/null | while IFS= read -r pidfile; do
		as_user "$BINDIR/pg_ctl" -D "$(dirname "$pidfile")" -m immediate -w stop >/dev/null 2>&1 || true
	done
}

# Counts the assertions of a test program, and its death as one more failure.
run_tap_test() {
	local test=$1 name log status timed_out ok bad start=$SECONDS
	name=$(basename "$test" .pl)
	log=$WORK/$name.log
	as_user mkdir -p "$WORK/tap"
	# Servers that it has left, as tests do that fail, would be in its way.
	rm -rf "$WORK/tap/tmp_check/t_${name}_"*
	cd "$WORK/source" || die "no sources"
	run_limited 900 "$log" env PATH="$PATH" PG_CONFIG="$(find_pg_config)" PG_REGRESS="$PGXS_DIR/src/test/regress/pg_regress" \
		TESTDIR="$WORK/tap" TESTDATADIR="$WORK/tap/tmp_check" TESTLOGDIR="$WORK/tap/tmp_check/log" \
		PG_TEST_TIMEOUT_DEFAULT=180 PGUSER= PGHOST= perl -I "$PGXS_DIR/src/test/perl" -I regress/t "$test"
	cd "$WORK" || die "no folder"
	ok=$(grep -cE '^ok [0-9]+' "$log" || true)
	bad=$(grep -cE '^not ok [0-9]+' "$log" || true)
	count_passed "$ok"
	count_failed "$bad"
	if [ "$status" = 0 ] && [ "$ok" != 0 ]; then
		say "ok: $name ($ok assertions, $((SECONDS - start)) s)"
		return
	fi
	if [ "$status" = 0 ] && grep -q '^1\.\.0 # SKIP' "$log"; then
		say "skipped: $name: $(sed -n 's/^1\.\.0 # SKIP //p' "$log")"
		return
	fi
	# Without the record of what went to and from background sessions.
	grep -E '^(ok|not ok|#|[^#]*(ERROR|FATAL|died|at .* line))' "$log" | grep -v 'background_psql: ' || cat "$log"
	if [ -n "$timed_out" ]; then
		stop_tap_servers
		report_timeout "$name"
		return
	fi
	[ "$bad" != 0 ] || count_failed
	say "FAILED: $name (status $status)"
}

# Libraries that are there for tests alone: one with hooks of its own, one that builds indexes by parts of
# gpusort.
build_test_modules() {
	local module log=$WORK/modules.log
	for module in neighbour btree_writer; do
		as_user make -C "$WORK/source/regress/$module" PG_CONFIG="$(find_pg_config)" with_llvm=no DESTDIR="$WORK/pg" install >"$log" 2>&1 ||
			{ cat "$log" >&2 && die "regress/$module could not be built"; }
	done
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

run_tap_tests() {
	local test
	build_test_modules
	provide_former_sql
	for test in $(find "$WORK/source/regress/t" -name '*.pl' -exec basename {} .pl ';' | sort | chosen); do
		run_tap_test "$WORK/source/regress/t/$test.pl"
	done
}

# ---- random sorts ----

# For so many seconds, from this seed.
run_random_sorts() {
	local seconds=$1 seed=$2 log=$WORK/random.log status timed_out
	shift 2
	run_limited "$((seconds + 180))" "$log" env PATH="$PATH" perl "$WORK/source/regress/random_sorts" --seconds "$seconds" --seed "$seed" "$@"
	cat "$log"
	if [ -n "$timed_out" ]; then
		report_timeout "random sorts"
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
	as_user make -C "$WORK/tight" -j"$(nproc)" PG_CONFIG="$(find_pg_config)" with_llvm=no TIGHT=1 "${build_flags[@]}" DESTDIR="$WORK/pg" install >"$log" 2>&1 ||
		{ cat "$log" >&2 && die "the build with low thresholds failed"; }
}
