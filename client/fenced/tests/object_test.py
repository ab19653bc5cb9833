# SPDX-License-Identifier: Apache-2.0
"""fenced_object.py against moto's S3 server, and why the mark is part of the object."""
import itertools
import unittest

import place
from resources import s3_client
from fenced_object import FencedObject, StaleToken

OLD, NEW = 33, 34
buckets = itertools.count()


class ObjectTest(unittest.TestCase):
    def setUp(self):
        self.bucket = f"object-test-{next(buckets)}"
        self.s3 = s3_client(server)
        self.addCleanup(self.s3.close)
        self.s3.create_bucket(Bucket=self.bucket)
        self.object = FencedObject(self.s3, self.bucket, "report")

    def put(self, body, **options):
        return self.s3.put_object(Bucket=self.bucket, Key="report", Body=body, **options)["ETag"]

    def body(self):
        return self.s3.get_object(Bucket=self.bucket, Key="report")["Body"].read()

    def test_equal_and_higher_tokens_are_admitted_and_lower_ones_rejected(self):
        for token in (OLD, OLD, NEW, NEW):
            self.object.write(token, b"%d" % token)

        for access in (lambda: self.object.write(OLD, b"late"), lambda: self.object.read(OLD)):
            self.assertRaises(StaleToken, access)

        self.assertEqual(self.object.read(NEW), b"34")
        self.assertEqual(self.body(), b"34\n34")

    def test_data_of_any_bytes_is_kept(self):
        self.object.write(OLD, b"\n\x00two\nlines\n")

        self.assertEqual(self.object.read(NEW), b"\n\x00two\nlines\n")

    def test_the_first_read_of_a_missing_object_raises_the_mark(self):
        self.assertEqual(self.object.read(NEW), b"")

        self.assertRaises(StaleToken, self.object.write, OLD, b"late")

    def test_a_mark_in_the_metadata_leaves_the_etag_to_a_stale_holder(self):
        before = self.put(b"data", Metadata={"mark": str(OLD)})
        after = self.put(b"data", Metadata={"mark": str(NEW)}, IfMatch=before)

        self.assertEqual(before, after)
        self.put(b"late", Metadata={"mark": str(OLD)}, IfMatch=before)  # is not rejected
        self.assertEqual(self.body(), b"late")

    def test_a_put_between_get_and_put_is_seen(self):
        self.object.write(OLD, b"old")
        for newer, check in ((OLD, lambda: self.object.write(OLD, b"mine")),
                             (NEW, lambda: self.assertRaises(StaleToken, self.object.write, OLD, b"late"))):
            self.comes_in_between(lambda: self.put(b"%d\nnewer" % newer))
            check()
        self.assertEqual(self.body(), b"34\nnewer")

    def test_a_first_put_by_two_is_seen(self):
        self.comes_in_between(lambda: self.put(b"%d\nfirst" % NEW))

        self.assertRaises(StaleToken, self.object.write, OLD, b"late")

    def test_an_object_that_never_rests_is_given_up(self):
        self.object.write(OLD, b"old")
        serial = itertools.count()
        self.comes_in_between(lambda: self.put(b"%d\n%d" % (OLD, next(serial))), times=100)

        self.assertRaises(TimeoutError, self.object.write, OLD, b"x")

    def test_malformed_tokens_are_rejected(self):
        for token in (0, -1, 2**53, "33", 1.5, None):
            with self.subTest(token=token), self.assertRaisesRegex(ValueError, "token"):
                self.object.write(token, b"x")

    def comes_in_between(self, act, times=1):
        """Lets `act` happen between the get and the put of the next accesses."""
        put, left = self.object._put, itertools.chain([act] * times, itertools.repeat(lambda: None))

        def late_put(*arguments):
            next(left)()
            return put(*arguments)

        self.object._put = late_put


def setUpModule():
    global server
    server = unittest.enterModuleContext(place.s3_server())


if __name__ == "__main__":
    unittest.main()
