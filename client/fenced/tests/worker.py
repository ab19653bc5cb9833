# SPDX-License-Identifier: Apache-2.0
"""worker.py JOB: takes a lock, and adds to a number that it guards, or pays an order.

In the middle it stops until it gets a line, so that a test can pause it there. It says what it does in JSON lines.
"""
import json
import os
import subprocess
import sys

import resources


def say(**what):
    print(json.dumps(what), flush=True)


def wait_for_a_line():
    if not sys.stdin.readline():
        sys.exit("the test has gone")


def lockkeeper(*arguments):
    answer = subprocess.run([os.environ["LOCKKEEPER"], *arguments, "--output", "json"], stdout=subprocess.PIPE)
    return json.loads(answer.stdout)


def add(resource, mode, token, amount):
    number = resource.plain_read() if mode in ("plain", "writes") else resource.read(token)
    say(read=number)
    wait_for_a_line()
    if mode == "plain":
        resource.plain_write(number + amount)
    else:
        resource.write(token, number + amount)


def pay(shop, mode, lock, token):
    def post(order, key):
        say(about_to_pay=key)
        wait_for_a_line()
        return shop.post(order, key)

    getattr(shop, mode)(lock, token, post)


def main():
    job = json.loads(sys.argv[1])
    # Nothing renews the lease: it ends while the worker is paused, as it does when the whole machine is.
    lease = lockkeeper("acquire", job["lock"], "--ttl", "500ms", "--wait", "30s")
    if lease["outcome"] != "granted":
        sys.exit(f"not granted: {lease}")
    token = lease["fencing_token"]
    resource = resources.KINDS[job["kind"]](job["where"])
    try:
        if job["kind"] == "shop":
            pay(resource, job["mode"], job["lock"], token)
        else:
            add(resource, job["mode"], token, job["amount"])
        outcome = "done"
    except Exception as error:
        if type(error).__name__ != "StaleToken":
            raise
        outcome = f"stale: {error}"
    lockkeeper("release", job["lock"], lease["lease_id"])
    say(outcome=outcome, token=token)


if __name__ == "__main__":
    main()
