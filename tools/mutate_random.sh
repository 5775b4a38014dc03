# shellcheck shell=bash
# Variables of the caller's, and for it:
# shellcheck disable=SC2154,SC2034
#
# The part of tools/mutate that leaves it to chance: which tests reach which lines, measured once for each
# state of the sources; mistakes drawn from these lines by tools/mutate_chance; and what became of them.  To
# be sourced by tools/mutate, whose functions plant them, build and run tests, as they do with those of a
# list.

# ---- which tests reach which lines ----

# Where that is kept, outside the repository.  What is in the name decides it.
reach_file() {
	local folder
	folder=$(cache_folder) || die "no folder to keep things in" "name one by GPUSORT_CACHE"
	printf '%s/reach-%s%s\n' "$folder" "$(name_of_state src cuda/daemon regress expected sql bench/cpu Makefile)" \
		"${chosen_tests:+-$(sha256sum <<<"$chosen_tests" | cut -c 1-8)}"
}

# The parts that are measured: each test of the quick run by itself, and some random sorts.
reach_parts() {
	{
		echo unit unit
		echo seams regress
		sed -n 's/^test: *//p' "$REPOSITORY/regress/schedule" | tr ' ' '\n' | grep -vxE 'setup|seams' | sed 's/.*/& regress &/'
		basename -a -s .spec "$REPOSITORY"/regress/specs/*.spec | sed 's/.*/& isolation &/'
		basename -a -s .pl "$REPOSITORY"/regress/t/*.pl | grep -vxE "$tap_tests_of_the_whole_run" | sed 's/.*/& tap &/'
		echo random random "$quick_random_seconds"
	} | while read -r name part; do
		! chosen <<<"$name" >/dev/null || echo "$part"
	done
}

# A mistake may ask for memory without end.
limit_memory() { ulimit -v 16000000; }

# Runs one part with counting code, and notes the lines that it reached.  What counts is written when a
# process ends, which is a moment after its session.
measure_part() {
	local part=$1 number=$2 words start=${EPOCHREALTIME/./}
	read -ra words <<<"$part"
	find "$WORK/source" -name '*.gcda' -delete
	# Only the first one has to make the functions that the others use.
	[ "${words[0]}" != regress ] || [ "${#words[@]}" = 1 ] || words[0]=again
	run_part "${words[@]}"
	if [ "$failed" != 0 ] || [ "$passed" = 0 ]; then
		say "without a mistake '$part' failed: left out"
		cat "$WORK/part.log" >"$WORK/failed-${part// /-}.log"
		return
	fi
	printf 'T\t%s\t%s\t%s\n' "$number" "$(((${EPOCHREALTIME/./} - start) / 1000000 + 1))" "$part" >>"$WORK/reach/tests"
	sleep 1
	(cd "$WORK/source" && find . -name '*.gcda' -print0 | as_user xargs -0 -r gcov -t 2>/dev/null) |
		perl -ne '
			if (/^\s*-:\s+0:Source:(?:\.\/)?((src\/)?.*)/) { $file = $2 ? $1 : "" }
			elsif ($file && /^\s*\d+\*?:\s*(\d+):/) { $reached{"$file\t$1"} = 1 }
			END { print "$_\n" foreach sort keys %reached }' >"$WORK/reach/$number"
	say "$part: $(wc -l <"$WORK/reach/$number") lines"
}

