# SPDX-License-Identifier: Apache-2.0
"""pay_once.py against an HTTP server with the usual meaning of Idempotency-Key, which stands in for somebody else's API."""
import contextlib
import http.server
import json
import os
import threading
import unittest
import urllib.error

import place
from resources import Shop


class PaymentServer(http.server.ThreadingHTTPServer):
    """The first request with a key is carried out; a repeat gets its answer, 409 while it is under way, 422 if it asks for more."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Payments)
        self.payments = []
        self.open = threading.Event()  # Nothing is answered while it is not set.
        self.open.set()
        self.arrived = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._known = {}  # key: the body, and the answer or None

    def pay(self, key, body):
        with self._lock:
            if key in self._known:
                first, answer = self._known[key]
                if body != first:
                    return 422, {"error": "the key belongs to another request"}
                return (200, answer) if answer else (409, {"error": "the request with this key is under way"})
            if key:
                self._known[key] = body, None
        self.arrived.release()
        self.open.wait()
        with self._lock:
            self.payments.append(body)
            answer = {"payment": len(self.payments)}
            if key:
                self._known[key] = body, answer
            return 201, answer


class Payments(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = self.server.pay(self.headers["Idempotency-Key"], body)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def payment_server():
    with PaymentServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.open.set()
            server.shutdown()
            thread.join()


class PayOnceTest(unittest.TestCase):
    """The first worker is paused right before it pays, until the second has the lock and has paid."""

    def setUp(self):
        self.api = self.enterContext(payment_server())
        url = "http://{}:{}".format(*self.api.server_address)
        self.where = {"url": url, "journal": self.enterContext(place.folder()) + "/order-4711"}
        self.shop = Shop(self.where)

    def worker(self, mode):
        lock = f"{self.id()}/{os.getpid()}"
        return self.enterContext(place.Worker(daemon, lock, kind="shop", mode=mode, where=self.where))

    def paused_worker_wakes_late(self, mode):
        first = self.worker(mode)
        first_key = first.next_word()["about_to_pay"]
        first.pause()
        first.proceed()
        second = self.worker(mode)
        second_key = second.next_word()["about_to_pay"]
        second.proceed()
        self.assertEqual(second.next_word()["outcome"], "done")
        first.wake()
        return first_key, second_key, first.next_word()["outcome"].partition(":")[0]

    def test_without_a_key_the_order_is_paid_twice(self):
        self.paused_worker_wakes_late("plain")

        self.assertEqual(len(self.api.payments), 2)

    def test_with_a_key_for_each_token_the_order_is_paid_twice(self):
        first_key, second_key, _ = self.paused_worker_wakes_late("key_of_its_own")

        self.assertNotEqual(first_key, second_key)
        self.assertEqual(len(self.api.payments), 2)

    def test_with_the_planned_key_the_order_is_paid_once_and_the_stale_worker_hears_of_it(self):
        first_key, second_key, first_outcome = self.paused_worker_wakes_late("planned")

        self.assertEqual(first_key, second_key)
        self.assertEqual(self.api.payments, [Shop.ORDER])
        self.assertEqual(first_outcome, "stale")

    def test_a_worker_that_comes_after_the_payment_takes_its_answer(self):
        for _ in range(2):
            worker = self.worker("planned")
            word = worker.next_word()
            if "about_to_pay" in word:
                worker.proceed()
                word = worker.next_word()
            self.assertEqual(word["outcome"], "done")

        self.assertEqual(len(self.api.payments), 1)

    def test_a_repeat_gets_the_first_answer(self):
        self.assertEqual(self.shop.post(Shop.ORDER, "key"), self.shop.post(Shop.ORDER, "key"))
        self.assertEqual(len(self.api.payments), 1)

    def test_another_request_with_the_same_key_is_rejected(self):
        self.shop.post(Shop.ORDER, "key")

        self.assert_rejected(422, {"order": 4711, "amount": 200})

    def test_a_repeat_while_the_first_is_under_way_is_rejected(self):
        self.api.open.clear()
        first = threading.Thread(target=self.shop.post, args=(Shop.ORDER, "key"))
        first.start()
        self.assertTrue(self.api.arrived.acquire(timeout=place.PATIENCE))

        self.assert_rejected(409, Shop.ORDER)
        self.api.open.set()
        first.join()

    def assert_rejected(self, status, order):
        with self.assertRaises(urllib.error.HTTPError) as rejected:
            self.shop.post(order, "key")
        self.assertEqual(rejected.exception.code, status)
        rejected.exception.close()


def setUpModule():
    global daemon
    daemon = unittest.enterModuleContext(place.daemon())


if __name__ == "__main__":
    unittest.main()
