# SPDX-License-Identifier: Apache-2.0
"""fenced.lua in a Redis server, and in one that is a Cluster."""
import hashlib
import unittest

import redis

import place
import fenced_redis

MARK, DATA = "{report}:mark", "report"
OLD, NEW = 33, 34


class RedisTest(unittest.TestCase):
    def setUp(self):
        self.redis = self.enterContext(redis.Redis(unix_socket_path=server, decode_responses=True))
        self.redis.flushall()
        self.key = fenced_redis.FencedKey(self.redis, DATA)

    def run_script(self, *arguments, keys=(MARK, DATA)):
        return self.redis.eval(fenced_redis.SCRIPT, len(keys), *keys, *arguments)

    def test_equal_and_higher_tokens_are_admitted_and_lower_ones_rejected(self):
        for token in (OLD, OLD, NEW, NEW):
            self.assertEqual(self.key.call(token, "SET", token), "OK")

        with self.assertRaises(fenced_redis.StaleToken):
            self.key.call(OLD, "SET", "late")

        self.assertEqual(self.redis.mget(MARK, DATA), ["34", "34"])

    def test_a_read_raises_the_mark(self):
        self.assertIsNone(self.key.call(NEW, "GET"))

        with self.assertRaises(fenced_redis.StaleToken):
            self.key.call(OLD, "GET")

    def test_any_command_on_the_key(self):
        self.assertEqual(self.key.call(OLD, "HSET", "guest", "alice", "seat", 12), 2)
        self.assertEqual(self.key.call(NEW, "HGET", "guest"), "alice")

    def test_tokens_next_to_the_largest_are_told_apart(self):
        self.key.call(2**53 - 1, "GET")

        with self.assertRaises(fenced_redis.StaleToken):
            self.key.call(2**53 - 2, "GET")

    def test_a_malformed_token_is_rejected_and_changes_nothing(self):
        for token in ("", "0", "-1", "1.5", "1e3", "0x10", " 1", "01", "nan", 2**53, 2**53 + 1, 10**400):
            with self.subTest(token=token), self.assertRaisesRegex(redis.ResponseError, "token must be an integer"):
                self.run_script(token, "SET", "x")
        self.assertEqual(self.redis.keys(), [])

    def test_a_mark_that_is_none_rejects_everybody(self):
        self.redis.set(MARK, "broken")

        with self.assertRaises(redis.ResponseError):
            self.key.call(NEW, "SET", "x")
        self.assertIsNone(self.redis.get(DATA))

    def test_the_mark_does_not_expire(self):
        self.key.call(NEW, "SET", "x", "EX", 10)

        self.assertEqual(self.redis.ttl(MARK), -1)

    def test_the_command_of_the_guide(self):
        sha = hashlib.sha1(fenced_redis.SCRIPT.encode()).hexdigest()
        self.assertEqual(self.redis.script_load(fenced_redis.SCRIPT), sha)

        self.assertEqual(self.redis.execute_command("EVALSHA", sha, 2, MARK, DATA, NEW, "SET", "new text"), "OK")

    def test_a_flushed_script_is_sent_again(self):
        self.key.call(OLD, "GET")
        self.redis.script_flush()

        self.key.call(NEW, "SET", "x")


class ClusterTest(unittest.TestCase):
    def setUp(self):
        path = self.enterContext(place.redis_server("--cluster-enabled", "yes"))
        self.redis = self.enterContext(redis.Redis(unix_socket_path=path, decode_responses=True))
        self.redis.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        place.until(lambda: self.redis.execute_command("CLUSTER INFO")["cluster_state"] == "ok", "a Cluster that is up")

    def test_mark_and_data_share_a_slot(self):
        for key in ("report", "a{report}b", "{report}"):
            with self.subTest(key=key):
                mark, data = fenced_redis.FencedKey(self.redis, key)._keys
                self.assertNotEqual(mark, data)
                self.assertEqual(*(self.redis.execute_command("CLUSTER KEYSLOT", name) for name in (mark, data)))

    def test_the_keys_are_in_one_slot(self):
        key = fenced_redis.FencedKey(self.redis, DATA)

        self.assertEqual(key.call(NEW, "SET", "x"), "OK")
        with self.assertRaises(fenced_redis.StaleToken):
            key.call(OLD, "SET", "late")

    def test_a_mark_without_the_hash_tag_is_rejected(self):
        with self.assertRaisesRegex(redis.ResponseError, "slot"):
            self.redis.eval(fenced_redis.SCRIPT, 2, "report:mark", "report", NEW, "SET", "x")


def setUpModule():
    global server
    server = unittest.enterModuleContext(place.redis_server())


if __name__ == "__main__":
    unittest.main()
