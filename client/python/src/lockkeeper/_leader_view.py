# SPDX-License-Identifier: Apache-2.0
"""Who leads, by what a watch tells and what looks find: the rules of an observer. Pure: takes what
was told, does no I/O."""

from __future__ import annotations

from .options import Leader

LOOK_EVERY = 10.0
LOOK_AGAIN_MIN = 0.05  # While the last moments of a quarantine pass.

_OF_WAITERS = {"WAITING", "LEFT"}
_ENDS = {"RELEASED", "EXPIRED", "TAKEN_BACK", "FORCED"}
_OF_LEASES = {"GRANTED", "OFFERED", "EXTENDED", "LOST", *_ENDS}


class LeaderView:
    """The newest token that an event or a look has told, and whose lease leads."""

    __slots__ = (
        "_has_changed",
        "_has_ended",
        "_news",
        "_news_at_look",
        "_token",
        "is_known",
        "leader",
    )

    def __init__(self) -> None:
        self.leader: Leader | None = None
        self.is_known = False  # Whether that nobody leads is known, too.
        self._token = 0
        self._has_ended = False  # The lease of this token.
        self._news = 0  # How often an event has changed what is known.
        self._news_at_look = 0
        self._has_changed = False

    def on_event(self, kind: str, about: Leader) -> bool:
        """Returns whether to look. Only a look can place what is new, or has no token."""
        token = about.fencing_token
        if kind in _OF_WAITERS or kind == "QUARANTINE_BEGAN":
            return False
        if kind not in _OF_LEASES or token == 0:
            return True
        if token < self._token:
            return False
        if kind == "LOST":
            return True  # Its token is what a client has sent, which may be anything.
        if token > self._token:
            self._raise(token)
            if kind == "OFFERED":
                self._know(None)
        if kind in _ENDS:
            if not self._has_ended:
                self._has_ended = True
                self._news += 1
            self._know(None)
        elif kind == "GRANTED" and not self._has_ended and not self._leads(token):
            self._news += 1  # A look may have seen its offer.
            if about.owner == "":
                return True  # Its daemon has not seen the acquire; the store knows.
            self._know(about)
        return kind == "EXTENDED" and not self._leads(token)

    def look_sent(self) -> None:
        self._news_at_look = self._news

    def on_look(self, state: str, about: Leader, quarantine_left: float | None) -> float:
        """`state` is empty if there is no record. Returns the seconds until the next look."""
        if self._news != self._news_at_look:
            return 0.0
        token = about.fencing_token
        if state == "HELD":
            if token >= self._token:
                self._token, self._has_ended = token, False
                self._know(about)
            return LOOK_EVERY
        if token > self._token:
            self._token, self._has_ended = token, False
        if state == "UNPROVEN" or quarantine_left is not None:
            # The lease may come back with its next extend.
            left = LOOK_EVERY if quarantine_left is None else quarantine_left
            return min(max(left, LOOK_AGAIN_MIN), LOOK_EVERY)
        if state != "OFFERED" or token < self._token:
            self._has_ended = True
        self._know(None)
        return LOOK_EVERY

    def take_change(self) -> bool:
        """Whether another one leads than at the last call, or it is known for the first time."""
        has_changed, self._has_changed = self._has_changed, False
        return has_changed

    def _raise(self, token: int) -> None:
        self._token, self._has_ended = token, False
        self._news += 1

    def _leads(self, token: int) -> bool:
        return _term_of(self.leader) == token

    def _know(self, leader: Leader | None) -> None:
        if self.is_known and _term_of(leader) == _term_of(self.leader):
            return
        self.leader, self.is_known, self._has_changed = leader, True, True


def _term_of(leader: Leader | None) -> int:
    return 0 if leader is None else leader.fencing_token
