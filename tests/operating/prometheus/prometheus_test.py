#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""prometheus_test.py BUILD_DIR: alerts, dashboards and the runbook fit the metrics and log events of the daemon, each alert fires, and each
query of a dashboard has an answer.

Method: names and words that deploy/ asks for are compared with docs/reference, and with what real daemons expose (daemons.py). Then a real
Prometheus scrapes what one of them exposes, from servers of this test. First nothing may fire. Then the servers change the values, as
incidents do, until all alerts have fired and all queries have an answer; they change nothing that no daemon was seen to expose. Windows and
delays of the rules are seconds then. What takes a day is in alerts_test.yaml, for promtool. Needs prometheus and promtool."""

import http.server
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse

import yaml

import texts
from daemons import expositions, fail, fetch

PATIENCE = 120  # Seconds, for all alerts together.
WINDOW = "8s"
A_DAY_AGO = "10s"  # More than the window.
HEALTHY_SCRAPES = 12
DAY = 86400


class Incidents:
    """What the scraped servers expose: what the daemon did, and changes to it."""

    def __init__(self, before, after, exposed):
        self.before = before
        self.after = after
        self.exposed = exposed
        self.scrapes = [0, 0, 0]
        self.incident = False

    def expose(self, server):
        self.scrapes[server] += 1
        lines = dict(self.after)
        if self.incident:
            if server == 2:
                return None
            self.change(server, lines, self.scrapes[server])
        return "".join(f"{series} {value}\n" for series, value in lines.items())

    def change(self, server, lines, n):
        def put(series, value):
            if series not in self.exposed:
                fail(f"no daemon was seen to expose {series}")
            lines[series] = value

        def beyond(prefix, bound):
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
            put("lockkeeper_store_granting", 0)
            put("process_start_time_seconds", time.time() + n)
            build = next(series for series in lines if series.startswith("lockkeeper_build_info{"))
            lines[build.replace('version="', 'version="other-')] = lines.pop(build)
            return
        put("lockkeeper_store_up", 0)
        put("process_start_time_seconds", 1e9)
        put("lockkeeper_event_loop_stuck", 1)
        put('lockkeeper_files_refused{files="access"}', 1)
        put("lockkeeper_settings_need_restart", 2)
        put("process_open_fds", 0.9 * float(lines["process_max_fds"]))
        put('lockkeeper_certificate_expiry_seconds{certificate="server"}', time.time() + DAY / 2)
        put('lockkeeper_redis_sentinels{state="known"}', 3)
        put('lockkeeper_redis_sentinels{state="heard"}', 2)
        put('lockkeeper_redis_cluster_primaries{state="known"}', 3)
        put('lockkeeper_redis_cluster_primaries{state="connected"}', 2)
        put('lockkeeper_rpc_total{code="UNAVAILABLE",outcome="error",rpc="Acquire"}', n)
        put('lockkeeper_rpc_total{code="RESOURCE_EXHAUSTED",outcome="error",rpc="Acquire"}', n)
        for series in ('lockkeeper_store_loss_total{loss="emptied"}', "lockkeeper_redis_reconnect_total", "lockkeeper_redis_primary_total",
                       "lockkeeper_slow_wait_total", "lockkeeper_lease_expired_total", "lockkeeper_session_lease_lost_total",
                       "lockkeeper_invariant_violated_total", "lockkeeper_audit_dropped_total", "lockkeeper_audit_write_failed_total",
                       'lockkeeper_rpc_total{code="INTERNAL",outcome="error",rpc="Acquire"}', 'lockkeeper_quota_refused_total{quota="leases"}',
                       'lockkeeper_rpc_total{code="FAILED_PRECONDITION",outcome="lease_lost",rpc="Extend"}',
                       'lockkeeper_reassertion_total{end="not_proved"}', 'lockkeeper_withdrawal_total{end="left_to_ttl"}',
                       'lockkeeper_wait_seconds_count{end="failed"}', 'lockkeeper_wait_seconds_count{end="timed_out"}',
                       'lockkeeper_connections_closed_total{reason="flood"}',
                       'lockkeeper_redis_command_seconds_count{outcome="error_reply",script="acquire"}'):
            if series not in self.before:
                fail(f"the daemon does not expose {series} before it happens: its first time would not be seen")
            put(series, float(lines[series]) + 2 * n)
        beyond('lockkeeper_redis_command_seconds{outcome="ok",script="acquire"}', 0.25)
        beyond('lockkeeper_redis_confirmation_seconds{outcome="not_confirmed"}', 0.25)
        beyond('lockkeeper_wait_seconds{end="granted"}', 10)
        beyond('lockkeeper_rpc_seconds{rpc="Extend"}', 1)
        beyond("lockkeeper_session_heartbeat_seconds", 1)
        beyond("lockkeeper_hold_seconds", 60)
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


def scaled_rules():
    """The same rules, whose windows and delays are seconds, and a day ago is a moment ago."""
    text = open(texts.RULES, encoding="utf-8").read()
    text = re.sub(r"\[\d+[mh]\]", f"[{WINDOW}]", text)
    text = re.sub(r"offset \d+[mhd]", f"offset {A_DAY_AGO}", text)
    text = re.sub(r"^( +for:) .*$", r"\1 1s", text, flags=re.M)
    text = text.replace("> 900", "> 1")
    for rule in (rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]):
        if left := re.search(r"\b\d+[mhdw]\b", rule["expr"]):
            fail(f"{rule['alert']}: {left[0]} is too long for this test")
    return text


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
        """Label sets of the answer. A histogram that has seen nothing is NaN, which Grafana does not show."""
        result = self.ask("/api/v1/query?query=" + urllib.parse.quote(expression))["data"].get("result", [])
        return [one["metric"] for one in result if not math.isnan(float(one["value"][1]))]

    def firing(self):
        alerts = self.ask("/api/v1/alerts")["data"].get("alerts", [])
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def check_queries(prometheus):
    """Each has an answer during the incidents, whose labels are those that the legend names."""
    for where, expression, legend in texts.queries():
        expression = expression.replace("$__rate_interval", WINDOW).replace("$instance", ".*")
        answers = prometheus.until(lambda asked=expression: prometheus.query(asked), f"{where} shows something: {expression}", 20)
        for label in re.findall(r"\{\{ *(\w+) *\}\}", legend):
            if not all(label in labels for labels in answers):
                fail(f"{where}: its legend names {label}, and these have none: {answers}")


def wait_for_all(prometheus):
    fired = set()
    names = {alert["alert"] for alert in texts.all_alerts()}
    end = time.monotonic() + PATIENCE
    while fired != names:
        if time.monotonic() > end:
            fail(f"these did not fire: {sorted(names - fired)}")
        prometheus.until(prometheus.firing, "an alert fires")
        fired |= prometheus.firing()
    return len(names)


def main():
    build = sys.argv[1]
    subprocess.run(["promtool", "check", "rules", texts.RULES], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["promtool", "test", "rules", os.path.join(os.path.dirname(__file__), "alerts_test.yaml")], check=True)
    place = tempfile.mkdtemp()
    prometheus = None
    try:
        before, after, exposed = expositions(build, place)
        texts.check(exposed)
        incidents = Incidents(before, after, exposed)
        for server in (0, 1):
            incidents.change(server, dict(after), 1)  # Fails here, and not in a thread, if no daemon exposes what it changes.
        prometheus = Prometheus(place, [serve(incidents, number) for number in range(3)])
        prometheus.until(lambda: min(incidents.scrapes) > HEALTHY_SCRAPES, "every server was scraped")
        if prometheus.firing():
            fail(f"without an incident these fire: {sorted(prometheus.firing())}")
        incidents.incident = True
        count = wait_for_all(prometheus)
        check_queries(prometheus)
        print(f"{count} alerts fired, none of them before; {len(list(texts.queries()))} queries had an answer")
    finally:
        if prometheus:
            prometheus.process.terminate()
            prometheus.process.wait()
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
