// SPDX-License-Identifier: Apache-2.0
//
// Why a call failed. Switch on `reason` (or on the class), never on the message.
import { status } from '@grpc/grpc-js';

/** Reasons of the service; each is explained in `lockkeeper/v1/error_reason.proto`. A newer service may send others. */
export type ErrorReason =
  | 'INVALID_FIELD' | 'LEASE_LOST' | 'LEASE_ENDED' | 'STORE_UNAVAILABLE' | 'OUTCOME_UNKNOWN' | 'QUORUM_NOT_REACHED'
  | 'ASSURANCE_NOT_REACHED' | 'STORE_QUARANTINED' | 'SERVER_DRAINING' | 'WAITER_LIMIT' | 'LEASE_LIMIT' | 'RATE_LIMIT' | 'STORE_CORRUPT'
  | 'FORMAT_TOO_NEW' | 'INVARIANT_VIOLATED' | 'UNAUTHENTICATED' | 'PERMISSION_DENIED' | 'AUDIT_UNAVAILABLE' | 'NOT_ACQUIRED';

/** Name of a gRPC status code. */
export type ErrorCode = keyof typeof status;

export interface ErrorFacts {
  code: ErrorCode;
  /** Empty: the error is not of the service, but of gRPC or of the connection. */
  reason?: ErrorReason | (string & {});
  field?: string;
  retryDelay?: number;
}

/** A call failed. */
export class LockkeeperError extends Error {
  /** gRPC's name of the status code, such as UNAVAILABLE. */
  readonly code: ErrorCode;
  /** The service's reason, such as STORE_UNAVAILABLE. Empty if there is none: then rely on the code. */
  readonly reason: ErrorReason | (string & {});
  /** The option that an INVALID_FIELD is about. */
  readonly field: string | undefined;
  /** Least time in milliseconds before a retry makes sense, if the server said so. */
  readonly retryDelay: number | undefined;

  constructor(message: string, facts: ErrorFacts) {
    super(message);
    this.name = new.target.name;
    this.code = facts.code;
    this.reason = facts.reason ?? '';
    this.field = facts.field;
    this.retryDelay = facts.retryDelay;
  }
}

/** Why a lease is lost: the service said so; renewals failed; it reached its maxHold; this process was paused or its event loop blocked. */
export type LossCause = 'LEASE_LOST' | 'RENEWALS_FAILED' | 'MAX_HOLD' | 'PAUSED';

const LOSS_TEXTS: Record<LossCause, string> = {
  LEASE_LOST: 'the service ended it',
  RENEWALS_FAILED: 'it could not be renewed in time',
  MAX_HOLD: 'it reached its maxHold',
  PAUSED: 'this process was paused, or its event loop blocked, until the lease was over',
};

/** The lease is lost, or about to end: stop the work. The `reason` of a lease's `lost` signal. */
export class LeaseLostError extends LockkeeperError {
  readonly lossCause: LossCause;

  constructor(name: string, lossCause: LossCause, cause?: Error) {
    super(`the lease of \`${name}\` is lost: ${LOSS_TEXTS[lossCause]}`, { code: 'FAILED_PRECONDITION', reason: 'LEASE_LOST' });
    this.lossCause = lossCause;
    if (cause) this.cause = cause;
  }
}

/** Why the lock was not granted. CLOSED: nobody holds it, but it stays closed for a time after its last lease. */
export type ContentionReason = 'HELD' | 'WAIT_TIMED_OUT' | 'CANCELLED' | 'CLOSED';

/** Who holds the lock, if anybody, and for how long. Times are milliseconds. */
export interface Contention {
  reason: ContentionReason;
  /** Owner text of the holder. Empty if it gave none. */
  holderOwner: string;
  /** Time until the lock can become free by itself. */
  remaining: number;
  /** Place in line when the wait ended, 1 being next. 0: none. */
  position: number;
  /** Waiters in line. */
  waiters: number;
}

/** The lock is not free. Only `using` throws it: `acquire` answers null. */
export class NotAcquiredError extends LockkeeperError {
  readonly contention: Contention;

  constructor(name: string, contention: Contention) {
    const by = contention.holderOwner === '' ? '' : ` by \`${contention.holderOwner}\``;
    super(contention.reason === 'CLOSED' ? `\`${name}\` is closed after its last lease` : `\`${name}\` is held${by}`,
          { code: 'ABORTED', reason: 'NOT_ACQUIRED' });
    this.contention = contention;
  }
}

export function invalidOption(field: string, problem: string): LockkeeperError {
  return new LockkeeperError(`${field}: ${problem}`, { code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD', field });
}

export function noAnswerInTime(): LockkeeperError {
  return new LockkeeperError('no answer came in time', { code: 'DEADLINE_EXCEEDED' });
}

/** Whether the attempt may be sent again: the service was not available, or gave no answer. */
export function isUnanswered(error: LockkeeperError): boolean {
  return error.code === 'UNAVAILABLE' || error.code === 'DEADLINE_EXCEEDED';
}
