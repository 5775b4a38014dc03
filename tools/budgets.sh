# shellcheck shell=bash
# Variables of the caller:
# shellcheck disable=SC2154
#
# What the parts of tools/test may take, and what they took; to be sourced after lib.sh.
#
# The table has a line for each part: its seconds in the quick run, and in the whole one where those are
# others.  They are three times and more what a good machine with two cores needs, where three parts run at a
# time, because other machines are half as fast and less.  What takes longer has failed; GPUSORT_TIME_FACTOR
# makes all of them more.  A TAP program without a line of its own may take what stands beside tap.
budgets='
total 4500 21600
lint 600
build 300
regress 1200
isolation 120
random 180 600
tight 900 1800
service 600 1200
library 900 3600
unit 480
tap 400
006_cuda_device 900 1800
027_several_cards 600 1200
029_full_card 600 1200
010_neighbours 400
028_kept_memory 400
030_failing_calls 500 5400
017_index_neighbours 300
016_index_faults 300
020_default_collations 300
014_btree_writer 300
002_cancel 300
013_index_builds 300
019_return_windows 300
018_verified_order 300
022_dumps_and_replicas 300
023_limits 600
009_faults 300
005_launcher 300
'

# Is the whole run wanted, not the quick one?
runs_all() { [ "${GPUSORT_TEST_ALL:-0}" = 1 ]; }

# Prints the seconds that a part may take.
budget_of() {
	local column=2
	! runs_all || column=3
	awk -v part="$1" -v column="$column" -v factor="${GPUSORT_TIME_FACTOR:-1}" '
		$1 == part || $1 == "tap" { seconds[$1] = NF >= column ? $column : $2 }
		END { print int((part in seconds ? seconds[part] : seconds["tap"]) * factor) }' <<<"$budgets"
}

# Sorts names of parts, one a line: those that may take longest first.
by_budget() {
	local part
	while IFS= read -r part; do printf '%s %s\n' "$(budget_of "$part")" "$part"; done | sort -k 1,1nr -k 2 | sed 's/^[^ ]* //'
}

# A folder for what may be lost between two runs.  Fails where none can be written to.
cache_folder() {
	local folder=${GPUSORT_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/gpusort}
	mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ] && echo "$folder"
}

# These files as they are, and what compiles them: changed as well as not, what is the same has the same name.
name_of_state() {
	local nvcc
	{
		source_files "$@" | while IFS= read -r file; do sha256sum "$REPOSITORY/$file"; done | sed "s,$REPOSITORY/,,"
		"$(find_pg_config)" --version --configure
		gcc --version || true
		if nvcc=$(find_nvcc); then "$nvcc" --version; fi
		card_architecture || true
	} 2>/dev/null | sha256sum | cut -c 1-32
}

# Notes and prints what a part took that began at $2 (of $SECONDS); one that took more than its budget, and
# than the seconds $3 that it was told to go on for, has failed.
end_part() {
	local seconds=$((SECONDS - $2)) budget
	budget=$(($(budget_of "$1") + ${3:-0}))
	printf '%s\t%s\t%s\n' "$1" "$seconds" "$budget" >>"$WORK/times"
	say "$1: $seconds s of $budget"
	if [ "$seconds" -gt "$budget" ]; then
		say "FAILED: $1 took more than its budget (tools/budgets.sh)"
		count_failed
	fi
}

# Keeps what was noted: a line has the time, the commit, the part, its seconds and its budget.
keep_times() {
	local folder commit
	[ -s "$WORK/times" ] && folder=$(cache_folder) || return 0
	commit=$(git -C "$REPOSITORY" -c safe.directory='*' describe --always --dirty 2>/dev/null || extension_version)
	sed "s,^,$(date -u +%FT%TZ)\t$commit\t," "$WORK/times" >>"$folder/times"
	say "seconds of each part: $folder/times"
}
