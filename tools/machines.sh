# shellcheck shell=bash
# Variables of the caller:
# shellcheck disable=SC2154
#
# Machines for tools/check-setup and tools/check-packages, to be sourced after lib.sh: chroots of Debian.
# Each command runs in name spaces of its own for processes and mounts, on an overlay over the release's base
# system, so nothing of a machine is left when it has ended, in whatever way.
#
# Wanted from the caller: root's rights, debootstrap, overlayfs; cache, a folder for base systems and loaded
# packages; release, the one of the machine; machine, a folder of its own; base_system, if the machine has
# another one than the release's; cuda, a folder that the machine has as /usr/local/cuda, if it is to have
# one.

ARCHIVE=http://deb.debian.org/debian

# Runs a command in the machine $machine, as root; the repository is /gpusort there, and can't be written.
# The machine's first process is a shell, which waits for whatever loses its parent: a killed server would be
# there for ever.
in_machine() {
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child bash -euc '
		base=$1 machine=$2 cache=$3 repository=$4 cuda=$5 && shift 5
		mkdir -p "$machine"/{changes,scratch,root}
		mount -t overlay overlay -o "lowerdir=$base,upperdir=$machine/changes,workdir=$machine/scratch" "$machine/root"
		cd "$machine/root"
		mkdir -p gpusort proc dev var/cache/apt/archives
		mount -t proc proc proc
		mount --rbind /dev dev
		mount --bind "$cache/packages" var/cache/apt/archives
		mount --bind "$repository" gpusort
		mount -o remount,bind,ro gpusort
		[ -z "$cuda" ] || { mkdir -p usr/local/cuda && mount --bind "$cuda" usr/local/cuda && mount -o remount,bind,ro usr/local/cuda; }
		exec chroot . env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive bash -c "\"\$@\"; exit" bash "$@"' \
		bash "${base_system:-$cache/$release}" "$machine" "$cache" "$REPOSITORY" "${cuda:-}" "$@"
}

# Experimental is no release: what is new there stands beside sid.  Of PostgreSQL the machine has that.
add_experimental() {
	echo "deb $ARCHIVE experimental main" >"$1/etc/apt/sources.list.d/experimental.list"
	printf '%s\n' 'Package: src:postgresql-[0-9]*' 'Pin: release a=experimental' 'Pin-Priority: 990' >"$1/etc/apt/preferences.d/experimental"
}

# The release's base system: kept, not changed by machines.
provide_base() {
	local base=$cache/$release suite=${release/#experimental/sid}
	[ ! -e "$base/etc/debian_version" ] || return 0
	step "making a base system of $release"
	rm -rf "$base.new"
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$base.new" "$ARCHIVE" >"$WORK/debootstrap.log" ||
		{ tail "$WORK/debootstrap.log" >&2 && die "debootstrap failed"; }
	# Nobody waits for a disk to keep what is thrown away, and no service starts when its package comes.
	echo force-unsafe-io >"$base.new/etc/dpkg/dpkg.cfg.d/unsafe-io"
	# A mirror that lags behind will do; of experimental even Debian's own list is older than it says it may
	# be.
	echo 'Acquire::Check-Valid-Until "false";' >"$base.new/etc/apt/apt.conf.d/lagging-mirror"
	printf '#!/bin/sh\nexit 101\n' >"$base.new/usr/sbin/policy-rc.d"
	chmod 755 "$base.new/usr/sbin/policy-rc.d"
	[ "$release" != experimental ] || add_experimental "$base.new"
	rm -rf "$base.new"/var/lib/apt/lists/* "$base.new"/var/cache/apt/archives/*.deb
	mv "$base.new" "$base"
}

# Sees to what all machines need.
begin_machines() {
	[ "$(id -u)" = 0 ] || die "needs root"
	command -v debootstrap >/dev/null || die "needs debootstrap"
	enter_workspace
	# Machines are root's.
	chown root: "$WORK"
	cache=${cache:-$WORK/cache}
	mkdir -p "$cache/packages/partial"
}
