# SPDX-License-Identifier: Apache-2.0
"""One call of somebody else's API, made once by however many workers. The API knows no fencing
tokens, but idempotency keys."""
import hashlib
import json


def idempotency_key(lock: str, token: int, step: str) -> str:
    """Names one step of one turn with a lock. No other turn ever has it: tokens rise, and the name
    tells the tokens of two locks apart."""
    return hashlib.sha256(f"{lock}\n{token}\n{step}".encode()).hexdigest()


def pay_once(journal, lock: str, token: int, order: dict, post) -> dict:
    """Returns the answer to the payment of `order`. `post(order, key)` sends it.

    `journal` is a fenced resource of this order, such as a FencedFile. It keeps the plan before the
    payment is sent. Whoever finds a plan without an answer, because its worker died or is paused,
    repeats the call with the planned key. With a key of its own the API would pay again.
    Raises what the journal raises for a stale token.
    """
    plan = json.loads(journal.read(token) or "null")
    if plan is None:
        plan = {"order": order, "key": idempotency_key(lock, token, "pay")}
        journal.write(token, json.dumps(plan).encode())
    if "answer" not in plan:
        plan["answer"] = post(plan["order"], plan["key"])
        journal.write(token, json.dumps(plan).encode())
    return plan["answer"]
