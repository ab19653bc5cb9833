# SPDX-License-Identifier: Apache-2.0
"""Transactions that a fencing token guards. Needs psycopg 3 and lockkeeper_fence.sql in the database."""
import contextlib

import psycopg


class StaleToken(Exception):
    """A newer holder has used the resource: nothing was changed. Stop, and do not retry."""


@contextlib.contextmanager
def fenced_transaction(connection: psycopg.Connection, resource: str, token: int):
    """Runs its block in a transaction that begins by raising the mark of `resource`.

    Use it for reads as well, and use nothing that another transaction has read. Raises StaleToken for a stale token.
    """
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise ValueError("connection must not be in a transaction: the fence has to be its first statement")
    try:
        with connection.transaction():
            connection.execute("select lockkeeper.lockkeeper_fence(%s, %s)", (resource, token))
            yield
    except psycopg.Error as error:
        if error.sqlstate == "LK001":
            raise StaleToken(error.diag.message_primary) from error
        raise
