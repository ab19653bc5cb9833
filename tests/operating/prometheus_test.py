#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""prometheus_test.py BUILD_DIR: alerts, dashboards and the runbook fit the metrics and log events of the daemon, and each alert fires.

Method: what deploy/ asks for is compared with docs/reference/metrics.md, which a unit test compares with the daemon. Then a real Prometheus
scrapes what the real daemon exposes, from a server of this test. First nothing may fire. Then the server changes the values, as incidents do,
until all alerts have fired. Windows and delays of the rules are seconds then. Needs prometheus and promtool."""

import glob
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import yaml

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
RULES = os.path.join(TOP, "deploy/prometheus/alerts.yaml")
DASHBOARDS = sorted(glob.glob(os.path.join(TOP, "deploy/grafana/*.json")))
RUNBOOK = os.path.join(TOP, "docs/operating/runbook.md")
PATIENCE = 120  # Seconds, for all alerts together.
HEALTHY_SCRAPES = 12
OF_PROMETHEUS = {"instance", "job", "le"}
DAY = 86400


def fail(message):
    sys.exit("FAILED: " + message)


def documented_metrics():
    """Name to type and labels, as the page says."""
    metrics = {}
    for line in open(os.path.join(TOP, "docs/reference/metrics.md"), encoding="utf-8"):
        row = re.match(r"\| `(\w+)` \| (\w+) \|([^|]*)\|", line)
        if row:
            metrics[row[1]] = row[2], set(re.findall(r"`(\w+)`", row[3]))
    return metrics


def dashboard_expressions(path):
    dashboard = json.load(open(path, encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f'{os.path.basename(path)}: {panel["title"]}', target["expr"]


def check_expression(where, expression, metrics):
    text = re.sub(r'"[^"]*"', '""', expression)
    labels = set()
    for name in re.findall(r"\b(?:lockkeeper|process)_\w+", text):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        if name not in metrics and metrics.get(base, ("",))[0] != "histogram":
            fail(f"{where}: there is no metric {name}")
        labels |= metrics.get(name, metrics.get(base))[1]
    used = set(re.findall(r"(\w+) ?(?:=~|!~|!=|=)(?!=) ?\"\"", text))
    for names in re.findall(r"\b(?:by|on|without|ignoring) ?\(([^)]*)\)", text):
        used |= {name.strip() for name in names.split(",")}
    for label in used - labels - OF_PROMETHEUS:
        fail(f"{where}: its metrics have no label {label}")


class Incidents:
    """What the scraped servers expose: what the daemon did, and changes to it."""

    def __init__(self, exposition):
        self.lines = [line for line in exposition.splitlines() if line and not line.startswith("#")]
        self.scrapes = [0, 0, 0]
        self.incident = False

    def series(self):
        return dict(line.rsplit(" ", 1) for line in self.lines)

    def expose(self, server):
        self.scrapes[server] += 1
        lines = self.series()
        if self.incident:
            if server == 2:
                return None
            self.change(server, lines, self.scrapes[server])
        return "".join(f"{series} {value}\n" for series, value in lines.items())

    @staticmethod
    def change(server, lines, n):
        def beyond(prefix, bound, add_labels=""):
            """Everything that the histogram has seen since took longer than `bound`."""
            name, _, labels = prefix.partition("{")
            labels = labels.rstrip("}")
            known = [series for series in lines if series.startswith(name + "_bucket{") and labels in series]
            if not known:
                fail(f"the daemon exposes no {prefix}")
            for series in known:
                le = float(re.search(r'le="([^"]*)"', series)[1])
                lines[series] = float(lines[series]) + (n * 10 if le > bound else 0)
            for series in [s for s in lines if s.startswith(name + "_count") and labels in s]:
                lines[series] = float(lines[series]) + n * 10

        if server == 1:  # It reaches its store, which grants nothing, and it starts again and again.
            lines["lockkeeper_store_granting"] = 0
            lines["process_start_time_seconds"] = time.time() + n
            build = next(series for series in lines if series.startswith("lockkeeper_build_info{"))
            lines[build.replace('version="', 'version="other-')] = lines.pop(build)
            return
        lines["lockkeeper_store_up"] = 0
        lines["process_start_time_seconds"] = 1e9
        lines["process_open_fds"] = 0.9 * float(lines["process_max_fds"])
        lines['lockkeeper_certificate_expiry_seconds{certificate="server"}'] = time.time() + 5 * DAY
        lines['lockkeeper_redis_sentinels{state="known"}'] = 3
        lines['lockkeeper_redis_sentinels{state="heard"}'] = 2
        lines['lockkeeper_redis_cluster_primaries{state="known"}'] = 3
        lines['lockkeeper_redis_cluster_primaries{state="connected"}'] = 2
        lines['lockkeeper_rpc_total{code="UNAVAILABLE",outcome="error",rpc="Acquire"}'] = n
        lines['lockkeeper_rpc_total{code="RESOURCE_EXHAUSTED",outcome="error",rpc="Acquire"}'] = n
        for series in ('lockkeeper_store_loss_total{loss="emptied"}', "lockkeeper_redis_reconnect_total", "lockkeeper_redis_primary_total",
                       "lockkeeper_slow_wait_total", "lockkeeper_lease_expired_total", "lockkeeper_session_lease_lost_total",
                       "lockkeeper_invariant_violated_total", "lockkeeper_audit_dropped_total", "lockkeeper_audit_write_failed_total",
                       'lockkeeper_rpc_total{code="INTERNAL",outcome="error",rpc="Acquire"}', 'lockkeeper_quota_refused_total{quota="leases"}',
                       'lockkeeper_reassertion_total{end="not_proved"}', 'lockkeeper_withdrawal_total{end="left_to_ttl"}',
                       'lockkeeper_wait_seconds_count{end="failed"}', 'lockkeeper_wait_seconds_count{end="timed_out"}',
                       'lockkeeper_connections_closed_total{reason="flood"}',
                       'lockkeeper_file_reload_total{files="access",outcome="refused"}',
                       'lockkeeper_redis_command_seconds_count{outcome="error_reply",script="acquire"}',
                       'lockkeeper_redis_confirmation_seconds_count{outcome="not_confirmed"}'):
            if series not in lines:
                fail(f"the daemon does not expose {series} before it happens: its first time would not be seen")
            lines[series] = float(lines[series]) + 2 * n
        beyond('lockkeeper_redis_command_seconds{outcome="ok",script="acquire"}', 0.25)
        beyond('lockkeeper_rpc_seconds{rpc="Extend"}', 1)
        beyond("lockkeeper_event_loop_lag_seconds", 0.1)
        beyond("lockkeeper_line_position", 10000)


def serve(incidents, number):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = incidents.expose(number)
            self.send_response(200 if text else 503)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def fetch(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def exposition_of_daemon(build, place):
    """With the files that it could read again, and a client that took a lock."""
    policy = os.path.join(place, "policy.yaml")
    with open(policy, "w", encoding="utf-8") as file:
        yaml.safe_dump({"roles": {"all": {"rules": [{"verbs": ["acquire", "extend", "release"], "prefixes": [""]}]}},
                        "bindings": [{"roles": ["all"], "principals": ["*"]}]}, file)
    address = "unix:" + os.path.join(place, "socket")
    daemon = subprocess.Popen(
        [os.path.join(build, "lockkeeperd"), "--embedded", "--data-dir", os.path.join(place, "data"), "--listen", address,
         "--http-listen", "127.0.0.1:0", "--policy", policy], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        ready = daemon.stdout.readline()
        http_address = re.search(r"127\.0\.0\.1:\d+", ready)
        if not http_address:
            fail(f"the daemon is not ready: {ready}")
        subprocess.run([os.path.join(build, "lockkeeper"), "--server", address, "run", "--ttl", "1s", "job", "--", "sleep", "1"], check=True)
        return fetch(f"http://{http_address[0]}/metrics")
    finally:
        daemon.terminate()
        daemon.wait()


def scaled_rules():
    """The same rules, whose windows and delays are seconds."""
    text = open(RULES, encoding="utf-8").read()
    text = re.sub(r"\[\d+[mh]\]", "[8s]", text)
    text = re.sub(r"^( +for:) .*$", r"\1 1s", text, flags=re.M)
    return text.replace("> 900", "> 1")


class Prometheus:
    def __init__(self, place, ports):
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                  "rule_files": ["rules.yaml"],
                  "scrape_configs": [{"job_name": "lockkeeper",
                                      "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}]}
        with open(os.path.join(place, "rules.yaml"), "w", encoding="utf-8") as file:
            file.write(scaled_rules())
        with open(os.path.join(place, "prometheus.yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
        self.log = os.path.join(place, "prometheus.log")
        self.process = subprocess.Popen(
            ["prometheus", "--config.file=" + os.path.join(place, "prometheus.yaml"), "--storage.tsdb.path=" + os.path.join(place, "tsdb"),
             "--web.listen-address=127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=open(self.log, "w", encoding="utf-8"))
        self.url = self.until(self.address, "listens")

    def address(self):
        found = re.search(r'"Listening on" address=(\S+)', open(self.log, encoding="utf-8").read())
        return found and "http://" + found[1]

    def until(self, condition, what, patience=PATIENCE):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if self.process.poll() is not None:
                fail("prometheus has ended: " + open(self.log, encoding="utf-8").read())
            result = condition()
            if result:
                return result
            time.sleep(0.2)  # Between two looks.
        return fail(f"prometheus: not within {patience} s: {what}")

    def ask(self, path):
        try:
            return json.loads(fetch(self.url + path))
        except urllib.error.HTTPError as error:
            fail(f"{path}: {error.read().decode()}")
        except urllib.error.URLError:
            return {"data": {}}  # It does not answer yet.

    def query(self, expression):
        return self.ask("/api/v1/query?query=" + urllib.parse.quote(expression))["data"].get("result", [])

    def firing(self):
        alerts = self.ask("/api/v1/alerts")["data"].get("alerts", [])
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def check_texts(metrics, alerts):
    for alert in alerts:
        check_expression(alert["alert"], alert["expr"], metrics)
    for path in DASHBOARDS:
        for where, expression in dashboard_expressions(path):
            check_expression(where, expression, metrics)
    if not DASHBOARDS:
        fail("there is no dashboard")
    sections = set(re.findall(r"^### (Lockkeeper\w+)$", open(RUNBOOK, encoding="utf-8").read(), re.M))
    names = {alert["alert"] for alert in alerts}
    if sections != names:
        fail(f"the runbook and the alerts differ: {sorted(sections ^ names)}")
    runbook = open(RUNBOOK, encoding="utf-8").read()
    page = open(os.path.join(TOP, "docs/reference/log_events.md"), encoding="utf-8").read()
    events = set(re.findall(r"^\| `([\w.]+)` \| (?:warn|error) \|", page, re.M))
    told = set(re.findall(r"`([\w.]+)`", "".join(re.findall(r"^\| (`[^|]*)\|", runbook.partition("## Log events")[2], re.M))))
    if events != told:
        fail(f"the runbook and the log events differ: {sorted(events ^ told)}")


def main():
    build = sys.argv[1]
    metrics = documented_metrics()
    alerts = [rule for group in yaml.safe_load(open(RULES, encoding="utf-8"))["groups"] for rule in group["rules"]]
    check_texts(metrics, alerts)
    subprocess.run(["promtool", "check", "rules", RULES], check=True, stdout=subprocess.DEVNULL)

    place = tempfile.mkdtemp()
    prometheus = None
    try:
        incidents = Incidents(exposition_of_daemon(build, place))
        incidents.change(0, incidents.series(), 1)  # Fails if the daemon does not expose what it changes.
        prometheus = Prometheus(place, [serve(incidents, number) for number in range(3)])
        prometheus.until(lambda: min(incidents.scrapes) > HEALTHY_SCRAPES, "every server was scraped")
        if prometheus.firing():
            fail(f"without an incident these fire: {sorted(prometheus.firing())}")
        for path in DASHBOARDS:
            for where, expression in dashboard_expressions(path):
                expression = expression.replace("$__rate_interval", "8s").replace("$instance", ".*")
                prometheus.query(expression)  # Fails if it cannot be read.
        incidents.incident = True
        fired = set()
        names = {alert["alert"] for alert in alerts}
        end = time.monotonic() + PATIENCE
        while fired != names:
            if time.monotonic() > end:
                fail(f"these did not fire: {sorted(names - fired)}")
            prometheus.until(prometheus.firing, "an alert fires")
            fired |= prometheus.firing()
        print(f"{len(names)} alerts fired, none of them before")
    finally:
        if prometheus:
            prometheus.process.terminate()
            prometheus.process.wait()
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
