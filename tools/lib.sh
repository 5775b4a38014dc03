# shellcheck shell=bash
# Variables for the caller:
# shellcheck disable=SC2034
#
# Shell functions shared by tools/, bench/queries/orderby and .ci/run.  To be sourced.
#
# What they build is a *private installation*: a copy of the installed PostgreSQL's program, library and share
# folders below a temporary folder, with gpusort installed into it by `make install DESTDIR=`.  PostgreSQL
# finds its files relative to its own executable, so such a copy runs as it is; the system's PostgreSQL and
# its clusters are never written to.  A *throwaway cluster* in the same folder listens on a Unix socket alone.
# leave() stops the cluster and removes the folder, on success, on errors and on Ctrl-C.

# Nothing of the caller's may send a client of ours to another server, unless use_running_server says so.
declare -A callers
for variable in PGHOST PGPORT PGUSER PGDATABASE; do
	callers[$variable]=${!variable:-}
done
unset PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE PGOPTIONS PGDATA PGTZ \
	PGAPPNAME PGCLIENTENCODING PGSSLMODE PG_COLOR PSQLRC
export LC_ALL=C.UTF-8

REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SUPPORTED_VERSIONS='19 18 17 16 15'
SUPPORTED_IN_WORDS="PostgreSQL ${SUPPORTED_VERSIONS##* } to ${SUPPORTED_VERSIONS%% *}"

say() { printf '%s\n' "$*"; }
step() { printf '== %s\n' "$*"; }

# Ends with what is wrong and, where somebody can do something about it, what to do next.
die() {
	printf '%s: %s\n' "${0##*/}" "$1" >&2
	[ $# = 1 ] || printf 'next: %s\n' "$2" >&2
	exit 1
}

# ---- the sources ----

# Is this a working tree, with git to ask about it?  A release's archive is none.
is_working_tree() { git -C "$REPOSITORY" -c safe.directory='*' rev-parse --is-inside-work-tree >/dev/null 2>&1; }

# Prints the files of the repository that match the patterns (git's, such as '*.c'), one a line: those that
# git knows, and new ones that it does not ignore.
source_files() {
	local file
	git -C "$REPOSITORY" -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while IFS= read -r file; do
			[ ! -f "$REPOSITORY/$file" ] || printf '%s\n' "$file"
		done
}

# Prints the scripts whose first line names one of the interpreters (a regular expression), one a line.
scripts_of() {
	# shellcheck disable=SC2016
	source_files | (
		cd "$REPOSITORY" && PATTERN="^#!.*[/ ]($1)( |\$)" xargs -r -d '\n' perl -e '
			foreach my $file (@ARGV) {
				open my $in, "<", $file or next;
				my $line = <$in> // "";
				print "$file\n" if $line =~ /$ENV{PATTERN}/;
			}'
	)
}

# The version, as gpusort.control has it.
extension_version() { "$REPOSITORY/tools/version"; }

# ---- users ----

# Runs a command as root.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root for: $*" "run it as root (su -), or have root install sudo and give $(id -un) leave to use it"
	fi
}

