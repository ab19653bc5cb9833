// SPDX-License-Identifier: Apache-2.0
//
// One operation on its way to a daemon, and then its answer.
import type { LockkeeperError } from '../errors';
import type { OperationRequest, OperationResult } from './messages';
import type { SessionLink } from './session';
import { activeTraceContext, type TraceContext } from './tracing';

export class Operation {
  readonly request: OperationRequest;
  /** By the client's clock. */
  readonly deadline: number;
  /** Whether it is an acquire that may stand in line. */
  readonly waits: boolean;
  /** Of whoever has asked for it. */
  readonly trace: TraceContext | undefined = activeTraceContext();
  /** When it was given to the connection; until then, when it was started. */
  sent: number;
  cancelled = false;
  /** The session that carried it, if one did. */
  carrier: SessionLink | null = null;
  /** For the session: its number there; it was written; nobody waits for its answer any more. */
  number = 0;
  isWritten = false;
  isAbandoned = false;
  error: LockkeeperError | null = null;
  result: OperationResult | null = null;
  readonly #answered: (operation: Operation) => void;

  /** `answered` is called exactly once, never before the call that starts the operation returns. */
  constructor(request: OperationRequest, now: number, timeout: number, answered: (operation: Operation) => void) {
    this.request = request;
    this.deadline = now + timeout;
    this.waits = request.acquire?.waitTimeout !== undefined;
    this.sent = now;
    this.#answered = answered;
  }

  done(error: LockkeeperError | null, result: OperationResult | null): void {
    this.error = error;
    this.result = result;
    this.#answered(this);
  }
}
