# SPDX-License-Identifier: Apache-2.0
"""The resources as the workers use them: a number, read and written with a fencing token, and without one for the control runs.

Each imports its library when it is used: a worker starts quickly.
"""
import importlib
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE))
import fenced_file
import pay_once


class StaleToken(Exception):
    """What the examples say with an exception of their own of this name."""


def s3_client(address):
    boto3 = importlib.import_module("boto3")
    return boto3.client("s3", endpoint_url=address, region_name="us-east-1",
                        aws_access_key_id="test", aws_secret_access_key="test")


class Transaction:
    """PostgreSQL with lockkeeper_fence()."""

    def __init__(self, where):
        self._fenced = importlib.import_module("fenced_postgresql")
        self._connection = self._fenced.psycopg.connect(**where, autocommit=True)

    def plain_read(self):
        return self._connection.execute("select total from report").fetchone()[0]

    def plain_write(self, number):
        self._connection.execute("update report set total = %s", (number,))

    def read(self, token):
        with self._fenced.fenced_transaction(self._connection, "report", token):
            return self.plain_read()

    def write(self, token, number):
        with self._fenced.fenced_transaction(self._connection, "report", token):
            self.plain_write(number)


class Row:
    """PostgreSQL with the token in a column of the row."""

    def __init__(self, where):
        self._connection = importlib.import_module("psycopg").connect(**where, autocommit=True)

    def plain_read(self):
        return self._one("select number from counter where id = 1")

    def plain_write(self, number):
        self._one("update counter set number = %s where id = 1 returning number", number)

    def read(self, token):
        return self._one("update counter set fencing_token = %s where id = 1 and fencing_token <= %s returning number",
                         token, token)

    def write(self, token, number):
        self._one("update counter set number = %s, fencing_token = %s where id = 1 and fencing_token <= %s returning number",
                  number, token, token)

    def _one(self, command, *values):
        row = self._connection.execute(command, values).fetchone()
        if row is None:
            raise StaleToken("no row")
        return row[0]


class RedisKey:
    def __init__(self, where):
        self._client = importlib.import_module("redis").Redis(unix_socket_path=where)
        self._fenced = importlib.import_module("fenced_redis").FencedKey(self._client, "report")

    def plain_read(self):
        return int(self._client.get("report") or 0)

    def plain_write(self, number):
        self._client.set("report", number)

    def read(self, token):
        return int(self._fenced.call(token, "GET") or 0)

    def write(self, token, number):
        self._fenced.call(token, "SET", number)


class File:
    def __init__(self, where):
        self._path = pathlib.Path(where)
        self._fenced = fenced_file.FencedFile(where)

    def plain_read(self):
        return int(self._path.read_text()) if self._path.exists() else 0

    def plain_write(self, number):
        self._path.write_text(str(number))

    def read(self, token):
        return int(self._fenced.read(token) or 0)

    def write(self, token, number):
        self._fenced.write(token, b"%d" % number)


class ShellFile(File):
    """The same file by fenced_file.sh."""

    def read(self, token):
        return int(self._run(token, "read") or 0)

    def write(self, token, number):
        self._run(token, "write", b"%d" % number)

    def _run(self, token, command, data=b""):
        script = subprocess.run([SOURCE / "fenced_file.sh", command, self._path], input=data, capture_output=True,
                                env=dict(os.environ, LOCKKEEPER_FENCING_TOKEN=str(token)))
        if script.returncode == 76:
            raise StaleToken(script.stderr.decode())
        script.check_returncode()
        return script.stdout


class Object:
    def __init__(self, where):
        self._s3 = s3_client(where["address"])
        self._place = {"Bucket": where["bucket"], "Key": "report"}
        self._fenced = importlib.import_module("fenced_object").FencedObject(self._s3, where["bucket"], "report")

    def plain_read(self):
        try:
            mark, _, number = self._s3.get_object(**self._place)["Body"].read().partition(b"\n")
            return int(number)
        except self._s3.exceptions.NoSuchKey:
            return 0

    def plain_write(self, number):
        self._s3.put_object(**self._place, Body=b"0\n%d" % number)

    def read(self, token):
        return int(self._fenced.read(token) or 0)

    def write(self, token, number):
        self._fenced.write(token, b"%d" % number)


class Shop:
    """Pays an order by an API that knows idempotency keys. The journal is a fenced file."""

    ORDER = {"order": 4711, "amount": 100}

    def __init__(self, where):
        self._url = where["url"]
        self._path = pathlib.Path(where["journal"])
        self._journal = fenced_file.FencedFile(where["journal"])

    def post(self, order, key):
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        request = urllib.request.Request(self._url, json.dumps(order).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def plain(self, lock, token, post):
        self._pay_if_unpaid(post, None)

    def key_of_its_own(self, lock, token, post):
        """Each worker makes its key from its own token, and sees no plan of another."""
        self._pay_if_unpaid(post, pay_once.idempotency_key(lock, token, "pay"))

    def planned(self, lock, token, post):
        pay_once.pay_once(self._journal, lock, token, self.ORDER, post)

    def _pay_if_unpaid(self, post, key):
        if not self._path.exists():
            self._path.write_text(json.dumps(post(self.ORDER, key)))


KINDS = {"transaction": Transaction, "row": Row, "redis": RedisKey, "file": File, "shell": ShellFile, "object": Object,
         "shop": Shop}
