# SPDX-License-Identifier: Apache-2.0
"""gateway.py [PORT]: leads each request to the replica that leads, whose owner text is its address.

A replica says where it is:  client.lead("billing", serve, owner="10.0.0.7:8080", ttl=10)
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lockkeeper import Client, Leader


def tell(leader: Leader | None) -> None:
    if leader is None:
        print("nobody leads", flush=True)
    else:
        print(leader.owner, "leads, with fencing token", leader.fencing_token, flush=True)


class Gateway(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        leader = observer.leader
        if leader is None:
            self.send_error(503, "nobody leads")
            return
        self.send_response(307)  # A replica that leads no more refuses it: it knows its own term.
        self.send_header("Location", f"http://{leader.owner}{self.path}")
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", int((sys.argv + ["0"])[1])), Gateway)
print("listening on port", server.server_port, flush=True)
with Client(os.environ.get("LOCKKEEPER_SERVER", "127.0.0.1:7600")) as client:
    observer = client.observe("billing", tell)
    server.serve_forever()
