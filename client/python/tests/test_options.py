# SPDX-License-Identifier: Apache-2.0
"""Bad input is rejected before anything is sent, with the name of the field."""

import os
import tempfile
import time
import unittest
from datetime import timedelta

from lockkeeper import Client, InvalidArgument, Reason, Tls
from lockkeeper._connections import Credentials
from lockkeeper.options import seconds


class OptionsTest(unittest.TestCase):
    def rejects(self, field, act, *arguments, **options):
        with self.assertRaises(InvalidArgument) as caught:
            act(*arguments, **options)
        self.assertEqual(caught.exception.field, field)
        self.assertEqual(caught.exception.reason, Reason.INVALID_FIELD)
        self.assertIn(field, str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)

    def test_addresses(self):
        for good in ("a:1", "[::1]:7600", "unix:/x", "tls://host:1", "10.0.0.1:65535"):
            Client(good)
        for bad in ("", "a", "a:0", "a:65536", "a:x", ":1", "::1:5", "http://a:1", "unix:", 5):
            self.rejects("addresses", Client, bad)
        self.rejects("addresses", Client, *["a:1"] * 17)

    def test_times_of_a_client(self):
        self.rejects("call_timeout", Client, call_timeout=0)
        self.rejects("release_timeout", Client, release_timeout=-1)
        self.rejects("call_timeout", Client, call_timeout="10s")

    def test_unknown_options_are_named(self):
        with self.assertRaisesRegex(TypeError, "ttl"):
            Client(ttl=5)
        with self.assertRaisesRegex(TypeError, "timeout"):
            Client().acquire("x", timeout=5)

    def test_durations_are_seconds_or_timedeltas(self):
        self.assertEqual(seconds("ttl", 5), 5.0)
        self.assertEqual(seconds("ttl", 0.25), 0.25)
        self.assertEqual(seconds("ttl", timedelta(minutes=1)), 60.0)
        for bad in ("5", None, True, float("nan"), float("inf")):
            self.rejects("ttl", seconds, "ttl", bad)

    def test_options_of_an_acquire(self):
        client = Client()
        self.addCleanup(client.close)
        self.rejects("wait", client.acquire, "x", wait=-1)
        self.rejects("stop_margin", client.acquire, "x", stop_margin=-1)
        self.rejects("stop_margin", client.acquire, "x", ttl=10, stop_margin=6.2)
        self.rejects("name", client.acquire, 5)
        self.rejects("name", client.acquire, "\ud800")
        self.rejects("labels", client.acquire, "x", labels={"a": 5})
        self.rejects("labels", client.acquire, "x", labels="a")
        self.rejects("fencing_token", client.fence, "x", 2**53)
        self.rejects("fencing_token", client.fence, "x", "5")

    def test_secrets_are_not_shown_on_plain_connections(self):
        with tempfile.NamedTemporaryFile("w", suffix=".token") as file:
            file.write("secret\n")
            file.flush()
            self.rejects("token_file", Client, "elsewhere:7600", token_file=file.name)
            Client("tls://elsewhere:7600", token_file=file.name)
            Client("127.0.0.1:7600", "localhost:1", "unix:/x", token_file=file.name)

    def test_a_token_that_changes_is_read_again(self):
        with tempfile.NamedTemporaryFile("w", suffix=".token") as file:
            file.write("first\n")
            file.flush()
            credentials = Credentials(Tls(), file.name, ["127.0.0.1:1"])
            self.assertEqual(credentials.metadata, [("authorization", "Bearer first")])
            version = credentials.version
            file.seek(0)
            file.write("the second\n")
            file.flush()
            end = time.monotonic() + 15
            while credentials.look() == version:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)  # between two looks
            self.assertEqual(credentials.metadata, [("authorization", "Bearer the second")])

    def test_files_have_to_be_right(self):
        self.rejects("token_file", Client, token_file="/nowhere")
        self.rejects("token_file", Client, token_file=os.devnull)
        self.rejects("tls.ca_file", Client, tls=Tls(ca_file=os.devnull))
        self.rejects("tls.certificate_file", Client, tls=Tls(certificate_file="/nowhere"))
