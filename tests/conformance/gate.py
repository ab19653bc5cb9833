# SPDX-License-Identifier: Apache-2.0
"""A TCP gate between a client and its daemon: passes bytes on, holds them back, or cuts the connections."""

import socket
import threading

# Frames of HTTP/2: 3 bytes of length, type, flags, 4 bytes of stream; then the payload.
GREETING_BYTES = 24
HEADERS = 1
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
GOAWAY = bytes([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])  # the last stream that was taken is 0; no error


class Gate:
    """Modes: `pass`; `hold` keeps all bytes back; `hold answers` only those of the daemon; `refuse`
    cuts new connections as well; `away` listens no more, for good."""

    def __init__(self, upstream):
        self._upstream = upstream
        self._changed = threading.Condition()
        self._mode = "pass"
        self._sockets = set()
        self._closed = False
        self._turning_away = False
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    @property
    def address(self):
        return "127.0.0.1:%d" % self._listener.getsockname()[1]

    def set_mode(self, mode):
        with self._changed:
            self._mode = mode
            self._changed.notify_all()
        if mode == "away":
            self._stop_listening()
        if mode in ("refuse", "away"):
            self.cut()

    def _stop_listening(self):
        """The port stays ours, so that nobody else listens there."""
        address = self._listener.getsockname()
        self._shut(self._listener)
        self._listener.close()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(address)

    def turn_away_next(self):
        """The next connection ends without its first call, as HTTP/2 says it: with a GOAWAY that has not taken it."""
        self._turning_away = True

    def lead_to(self, upstream):
        self._upstream = upstream

    def cut(self):
        """Cuts the connections that there are."""
        with self._changed:
            sockets, self._sockets = self._sockets, set()
            self._changed.notify_all()
        for each in sockets:
            self._shut(each)

    def close(self):
        self._closed = True
        self._shut(self._listener)
        self._listener.close()
        self.cut()

    @staticmethod
    def _shut(connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _accept(self, listener):
        while not self._closed:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if self._turning_away:
                self._turning_away = False
                with self._changed:
                    self._sockets.add(client)
                threading.Thread(target=self._turn_away, args=(client,), daemon=True).start()
                continue
            try:
                if self._mode == "refuse":
                    raise OSError("refused")
                host, port = self._upstream.rsplit(":", 1)
                daemon = socket.create_connection((host, int(port)), 5)
                daemon.settimeout(None)
            except OSError:
                client.close()
                continue
            for each in (client, daemon):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self.connections += 1
                self._sockets |= {client, daemon}
            threading.Thread(target=self._pump, args=(client, daemon, ("hold",)), daemon=True).start()
            threading.Thread(target=self._pump, args=(daemon, client, ("hold", "hold answers")), daemon=True).start()

    def _turn_away(self, client):
        try:
            client.sendall(SETTINGS)
            with client.makefile("rb") as heard:
                heard.read(GREETING_BYTES)
                while head := heard.read(9):
                    heard.read(int.from_bytes(head[:3], "big"))
                    if head[3] == HEADERS:
                        client.sendall(GOAWAY)
        except (OSError, IndexError):
            pass
        with self._changed:
            self._sockets.discard(client)
        client.close()

    def _pump(self, source, target, held_in):
        try:
            while data := source.recv(65536):
                with self._changed:
                    self._changed.wait_for(lambda: self._mode not in held_in or source not in self._sockets)
                target.sendall(data)
        except OSError:
            pass
        self._shut(source)
        self._shut(target)
        with self._changed:
            gone = {source, target} & self._sockets
            self._sockets -= gone
            self._changed.notify_all()
        source.close()