# The user that servers and tests run as: PostgreSQL refuses to run as root.
unprivileged_user() {
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

# Runs a command as that user, in a folder that it can read.
as_user() {
	if [ "$(id -u)" != 0 ]; then
		"$@"
	else
		runuser -u "$(unprivileged_user)" -- env HOME="${WORK:-/}" "$@"
	fi
}

# ---- the PostgreSQL to build against ----

# Has this pg_config's PostgreSQL a server, its headers and PGXS, and does gpusort support it?
pg_config_is_complete() {
	local bin headers pgxs version
	bin=$("$1" --bindir 2>/dev/null) && headers=$("$1" --includedir-server) && pgxs=$("$1" --pgxs) || return 1
	version=$("$1" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')
	[[ " $SUPPORTED_VERSIONS " == *" $version "* ]] &&
		[ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && [ -f "$headers/postgres.h" ] && [ -f "$pgxs" ]
}

# Prints the pg_config to use: $PG_CONFIG if set, else the newest complete one of the distribution's packages,
# else that of the PATH.  Fails if there is none.
find_pg_config() {
	local version candidate
	if [ -n "${PG_CONFIG:-}" ]; then
		pg_config_is_complete "$PG_CONFIG" || die "PG_CONFIG=$PG_CONFIG names no $SUPPORTED_IN_WORDS with server and headers" \
			"install its headers (Debian: postgresql-server-dev-NN), or unset PG_CONFIG to have one looked for"
		echo "$PG_CONFIG"
		return
	fi
	for version in $SUPPORTED_VERSIONS; do
		candidate=/usr/lib/postgresql/$version/bin/pg_config
		if pg_config_is_complete "$candidate"; then
			echo "$candidate"
			return
		fi
	done
	candidate=$(command -v pg_config) && pg_config_is_complete "$candidate" && echo "$candidate"
}

# ---- the CUDA compiler ----

# Is this the nvcc of CUDA 12 or later?
nvcc_is_recent() {
	local release
	release=$("$1" --version 2>/dev/null | sed -nE 's/.*release ([0-9]+).*/\1/p')
	[ "${release:-0}" -ge 12 ]
}

# Prints the nvcc to use: $NVCC if set, else that of the PATH, else that of /usr/local/cuda.  Fails if there
# is none.
find_nvcc() {
	local candidate
	if [ -n "${NVCC:-}" ]; then
		nvcc_is_recent "$NVCC" || die "NVCC=$NVCC is no nvcc of CUDA 12 or later" "unset NVCC to have one looked for in the PATH and in /usr/local/cuda"
		echo "$NVCC"
		return
	fi
	for candidate in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
		if nvcc_is_recent "$candidate"; then
			echo "$candidate"
			return
		fi
	done
	return 1
}

# Compute capability of the first card, as 90.  Fails if there is no card.
card_architecture() {
	local capability
	capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
	[[ $capability =~ ^[0-9]+$ ]] && echo "$capability"
}

# ---- the temporary folder ----

# Makes $WORK, readable by and owned by the unprivileged user, removed by leave().  Not below the repository,
# which that user may be unable to reach (/root), and not in /tmp, which may be memory.
enter_workspace() {
	WORK=$(mktemp -d "${GPUSORT_TMPDIR:-/var/tmp}/gpusort.XXXXXX")
	chmod 755 "$WORK"
	[ "$(id -u)" != 0 ] || chown "$(unprivileged_user):" "$WORK"
	trap leave EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	cd "$WORK" || die "cannot enter $WORK"
}

# Ends what was started in the background as a group of its own, and servers that it leaves.
end_started() {
	local pid pidfile
	for pid in $(jobs -p); do
		kill -TERM -- "-$pid" 2>/dev/null || continue
		wait "$pid" || true
		find "$WORK" -name postmaster.pid -not -path "$WORK/data/*" | while IFS= read -r pidfile; do
			kill -QUIT "$(head -n 1 "$pidfile")" 2>/dev/null || true
		done
	done
}

leave() {
	local status=$?
	trap - EXIT
	trap '' INT TERM HUP
	end_started
	stop_cluster
	cd /
	if [ -n "${GPUSORT_KEEP:-}" ]; then
		say "kept: $WORK"
	else
		rm -rf "$WORK"
	fi
	exit "$status"
}

# Requires that many megabytes free where $WORK is.
require_disk_space() {
	local free
	free=$(df -Pm "$WORK" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$1" ] || die "needs $1 MB free in $(dirname "$WORK"), has $free" "name another folder by GPUSORT_TMPDIR, or fewer rows where there is an option for them"
}

# ---- the private installation ----

# Copies the sources to $WORK/source: the build leaves nothing in the repository, which may be read-only.
copy_sources() {
	as_user mkdir -p "$WORK/source"
	tar -C "$REPOSITORY" --exclude='./.*' --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude='*.a' \
		--exclude=./results --exclude=./dist --exclude=./tmp_check --exclude=./log --exclude=./bench/results \
		--exclude='./cuda/build*' --exclude=./cuda/check/gpucheck --exclude=./bench/gpu/gpubench -cf - . |
		as_user tar -C "$WORK/source" --no-same-owner --no-same-permissions -xf -
}

# Is the gpusortd in the repository newer than all that it is made of?
gpusortd_is_current() {
	local program=$REPOSITORY/cuda/daemon/gpusortd
	[ -x "$program" ] &&
		[ -z "$(find "$REPOSITORY"/cuda -path '*/check' -prune -o -path '*/build*' -prune -o \
			\( -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name '*.c' -o -name '*.h' \) -newer "$program" -print -quit)" ]
}

# Sees to a gpusortd in $WORK/source: the repository's, or one that is built for this machine's card, or for
# an H100 where there is none.  Without nvcc there is none.  Arguments go to make: with other flags than those
# of the device library's checks all would be compiled twice.
build_gpusortd() {
	local nvcc log=$WORK/gpusortd.log
	! gpusortd_is_current || return 0
	as_user rm -f "$WORK/source/cuda/daemon/gpusortd"
	nvcc=$(find_nvcc) || return 0
	step "building gpusortd"
	as_user make -C "$WORK/source" -j"$(nproc)" NVCC="$nvcc" CUDA_ARCHS="$(card_architecture || echo 90)" "$@" gpusortd \
		>"$log" 2>&1 || { cat "$log" >&2 && die "gpusortd could not be built" "see above; it needs nvcc of CUDA 12 or later (tools/setup cuda); without nvcc in the PATH all else goes on"; }
}

# Builds the gpusortd over a CUDA runtime in host memory, which needs no nvcc: it is enough for tests.  Who
# wants it installed passes make GPUSORTD=$fake_gpusortd.
fake_gpusortd=cuda/daemon/fake/gpusortd
build_fake_gpusortd() {
	local log=$WORK/gpusortd.log
	command -v g++ >/dev/null || return 0
	step "building gpusortd over a CUDA runtime in host memory"
	as_user make -C "$WORK/source" -j"$(nproc)" "$@" "$fake_gpusortd" >"$log" 2>&1 || { cat "$log" >&2 && die "gpusortd could not be built"; }
}

# Builds gpusort (arguments go to make) and installs it with a copy of PostgreSQL below $WORK/pg; gpusortd
# too, if $with_gpusortd is set: the real one, or if that is 'fake' the one over a CUDA runtime in host
# memory.  Sets BINDIR, the copy's programs.
build_private_installation() {
	local pg_config folder make_log=$WORK/build.log
	pg_config=$(find_pg_config) || die "no PostgreSQL to build against" "run 'make setup'"
	copy_sources
	case ${with_gpusortd:-} in
		fake) build_fake_gpusortd "$@" ;;
		'') as_user rm -f "$WORK/source/cuda/daemon/gpusortd" ;;
		*) build_gpusortd "$@" ;;
	esac
	# Without the bitcode for JIT inlining: nothing here needs it.
	if ! as_user make -C "$WORK/source" -j"$(nproc)" PG_CONFIG="$pg_config" "$@" >"$make_log" 2>&1; then
		cat "$make_log" >&2
		die "the build failed" "see above; 'make setup' installs what a build needs"
	fi
	for folder in "$("$pg_config" --bindir)" "$("$pg_config" --pkglibdir)" "$("$pg_config" --sharedir)"; do
		as_user mkdir -p "$WORK/pg$folder"
		tar -C "$folder" --exclude=./bitcode --exclude=./pgxs -cf - . |
			as_user tar -C "$WORK/pg$folder" --no-same-owner -xf -
	done
	as_user make -C "$WORK/source" PG_CONFIG="$pg_config" DESTDIR="$WORK/pg" "$@" install >>"$make_log" 2>&1 ||
		{ cat "$make_log" >&2 && die "make install failed" "see above; GPUSORT_KEEP=1 keeps $WORK"; }
	BINDIR=$WORK/pg$("$pg_config" --bindir)
	PGXS_DIR=$(dirname "$(dirname "$("$pg_config" --pgxs)")")/..
}

# ---- locales ----

# Makes locales for tests below $WORK, for whatever is started from now on; none are installed.  Without what
# they are made of, tests that need them say so and end.
make_test_locales() {
	local locale
	command -v localedef >/dev/null && [ -f /usr/share/i18n/locales/en_US ] || return 0
	as_user mkdir -p "$WORK/locales"
	for locale in en_US de_DE cs_CZ; do
		as_user localedef -i "$locale" -f UTF-8 "$WORK/locales/$locale.UTF-8" >/dev/null 2>&1 || true
	done
	# Bytewise by its name, as C.UTF-8 was in old C libraries, and with rules.
	as_user ln -sfn en_US.UTF-8 "$WORK/locales/C.UTF-8@rules"
	export LOCPATH=$WORK/locales:/usr/lib/locale
}

# ---- the throwaway cluster ----

# Starts a cluster in $WORK/data with the settings of the file(s) given, and lets clients find it.  Its server
# is $server_program if that is set.
start_cluster() {
	as_user "$BINDIR/initdb" -D "$WORK/data" -U postgres --auth=trust --no-sync \
		--encoding=UTF8 --locale=C.UTF-8 >"$WORK/initdb.log" 2>&1 || { cat "$WORK/initdb.log" >&2 && die "initdb failed" "see above; GPUSORT_KEEP=1 keeps $WORK"; }
	cat - "$@" <<-EOT | as_user tee -a "$WORK/data/postgresql.conf" >/dev/null
		listen_addresses = ''
		unix_socket_directories = '$WORK'
		fsync = off
		full_page_writes = off
		max_wal_size = 8GB
		autovacuum = off
		jit = off
	EOT
	as_user "$BINDIR/pg_ctl" -D "$WORK/data" ${server_program:+-p "$server_program"} -l "$WORK/server.log" -w -t 180 start >/dev/null || {
		cat "$WORK/server.log" >&2
		die "the server did not start" "see its log above; GPUSORT_KEEP=1 keeps $WORK"
	}
	export PGHOST=$WORK PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	PATH=$BINDIR:$PATH
}

stop_cluster() {
	if [ -f "$WORK/data/postmaster.pid" ]; then
		as_user "$BINDIR/pg_ctl" -D "$WORK/data" -m immediate -w stop >/dev/null 2>&1 || true
	fi
}

# Not a cluster of ours: clients find the server that the caller's environment names.
use_running_server() {
	local variable
	for variable in "${!callers[@]}"; do
		[ -z "${callers[$variable]}" ] || export "$variable=${callers[$variable]}"
	done
	sql -c 'SHOW gpusort.mode' >/dev/null || die "the server must run, with gpusort in shared_preload_libraries" "name it by PGHOST, PGPORT, PGUSER and PGDATABASE"
}

# Ends the sessions of the cluster at once, whatever they are doing.
restart_cluster() {
	as_user "$BINDIR/pg_ctl" -D "$WORK/data" ${server_program:+-p "$server_program"} -l "$WORK/server.log" -m immediate -w -t 180 restart >/dev/null || die "the server did not start again"
}

# psql that stops at the first error and prints bare results.  PSQL may be another command, with arguments.
sql() { PGOPTIONS='-c client_min_messages=warning' ${PSQL:-psql} -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# Waits until gpusortd serves or has given up; a card takes a moment to start.
wait_for_devices() {
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(sql -c "SELECT count(*) FROM gpusort_devices() WHERE state = 'starting'")" != 0 ] || return 0
		sleep 0.1
	done
}

# ---- timing ----

# Not all architectures' kernels tell the model.
processor_name() { sed -n '/^model name/{s/^[^:]*: //p;q}' /proc/cpuinfo | grep . || uname -m; }

# Milliseconds that a query takes in a session of its own with the given settings; its result is not printed.
# Fails, and prints nothing, if the query does.
time_query() {
	local settings=$1 query=$2 output
	output=$(sql <<-EOT
		$settings
		\\o /dev/null
		\\timing on
		$query;
	EOT
	) || return
	awk '$1 == "Time:" { ms = $2 } END { print ms }' <<<"$output"
}

# The median of the numbers on stdin, one a line.
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
