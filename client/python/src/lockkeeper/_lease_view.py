# SPDX-License-Identifier: Apache-2.0
"""What the leases of both clients have in common."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from . import _flows
from ._leases import KeptLease
from .errors import LossCause, ServiceError
from .options import Assurance


class LeaseView:
    """What was granted, and whether it is still held.

    The end of a lease is counted from the moment at which its request was sent, on a clock that
    goes on while the machine sleeps, less a margin of 1 % + 50 ms. The client renews it every third
    of its ttl on threads of its own. It is lost at that end (less stop_margin), or at once when
    the service says that it has ended, and never held again.

    No client can prevent that a paused process wakes up after the end and acts before it checks.
    Only a resource that checks the fencing token can.
    """

    __slots__ = ("__weakref__", "_kept", "_owner")

    def __init__(self, kept: KeptLease, owner: object) -> None:
        self._kept = kept
        self._owner = owner  # A client lives as long as its leases.

    @property
    def name(self) -> str:
        return self._kept.granted.name

    @property
    def lease_id(self) -> str:
        """A credential: who knows it can extend and release. Do not log it."""
        return self._kept.lease_id

    @property
    def fencing_token(self) -> int:
        """Higher than that of every earlier grant: pass it to all that the lock guards."""
        return self._kept.granted.fencing_token

    @property
    def ttl(self) -> float:
        """Seconds, as granted."""
        return self._kept.granted.ttl

    @property
    def waited(self) -> float:
        """Seconds that the acquire stood in line."""
        return self._kept.granted.waited

    @property
    def previous_lease_expired(self) -> bool:
        """The former holder did not release: what the lock guards may be half done."""
        return self._kept.granted.previous_lease_expired

    @property
    def assurance(self) -> Assurance:
        return self._kept.granted.assurance

    @property
    def reassertion(self) -> str:
        """The newest proof of this lease: keep it, with the token, to adopt the lease later."""
        return self._kept.reassertion

    def remaining(self) -> float:
        """Seconds until the end. 0 once it is released, or the service said that it has ended."""
        return self._kept.remaining()

    @property
    def held(self) -> bool:
        """Whether it is held now: neither lost nor released. Looks at the clock."""
        return self._kept.cause is None and not self._kept.is_dropped

    @property
    def loss(self) -> LossCause | None:
        """Why it is lost; None if it is not. A release does not change it."""
        return self._kept.cause

    @property
    def loss_error(self) -> ServiceError | None:
        """The error of the last renewal, if that is why it is lost."""
        return self._kept.life.last_error if self._kept.cause is not None else None

    def check(self) -> None:
        """Raises LeaseLost, or LeaseReleased, if it is not held now. Looks at the clock, so that it
        is right after any pause: a sleeping machine, a stopped process, a call that kept the
        interpreter."""
        _flows.check(self._kept)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Runs `callback` once when it is lost; at once if it is. On the callback thread, which all
        leases of the client share, so return soon. After a release none runs or begins."""
        self._kept.on_lost_user(callback)

    def detach(self) -> str:
        """Stops renewing without a release, and returns the lease id: another client can adopt the
        lease for the rest of its ttl. It also needs fencing_token and reassertion."""
        return _flows.detach(self._kept)

    def __repr__(self) -> str:
        state = self._kept.cause or ("released" if self._kept.is_dropped else "held")
        return f"<Lease {self.name!r} token {self.fencing_token}: {state}>"

    def __del__(self) -> None:
        # Runs at any point of any thread: it must take no lock.
        kept = self._kept
        core = kept.core
        if kept.is_dropped or core.forked or core.closed:
            return
        core.timers.post(lambda: _flows.begin_release(kept))
        warnings.warn(
            f"the lease of {kept.granted.name!r} was dropped without a release; it is released now",
            ResourceWarning,
            stacklevel=2,
            source=self,
        )
