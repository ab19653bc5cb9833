// SPDX-License-Identifier: Apache-2.0
//
// Turns failed calls and failed operations into errors of this client.
import { type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { type ErrorCode, type ErrorFacts, LockkeeperError } from '../errors';
import { type Duration, type ErrorMessage, messages, msOf, reasonName } from './messages';

interface Details {
  details?: { type_url: string; value: Uint8Array }[];
}

/** What grpc-status-details-bin says. A malformed one says nothing. */
function factsIn(metadata: ServiceError['metadata'] | undefined): Partial<ErrorFacts> {
  const facts: Partial<ErrorFacts> = {};
  const [packed] = metadata?.get('grpc-status-details-bin') ?? [];
  if (!(packed instanceof Uint8Array)) return facts;
  try {
    for (const { type_url: typeUrl, value } of (messages.status.decode(packed) as Details).details ?? []) {
      const type = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
      if (type === 'google.rpc.ErrorInfo') {
        const info = messages.errorInfo.decode(value) as { domain?: string; reason?: string };
        if (info.domain === 'lockkeeper' && info.reason) facts.reason = info.reason;
      } else if (type === 'google.rpc.BadRequest') {
        const { fieldViolations } = messages.badRequest.decode(value) as { fieldViolations?: { field?: string }[] };
        const field = fieldViolations?.[0]?.field;
        if (field) facts.field = field;
      } else if (type === 'google.rpc.RetryInfo') {
        const { retryDelay } = messages.retryInfo.decode(value) as { retryDelay?: Duration };
        if (retryDelay) facts.retryDelay = msOf(retryDelay);
      }
    }
  } catch {
    // The code alone has to do.
  }
  return facts;
}

function codeName(code: number): ErrorCode {
  return (status[code] as ErrorCode | undefined) ?? 'UNKNOWN';
}

/** The error of a call to `address` that this client did not cancel. */
export function errorOfCall(error: ServiceError | StatusObject, address: string): LockkeeperError {
  const facts = factsIn(error.metadata);
  const { details } = error;
  if (facts.reason) return new LockkeeperError(details, { ...facts, code: codeName(error.code) });
  switch (error.code) {
    // gRPC says CANCELLED of a server that ends. Another kind of server says UNIMPLEMENTED.
    case status.CANCELLED:
      return new LockkeeperError(`${address} cut the call off: ${details}`, { code: 'UNAVAILABLE' });
    case status.UNIMPLEMENTED:
      return new LockkeeperError(`the server at ${address} is not lockkeeperd, or is an old version: ${details}`, { code: 'UNAVAILABLE' });
    case status.UNAVAILABLE:
      return new LockkeeperError(`cannot reach ${address}: ${details}`, { code: 'UNAVAILABLE' });
    case status.DEADLINE_EXCEEDED:
      return new LockkeeperError(`${address} does not answer`, { code: 'DEADLINE_EXCEEDED' });
    default:
      return new LockkeeperError(details, { ...facts, code: codeName(error.code) });
  }
}

/** The error of an operation in a session. */
export function errorOfOperation(error: ErrorMessage): LockkeeperError {
  if (error.code === status.CANCELLED) return new LockkeeperError(`the operation was cut off: ${error.message}`, { code: 'UNAVAILABLE' });
  const facts: ErrorFacts = { code: codeName(error.code || status.UNKNOWN), reason: reasonName(error.reason) };
  const field = error.metadata['field'];
  if (field) facts.field = field;
  if (error.retryDelay) facts.retryDelay = msOf(error.retryDelay);
  return new LockkeeperError(error.message, facts);
}

export function cancelledByCaller(): LockkeeperError {
  return new LockkeeperError('cancelled by the caller', { code: 'CANCELLED' });
}

export function outcomeUnknown(message: string): LockkeeperError {
  return new LockkeeperError(message, { code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' });
}