# Measures all parts and keeps what they reached.
measure_reach() {
	local file part number=0
	file=$(reach_file)
	build_flags=(COVERAGE=1 "GPUSORTD=$fake_gpusortd" "CHECKED_GPUSORTD=$fake_gpusortd")
	limit_memory
	prepare_server
	build_part tap || { cat "$WORK/mutate.log" && die "the build failed"; }
	mkdir "$WORK/reach"
	while IFS= read -r part <&3; do
		measure_part "$part" "$number"
		number=$((number + 1))
	done 3< <(reach_parts)
	[ -s "$WORK/reach/tests" ] || die "no test passed"
	{
		cat "$WORK/reach/tests"
		(cd "$WORK/reach" && perl -ne '
			chomp;
			push @{ $tests{$_} }, $ARGV;
			END { print "L\t$_\t", join(",", @{ $tests{$_} }), "\n" foreach sort keys %tests }' [0-9]*)
	} >"$file.part"
	mv "$file.part" "$file"
	say "which tests reach which lines: $file"
}

# ---- mistakes that differ in no result ----

declare -A reasons

# A list like tools/mutations, with 'because: ' and the reason in place of the parts.  Fails if one can't be
# planted any more.
read_equivalents() {
	local files=() titles=() parts=() longs=() olds=() news=() why=() i line half bad=0
	while IFS= read -r line; do
		case $line in
			$'\tbecause: '*) why[${#files[@]} - 1]=${line#*because: } ;;
			*) read_line "$line" ;;
		esac
	done <"$REPOSITORY/tools/equivalents"
	for i in "${!files[@]}"; do
		[ -n "${why[i]:-}" ] || die "tools/equivalents: '${titles[i]}' has no reason"
		reasons["$(words_of "${files[i]} ${olds[i]} > ${news[i]}")"]=${why[i]}
	done
	for i in $(unplantable); do say "tools/equivalents: ${files[i]}: ${titles[i]}: can't be planted" && bad=1; done
	return "$bad"
}

# White space counts as one blank.
words_of() {
	local words
	read -rd '' -a words <<<"$1" || true
	echo "${words[*]}"
}

# ---- what becomes of them ----

declare -A seconds_of tallies

# How long a part may take: three times what its tests took, and some.
set_limit() {
	local kind names name sum
	read -r kind names <<<"$1"
	sum=${seconds_of[$kind]:-10}
	for name in $names; do sum=$((sum + ${seconds_of["$kind $name"]:-10})); done
	limits[$1]=$(((3 * sum + 30) * ${GPUSORT_TIME_FACTOR:-1}))
}

# Compiles the file of the i-th mistake alone.  Fails if that can't be, or if it makes the same code: then
# verdict says so.
compiles_to_something_else() {
	local object=${files[$1]%.c}.o
	[[ ${files[$1]} == *.c ]] || return 0
	plant "$1" 2>"$WORK/error" || { verdict='not built' details=$(head -n 1 "$WORK/error") && return 1; }
	make_quietly PG_CONFIG="$pg_config" "$object" || { verdict='not built' details='it cannot be compiled' && return 1; }
	! cmp -s "$WORK/source/$object" "$WORK/objects/$object" || { verdict='same code' details='the compiler sees no difference' && return 1; }
}

# Tries the i-th mistake, if its line of the table is not there from another run.  Sets verdict and details.
try_drawn() {
	local i=$1 part reason
	reason=${reasons["$(words_of "${files[i]} ${olds[i]} > ${news[i]}")"]:-}
	if [ -n "$reason" ]; then
		verdict=equivalent details=$reason
		return
	fi
	while IFS= read -r part; do set_limit "$part"; done < <(parts_of "$i")
	if compiles_to_something_else "$i"; then run_parts "$i"; fi
	plant "$i" back
}

# Counts a line of the table, by room and verdict.
count_line() {
	local verdict=${1%%  *} room=${1#*  src/}
	room=${room%%:*}
	room=${room%/*}
	verdict=${verdict// /_}
	tallies["$room $verdict"]=$((${tallies["$room $verdict"]:-0} + 1))
}

# The i-th mistake: its line is printed, kept, and counted by room.
take_drawn() {
	local i=$1 headline="${files[$1]}: ${titles[$1]}" start=$SECONDS line verdict details
	line=$(grep -F " $headline | " "$table" | tail -n 1) || line=
	if [ -z "$line" ]; then
		try_drawn "$i"
		line=$(printf '%-10s  %s | %s (%d s)' "$verdict" "$headline" "$details" "$((SECONDS - start))")
		printf '%s\n' "$line" >>"$table"
	fi
	say "$line"
	count_line "$line"
	[[ ! $line =~ ^(not built|same code|not tried) ]]
}

# Prints a row of the last table; sets share, the percentage that was noticed of those that can be.
print_row() {
	local name=$1 rooms=$2 room verdict sums=() sum
	for verdict in noticed SURVIVED equivalent not_built same_code not_tried; do
		sum=0
		for room in $rooms; do sum=$((sum + ${tallies["$room $verdict"]:-0})); done
		sums+=("$sum")
	done
	share=-1
	[ $((sums[0] + sums[1])) = 0 ] || share=$((100 * sums[0] / (sums[0] + sums[1])))
	printf '%-14s %8d %8d %10d %12d %9d %9d %9s\n' "$name" "${sums[@]}" "${share/#-1/-}%"
}

# The table by room.  Fails if too few were noticed: 85 percent, and 75 of those in plan.
finish_drawn() {
	local rooms room share enough=0
	rooms=$(printf '%s\n' "${!tallies[@]}" | sed 's/ .*//' | sort -u)
	printf '%-14s %8s %8s %10s %12s %9s %9s %9s\n' room noticed survived equivalent 'not compiled' 'same code' 'not tried' noticed
	for room in $rooms; do print_row "$room" "$room"; done
	print_row all "$rooms"
	print_row plan "$(grep -x plan <<<"$rooms" || true)" >/dev/null
	[ "$share" = -1 ] || [ "$share" -ge 75 ] || enough=1
	print_row 'all but plan' "$(grep -vx plan <<<"$rooms" || true)"
	[ "$share" = -1 ] || [ "$share" -ge 85 ] || enough=1
	return "$enough"
}

# The table by room of what several runs have noted, with other seeds or rooms; of each mistake once.
sum_drawn() {
	local line headline
	declare -A seen=()
	while IFS= read -r line; do
		headline=${line#*src/}
		headline=${headline%% | *}
		[ -n "${seen[$headline]:-}" ] || count_line "$line"
		seen[$headline]=yes
	done < <(cat "$@")
	finish_drawn
}

# Draws mistakes and tries them, until so many have been tried.
run_drawn() {
	local number=$1 i tried=0 reach kind part
	reach=$(reach_file)
	[ -s "$reach" ] || "$REPOSITORY/tools/mutate" --reach ${chosen_tests:+--tests "$chosen_tests"} || die "which tests reach which lines could not be measured"
	: "${table:=$reach-seed-$seed${rooms:+-$rooms}}"
	touch "$table"
	while IFS=$'\t' read -r kind _ i part; do
		[ "$kind" != T ] || seconds_of[$part]=$i
	done <"$reach"
	# An argument of another type is no mistake that a compiler would let pass.
	build_flags[0]+=' -Werror=incompatible-pointer-types -Werror=int-conversion'
	read_equivalents || die "tools/equivalents is not up to date"
	limit_memory
	prepare_server
	as_user mkdir "$WORK/objects"
	(cd "$WORK/source" && find src -name '*.o' -exec cp --parents -t "$WORK/objects" {} +)
	list=$WORK/drawn
	"$REPOSITORY/tools/mutate_chance" --reach "$reach" --count "$((4 * number + 20))" --seed "$seed" --rooms "$rooms" --seconds "$most_seconds" >"$list"
	read_list
	step "$number mistakes of ${#files[@]} that were drawn, seed $seed"
	for i in "${!files[@]}"; do
		[ "$tried" -lt "$number" ] || break
		if take_drawn "$i"; then tried=$((tried + 1)); fi
	done
	say "the table: $table"
	finish_drawn
}
