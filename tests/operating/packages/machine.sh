#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# machine.sh PLACE: boots a machine whose disk is that of this one, but keeps what it writes in memory, and runs on_machine.sh there. PLACE has
# the packages, in former/ and new/. To be run in a mount namespace and a process namespace of its own. Its last line is that of on_machine.sh; 77 if
# no machine can be booted here, and its last line says why.
set -euo pipefail

readonly PLACE=$1 MEMORY=$1/memory MACHINE=$1/memory/root
FOLDER=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
readonly FOLDER

skip() {
  echo "$*"
  exit 77
}

# In a chroot / is no mount, and systemd-nspawn needs one.
if ! mountpoint --quiet /; then
  mkdir "$PLACE/host"
  mount --rbind / "$PLACE/host" || skip "no right to mount here"
  IN_CHROOT=yes exec chroot "$PLACE/host" "$FOLDER/machine.sh" "$PLACE"
fi

mkdir "$MEMORY"
mount -t tmpfs tmpfs "$MEMORY" || skip "no right to mount here"
mkdir "$MEMORY"/{written,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$MEMORY/written,workdir=$MEMORY/work" "$MACHINE" || skip "no overlay over the disk of this machine"
mount -t tmpfs tmpfs /run # where systemd-nspawn keeps locks
mount -t cgroup2 none /sys/fs/cgroup || skip "no right to mount a cgroup tree"
GROUP=$(mktemp -d /sys/fs/cgroup/packages-test.XXXXXX) || skip "no right to make a control group"
readonly GROUP
OWN_GROUP=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
readonly OWN_GROUP
finish() {
  echo 0 >"$OWN_GROUP/cgroup.procs"
  find "$GROUP" -depth -type d -exec rmdir {} +
}
trap finish EXIT
echo 0 >"$GROUP/cgroup.procs"

# Services may start there; man-db's index of all pages takes long, and is not looked at.
rm -f "$MACHINE/usr/sbin/policy-rc.d" "$MACHINE/var/lib/man-db/auto-update"
mkdir "$MACHINE/packages"
cp -r "$PLACE/former" "$PLACE/new" "$FOLDER/on_machine.sh" "$MACHINE/packages"
cat >"$MACHINE/etc/systemd/system/packages-test.service" <<'UNIT'
[Unit]
SuccessAction=exit
FailureAction=exit

[Service]
Type=oneshot
ExecStart=/packages/on_machine.sh
StandardOutput=file:/packages/result
StandardError=inherit
UNIT

if [ "${IN_CHROOT:-}" = yes ]; then
  # There the kernel lets nobody make a user namespace.
  mkdir "$MACHINE/etc/systemd/system/lockkeeperd.service.d"
  printf '[Service]\nPrivateUsers=no\n' >"$MACHINE/etc/systemd/system/lockkeeperd.service.d/chroot.conf"
fi

# A network of its own, so that the ports of the configuration are free there.
systemd-nspawn --quiet --private-network --register=no --keep-unit --directory="$MACHINE" --boot \
  systemd.unit=packages-test.service systemd.log_level=warning systemd.show_status=no </dev/null || true
[ -e "$MACHINE/packages/result" ] || skip "systemd-nspawn boots no machine here"
cat "$MACHINE/packages/result"
[ -e "$MACHINE/packages/passed" ]
