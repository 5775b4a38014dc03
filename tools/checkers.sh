# shellcheck shell=bash
# Variables for tools/lib.sh and tools/parts.sh:
# shellcheck disable=SC2034
#
# Servers under a checker, to be sourced by tools/test after lib.sh and parts.sh.
#
# asan: gpusort, and it alone, is built with gcc's address and undefined behaviour sanitizers, and the server
# is started with the library of the first, which has to come before all others.  valgrind: the server runs in
# valgrind, which knows what the server itself does that is reported and no mistake from tools/valgrind.supp,
# and what palloc does if the server was built with USE_VALGRIND; other servers' pieces of memory are told
# apart no further than malloc does.
#
# What valgrind finds is in files in $WORK/reports, one a process.  The sanitizers end a process at its first
# mistake, and write into the server's log.

# Before the build, and before the cluster: how these are done under the checker $1.
use_checker() {
	local command
	as_user mkdir "$WORK/reports"
	server_program=$WORK/checked_postgres
	case $1 in
		asan)
			build_flags=(SANITIZE=1)
			command="env LD_PRELOAD=$(realpath "$(gcc -print-file-name=libasan.so)")
				ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1
				UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1"
			: "${GPUSORT_TIME_FACTOR:=5}"
			;;
		valgrind)
			command -v valgrind >/dev/null || die "no valgrind (Debian's package valgrind)"
			build_flags=(PG_CFLAGS=-O1)
			command="valgrind --quiet --vgdb=no --leak-check=no --error-limit=no --num-callers=30 --gen-suppressions=all
				--suppressions=$WORK/source/tools/valgrind.supp --log-file=$WORK/reports/valgrind.%p"
			: "${GPUSORT_TIME_FACTOR:=40}"
			;;
		*) die "unknown checker '$1'; see --help" ;;
	esac
	as_user tee "$server_program" >/dev/null <<-EOT
		#!/bin/sh
		exec ${command//$'\n'/ } "\${BINDIR:-$WORK/pg$("$(find_pg_config)" --bindir)}/postgres" "\$@"
	EOT
	as_user chmod 755 "$server_program"
}

# What the checker found; a server that ends checks its end, too.
count_reports() {
	local report found=0
	as_user "$BINDIR/pg_ctl" -D "$WORK/data" -m fast -w stop >/dev/null || true
	grep -aE -A 30 'ERROR: AddressSanitizer|runtime error: ' "$WORK/server.log" | as_user tee "$WORK/reports/server.log" >/dev/null || true
	for report in "$WORK"/reports/*; do
		[ -s "$report" ] || continue
		head -n 60 "$report"
		found=$((found + 1))
	done
	if [ "$found" = 0 ]; then
		say "ok: no report"
		count_passed
	else
		say "FAILED: $found processes with reports"
		count_failed
	fi
}
