# SPDX-License-Identifier: Apache-2.0
"""What alerts, dashboards and the runbook say, against what daemons expose and the pages of docs/reference."""

import glob
import json
import os
import re

import yaml

from daemons import TOP, fail

RULES = os.path.join(TOP, "deploy/prometheus/alerts.yaml")
DASHBOARDS = sorted(glob.glob(os.path.join(TOP, "deploy/grafana/*.json")))
OF_PROMETHEUS = {"instance", "job", "le"}
METRIC = r"\b(?:lockkeeper|process)_\w+"


def page(name):
    return open(os.path.join(TOP, "docs", name), encoding="utf-8").read()


def all_alerts():
    return [rule for group in yaml.safe_load(open(RULES, encoding="utf-8"))["groups"] for rule in group["rules"]]


def queries():
    """Where, expression and legend of each query of the dashboards."""
    for path in DASHBOARDS:
        for panel in json.load(open(path, encoding="utf-8"))["panels"]:
            for target in panel.get("targets", []):
                yield f'{os.path.basename(path)}: {panel["title"]}', target["expr"], target["legendFormat"]


def documented_metrics():
    """Name to type and labels, as the page says."""
    metrics = {}
    for line in page("reference/metrics.md").splitlines():
        row = re.match(r"\| `(\w+)` \| (\w+) \|([^|]*)\|", line)
        if row:
            metrics[row[1]] = row[2], set(re.findall(r"`(\w+)`", row[3]))
    return metrics


def base_of(name):
    return re.sub(r"_(bucket|sum|count)$", "", name)


def check_names(where, expression, metrics):
    text = re.sub(r'"[^"]*"', '""', expression)
    labels = set()
    for name in re.findall(METRIC, text):
        if name not in metrics and metrics.get(base_of(name), ("",))[0] != "histogram":
            fail(f"{where}: there is no metric {name}")
        labels |= metrics.get(name, metrics.get(base_of(name)))[1]
    used = set(re.findall(r"(\w+) ?(?:=~|!~|!=|=)(?!=) ?\"\"", text))
    for names in re.findall(r"\b(?:by|on|without|ignoring) ?\(([^)]*)\)", text):
        used |= {name.strip() for name in names.split(",")}
    for label in used - labels - OF_PROMETHEUS:
        fail(f"{where}: its metrics have no label {label}")


def check_values(where, expression, exposed):
    """A word that no daemon exposes is a misspelt one."""
    for name, matchers in re.findall(rf"({METRIC})\{{([^}}]*)\}}", expression):
        for label, operator, text in re.findall(r'(\w+) *(=~|!~|!=|=) *"([^"]*)"', matchers):
            if label in OF_PROMETHEUS:
                continue
            of_name = [series for series in exposed if series.startswith(name + "{")]
            values = {value for series in of_name for value in re.findall(rf'\b{label}="([^"]*)"', series)}
            for word in text.split("|") if "~" in operator else [re.escape(text)]:
                if not any(re.fullmatch(word, value) for value in values):
                    fail(f"{where}: no daemon exposes {name} with {label}={word}, but with {sorted(values)}")


def check_panels(alerts):
    """Who is woken by a metric can see it."""
    def metrics(expressions):
        return {base_of(name) for expression in expressions for name in re.findall(METRIC, re.sub(r'"[^"]*"', '""', expression))}

    missing = metrics(alert["expr"] for alert in alerts) - metrics(expression for _, expression, _ in queries())
    if missing:
        fail(f"these have an alert, and no panel: {sorted(missing)}")


def check_annotations(alerts):
    """One or two sentences for users, and the section of the runbook."""
    for alert in alerts:
        annotations = alert["annotations"]
        description = annotations.get("description", "")
        if not 1 <= len(re.findall(r"[.](?: |$)", description)) <= 2 or not description.endswith("."):
            fail(f"{alert['alert']}: its description is not one or two sentences: {description!r}")
        anchor = "#" + alert["alert"].lower()  # As Git servers make it of the heading, which check_runbook looks for.
        if annotations.get("runbook_url") != "docs/operating/runbook.md" + anchor:
            fail(f"{alert['alert']}: its runbook_url is {annotations.get('runbook_url')}")
        if set(annotations) != {"summary", "description", "runbook_url"}:
            fail(f"{alert['alert']}: it has the annotations {sorted(annotations)}")


def check_runbook(alerts):
    runbook = page("operating/runbook.md")
    sections = set(re.findall(r"^### (Lockkeeper\w+)$", runbook, re.M))
    names = {alert["alert"] for alert in alerts}
    if sections != names:
        fail(f"the runbook and the alerts differ: {sorted(sections ^ names)}")
    events = set(re.findall(r"^\| `([\w.]+)` \| (?:warn|error) \|", page("reference/log_events.md"), re.M))
    told = set(re.findall(r"`([\w.]+)`", "".join(re.findall(r"^\| (`[^|]*)\|", runbook.partition("## Log events")[2], re.M))))
    if events != told:
        fail(f"the runbook and the log events differ: {sorted(events ^ told)}")


def check(exposed):
    metrics = documented_metrics()
    expressions = [(alert["alert"], alert["expr"]) for alert in all_alerts()] + [(where, expression) for where, expression, _ in queries()]
    for where, expression in expressions:
        check_names(where, expression, metrics)
        check_values(where, expression, exposed)
    if not DASHBOARDS:
        fail("there is no dashboard")
    check_panels(all_alerts())
    check_annotations(all_alerts())
    check_runbook(all_alerts())
