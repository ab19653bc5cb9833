# SPDX-License-Identifier: Apache-2.0
"""The recipes for Celery and APScheduler, with real workers and schedulers, and a gateway."""

import http.client
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from lockkeeper import Client

from .daemon import DaemonTest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def has(module):
    return importlib.util.find_spec(module) is not None


class ExamplesTest(DaemonTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockkeeper_")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = os.environ | {"LOCKKEEPER_SERVER": self.address}

    @unittest.skipUnless(has("celery"), "Celery is not installed here")
    def test_celery_sends_one_mail_for_a_message_that_came_three_times(self):
        # A broker of files; a worker with processes that it forks, as Celery does by default.
        settings = pathlib.Path(self.folder, "settings.py")
        settings.write_text(
            "broker_url = 'filesystem://'\n"
            "broker_transport_options = {'data_folder_in': 'queue', 'data_folder_out': 'queue',\n"
            "                            'control_folder': 'control'}\n"
            "worker_hijack_root_logger = False\n"
        )
        for name in ("queue", "control"):
            os.mkdir(f"{self.folder}/{name}")
        environment = self.environment | {
            "BROKER": "filesystem://",
            "CELERY_CONFIG_MODULE": "settings",
            "PYTHONPATH": f"{EXAMPLES}:{self.folder}",
        }
        celery = [sys.executable, "-m", "celery", "--app", "celery_digest", "--config", "settings"]
        send = "from celery_digest import send_digest\n"
        send += "for _ in range(3): send_digest.delay('ada', 'monday')\n"
        send += "send_digest.delay('bob', 'monday')"
        send = "from celery_digest import app; app.config_from_object('settings')\n" + send
        options = {"cwd": self.folder, "env": environment}
        subprocess.run([sys.executable, "-c", send], check=True, timeout=60, **options)
        with open(f"{self.folder}/log", "w") as log:
            worker = subprocess.Popen(
                [*celery, "worker", "--concurrency", "3", "--loglevel", "info", "--without-mingle",
                 "--without-gossip", "--without-heartbeat"],
                stdout=log, stderr=log, **options,
            )  # fmt: skip
        try:
            self.until(lambda: self.log().count("succeeded") == 4, within=60)
        except AssertionError:
            self.fail(self.log())
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(30)
        outbox = pathlib.Path(self.folder, "outbox").read_text().splitlines()
        self.assertEqual(
            sorted(outbox), ["digest of monday for ada", "digest of monday for bob"], self.log()
        )
        self.assertEqual(self.log().count("'was sent before'"), 2)

    def log(self):
        return pathlib.Path(self.folder, "log").read_text()

    @unittest.skipUnless(has("apscheduler"), "APScheduler is not installed here")
    def test_apscheduler_runs_a_job_on_one_of_three_replicas(self):
        environment = self.environment | {"AT": str(time.time() + 2)}
        program = [sys.executable, str(EXAMPLES / "apscheduler_nightly.py")]
        replicas = [
            subprocess.Popen([*program, name], stdout=subprocess.PIPE, text=True, env=environment)
            for name in "abc"
        ]
        for replica in replicas:
            self.addCleanup(replica.kill)
        said = "".join(replica.communicate(timeout=60)[0] for replica in replicas)
        self.assertEqual([replica.returncode for replica in replicas], [0, 0, 0])
        self.assertEqual(len(re.findall("runs the report, token [0-9]+", said)), 1, said)
        self.assertEqual(said.count("leaves it to another replica"), 2, said)

    def test_gateway_leads_requests_to_the_leader(self):
        gateway = subprocess.Popen(
            [sys.executable, str(EXAMPLES / "gateway.py")],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.addCleanup(gateway.stdout.close)
        self.addCleanup(gateway.wait)
        self.addCleanup(gateway.kill)
        port = int(gateway.stdout.readline().split()[-1])

        def ask():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/invoices")
            answer = connection.getresponse()
            connection.close()
            return answer.status, answer.headers["Location"]

        self.assertEqual(gateway.stdout.readline(), "nobody leads\n")
        self.assertEqual(ask(), (503, None))
        with Client(self.address) as client:
            client.lead("billing", lambda lease: None, owner="10.0.0.7:8080")
            self.assertRegex(gateway.stdout.readline(), "10.0.0.7:8080 leads, .* token [0-9]+\n")
            self.assertEqual(ask(), (307, "http://10.0.0.7:8080/invoices"))
        self.assertEqual(gateway.stdout.readline(), "nobody leads\n")
        self.assertEqual(ask(), (503, None))

    def tell(self, story):
        """What a story prints, in its two parts."""
        program = [sys.executable, str(EXAMPLES / f"{story}.py")]
        return subprocess.run(
            program, env=self.environment, stdout=subprocess.PIPE, text=True, check=True, timeout=60
        ).stdout.split("\n\n")

    def test_three_workers_send_more_than_one_mail_without_a_lock_and_one_with_it(self):
        without, with_lock = self.tell("digest_mail")
        self.assertRegex(without, "Ada has [23] mails")
        self.assertIn("Ada has 1 mail.", with_lock)
        self.assertEqual(with_lock.count("was sent before"), 2)

    def test_job_runs_three_times_under_a_free_lock_and_once_under_one_that_stays_closed(self):
        without, with_lock = self.tell("nightly_job")
        self.assertIn("Runs of the job: 3", without)
        self.assertIn("Runs of the job: 1", with_lock)
        self.assertEqual(with_lock.count("leaves it to another one"), 2)
