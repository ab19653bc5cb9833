#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# on_machine.sh: what the packages in /packages do on a machine of the test's own, from installation to purge. Run by systemd, once it has booted.
set -euo pipefail

readonly CONFIG=/etc/lockkeeper/lockkeeper.yaml

fail() {
  echo "FAILED: $*"
  journalctl --unit lockkeeperd --no-pager --lines 40 || true
  exit 1
}

# until_true WHAT COMMAND...: waits until the command succeeds, at most 30 s.
until_true() {
  local what=$1 _
  shift
  for _ in {1..300}; do
    ! "$@" || return 0
    sleep 0.1  # Between two looks.
  done
  fail "not within 30 s: $what"
}

of_service() { systemctl show --value --property "$1" lockkeeperd; }

installed_files() {
  # But for what man keeps of the pages that it has shown, and for what others write to the disk below meanwhile.
  find /etc /run /usr /var /lib -xdev -path '*lockkeeper*' ! -path '/var/cache/man/*' ! -path '/var/tmp/*' | sort
}

# status_of NAME PID: that line of what the kernel says of a process.
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$2/status"; }

check_installation() {
  [ "$(stat -c '%U:%G %a' /etc/lockkeeper)" = "root:lockkeeper 750" ] || fail "owner and mode of /etc/lockkeeper"
  [ "$(getent passwd lockkeeper | cut -d: -f6,7)" = /var/lib/lockkeeper:/usr/sbin/nologin ] || fail "the user: $(getent passwd lockkeeper)"
  # But for the configuration, which is ours to change.
  ! dpkg --verify lockkeeper-server lockkeeper liblockkeeper-dev | grep -v ' c /etc/' || fail "files differ from the package's"
  systemd-analyze verify lockkeeperd.service || fail "the unit"
  bash -n /usr/share/bash-completion/completions/lockkeeper || fail "the completion of bash"
  for page in lockkeeper.1 lockkeeperd.8 lockkeeper.yaml.5; do
    man --where "${page##*.}" "${page%.*}" >/dev/null || fail "no man page $page"
  done
  [ "$(lexgrog /usr/share/man/man1/lockkeeper.1.gz | sed 's/.*: //')" = '"lockkeeper - takes, keeps and shows locks of the lockkeeper service"' ] || fail "apropos finds no lockkeeper"
}

check_that_a_store_is_needed() {
  ! systemctl --quiet is-enabled lockkeeperd || fail "the service is enabled, and nobody has named a store"
  ! systemctl --quiet is-active lockkeeperd || fail "the service runs, and nobody has named a store"
  ! systemctl start lockkeeperd 2>/dev/null || fail "the daemon has started without a store"
  [ "$(of_service ExecMainStatus) $(of_service NRestarts)" = "78 0" ] || fail "without a store: $(of_service ExecMainStatus)"
  systemctl reset-failed lockkeeperd
}

check_service() {
  local pid
  pid=$(of_service MainPID)
  [[ $(of_service StatusText) == "listens: grpc=127.0.0.1:7600"* ]] || fail "status: $(of_service StatusText)"
  [ "$(stat -c %U "/proc/$pid")" = lockkeeper ] || fail "the daemon runs as $(stat -c %U "/proc/$pid")"
  [ "$(status_of CapBnd "$pid") $(status_of NoNewPrivs "$pid") $(status_of Seccomp "$pid")" = "0000000000000000 1 2" ] ||
    fail "privileges: $(grep -E 'Cap|NoNew|Seccomp' "/proc/$pid/status")"
  systemctl reload lockkeeperd || fail "reload"
  [ "$(of_service MainPID)" = "$pid" ] || fail "a reload has ended the daemon"
}

was_restarted() { [ "$(of_service NRestarts)" -gt 0 ] && systemctl --quiet is-active lockkeeperd; }

# A daemon that stands still is noticed by systemd, and keeps its locks.
check_watchdog() {
  mkdir -p /run/systemd/system/lockkeeperd.service.d
  printf '[Service]\nWatchdogSec=2s\n' >/run/systemd/system/lockkeeperd.service.d/watchdog.conf
  systemctl daemon-reload
  systemctl restart lockkeeperd
  kill -STOP "$(of_service MainPID)"
  until_true "the service is restarted" was_restarted
  journalctl --unit lockkeeperd --no-pager | grep -q 'Watchdog timeout' || fail "it was not the watchdog"
  rm -r /run/systemd/system/lockkeeperd.service.d
  systemctl daemon-reload
}

