# SPDX-License-Identifier: Apache-2.0
"""What real daemons expose: one with an embedded store, TLS and a policy, one whose Sentinels are away, and one on a Redis Cluster."""

import os
import re
import subprocess
import sys
import urllib.request

import yaml

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
NOBODYS_LEASE = "0" * 31 + "1"


def fail(message):
    sys.exit("FAILED: " + message)


def fetch(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def series_of(exposition):
    """Series to value."""
    lines = [line for line in exposition.splitlines() if line and not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines)


class Daemon:
    """Started by a command that is given the flags of lockkeeperd."""

    def __init__(self, build, place, name, flags, command=()):
        self.cli = os.path.join(build, "lockkeeper")
        self.address = "unix:" + os.path.join(place, name + ".socket")
        self.log = os.path.join(place, name + ".log")
        self.process = subprocess.Popen(
            [*command, os.path.join(build, "lockkeeperd"), "--listen", self.address, "--http-listen", "127.0.0.1:0", *flags],
            stdout=subprocess.PIPE, stderr=open(self.log, "w", encoding="utf-8"), text=True)

    def wait_until_ready(self):
        for line in self.process.stdout:
            if ready := re.match(r"lockkeeperd ready .*http=(\S+)", line):
                self.metrics = f"http://{ready[1]}/metrics"
                return self
        return fail("a daemon is not ready: " + open(self.log, encoding="utf-8").read())

    def exposed(self):
        return series_of(fetch(self.metrics))

    def start(self, *arguments):
        return subprocess.Popen([self.cli, "--server", self.address, "--quiet", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def run(self, status, *arguments):
        command = self.start(*arguments)
        _, errors = command.communicate()
        if command.returncode != status:
            fail(f"lockkeeper {' '.join(arguments)}: {command.returncode}, not {status}: {errors.decode()}")

    def end(self):
        self.process.terminate()
        self.process.wait()


def write_policy(place, name, quotas):
    path = os.path.join(place, name)
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump({"roles": {"all": {"rules": [{"verbs": ["acquire", "extend", "release", "fence"], "prefixes": [""]}], "quotas": quotas}},
                        "bindings": [{"roles": ["all"], "principals": ["*"]}]}, file)
    return path


def with_a_certificate(place):
    certificate, key = os.path.join(place, "tls.crt"), os.path.join(place, "tls.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90",
                    "-subj", "/CN=lockkeeper", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    return ["--listen", "tls://127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key]


def use(daemon):
    """A lock that is granted, extended and released; a hand-over, a wait that is over, a lost lease, a token."""
    daemon.run(0, "acquire", "held", "--ttl", "1s")
    waiting = daemon.start("acquire", "held", "--ttl", "30s", "--wait", "20s")
    daemon.run(0, "run", "--ttl", "1s", "job", "--", "sleep", "1")
    if waiting.wait() != 0:
        fail("no hand-over of a lock whose lease is over")
    daemon.run(75, "acquire", "held", "--wait", "100ms")
    daemon.run(70, "extend", "held", NOBODYS_LEASE)
    daemon.run(76, "fence", "held", "1")


def expositions(build, place):
    """Series of one daemon before it was used and after, and all series that daemons were seen to expose."""
    with_cluster = [os.path.join(TOP, "deploy/local/with_cluster.sh"), os.path.join(place, "cluster")]
    daemons = []
    try:
        cluster = Daemon(build, place, "c", ["--policy", write_policy(place, "none.yaml", {"leases": 0})], with_cluster)
        daemons.append(cluster)
        sentinels = Daemon(build, place, "s", ["--redis", "redis+sentinel://127.0.0.1:1/nobody"])
        daemons.append(sentinels)
        usual = Daemon(build, place, "u", ["--embedded", "--data-dir", os.path.join(place, "data"), "--policy", write_policy(place, "all.yaml", {}),
                                           *with_a_certificate(place)])
        daemons.append(usual)
        before = usual.wait_until_ready().exposed()
        use(usual)
        after = usual.exposed()
        sentinels.wait_until_ready().run(69, "acquire", "job", "--timeout", "100ms")
        cluster.wait_until_ready().run(69, "acquire", "job", "--timeout", "100ms")
        return before, after, {**after, **sentinels.exposed(), **cluster.exposed()}.keys()
    finally:
        for daemon in daemons:
            daemon.end()