new_config() { dpkg-deb --fsys-tarfile /packages/new/lockkeeper-server_*.deb | tar -xOf - ".$CONFIG"; }

# upgrade: from the former version to that of /packages/new.
upgrade() {
  [ "$(dpkg-query --show --showformat '${Version}' lockkeeper-server)" = 0.0.1-1 ] || fail "there is no former version to upgrade"
  dpkg --force-confdef --install /packages/new/*.deb  # confdef: what somebody who presses Enter gets
  [ "$(dpkg-query --show --showformat '${Version}' lockkeeper-server)" != 0.0.1-1 ] || fail "not upgraded"
  [ "$(of_service NeedDaemonReload)" = no ] || fail "systemd still has the former unit"
}

# Who has changed nothing, and started nothing, gets the new configuration, and still nothing runs.
check_upgrade_of_what_nobody_uses() {
  dpkg --install /packages/former/*.deb
  grep -q '^# of the former version$' "$CONFIG" || fail "not the configuration of the former version"
  upgrade
  cmp <(new_config) "$CONFIG" || fail "the configuration is not the new one, although nobody had changed it"
  ! systemctl --quiet is-enabled lockkeeperd || fail "the upgrade has enabled the service"
  ! systemctl --quiet is-active lockkeeperd || fail "the upgrade has started the service"
}

check_upgrade() {
  local pid
  pid=$(of_service MainPID)
  upgrade
  systemctl --quiet is-active lockkeeperd || fail "the service does not run after the upgrade"
  [ "$(of_service MainPID)" != "$pid" ] || fail "the daemon of before the upgrade still runs"
  systemctl --quiet is-enabled lockkeeperd || fail "the service is no longer enabled after the upgrade"
  grep -q '^# ours$' "$CONFIG" || fail "the upgrade has replaced the configuration"
  cmp <(new_config) "$CONFIG.dpkg-dist" || fail "the newer configuration is not beside ours"
}

has_drained() { journalctl --unit lockkeeperd --no-pager --lines 1 | grep -q 'event=daemon.drained'; }

check_purge() {
  dpkg --purge lockkeeper-server lockkeeper liblockkeeper-dev
  diff /packages/before <(installed_files) || fail "the purge has left something"
}

check_removal() {
  systemctl stop lockkeeperd
  # systemd forgets how a service ended that nothing refers to any more; the journal does not.
  until_true "the daemon has drained" has_drained
  [ "$(journalctl --unit lockkeeperd --no-pager | grep -c 'Failed with result')" = 2 ] || fail "it failed not only without a store and by the watchdog"
  systemctl start lockkeeperd
  dpkg --remove lockkeeper-server lockkeeper liblockkeeper-dev
  ! pgrep -u lockkeeper || fail "processes are left after the removal"
  [[ -e $CONFIG && -e /var/lib/lockkeeper ]] || fail "the removal has deleted configuration or store"
  check_purge
}

installed_files >/packages/before
dpkg --install /packages/new/*.deb
check_installation
check_that_a_store_is_needed
check_purge

check_upgrade_of_what_nobody_uses
check_installation
check_purge

dpkg --install /packages/former/*.deb
{ echo "# ours" && cat /usr/share/doc/lockkeeper-server/examples/embedded.yaml; } >"$CONFIG"
systemctl --quiet enable --now lockkeeperd || fail "the service does not start"
token=$(lockkeeper acquire report --ttl 60s --output json | sed 's/.*"fencing_token":\([0-9]*\).*/\1/')
[[ $token =~ ^[0-9]+$ ]] || fail "no lock"
check_upgrade
check_installation
check_service
check_watchdog
lockkeeper fence report "$token" --require-live-lease || fail "the lock is lost after an upgrade and a crash"
check_removal
touch /packages/passed
echo "installed, upgraded, started, restarted by the watchdog and purged; one lock was held all the time"
