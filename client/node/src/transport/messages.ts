// SPDX-License-Identifier: Apache-2.0
//
// The messages of the service, as protobufjs has them. protobufjs is what @grpc/proto-loader uses too; used directly it saves
// a copy of each message.
import { type INamespace, Root, type Type } from 'protobufjs';
import { protos } from '../generated/protos';

const root = Root.fromJSON(protos as INamespace);

export const messages = {
  sessionRequest: root.lookupType('lockkeeper.v1.SessionRequest'),
  sessionResponse: root.lookupType('lockkeeper.v1.SessionResponse'),
  sessionOperation: root.lookupType('lockkeeper.v1.SessionOperation'),
  acquireRequest: root.lookupType('lockkeeper.v1.AcquireRequest'),
  acquireResponse: root.lookupType('lockkeeper.v1.AcquireResponse'),
  extendRequest: root.lookupType('lockkeeper.v1.ExtendRequest'),
  extendResponse: root.lookupType('lockkeeper.v1.ExtendResponse'),
  releaseRequest: root.lookupType('lockkeeper.v1.ReleaseRequest'),
  releaseResponse: root.lookupType('lockkeeper.v1.ReleaseResponse'),
  fenceRequest: root.lookupType('lockkeeper.v1.FenceRequest'),
  fenceResponse: root.lookupType('lockkeeper.v1.FenceResponse'),
  getLockRequest: root.lookupType('lockkeeper.admin.v1.GetLockRequest'),
  getLockResponse: root.lookupType('lockkeeper.admin.v1.GetLockResponse'),
  watchLocksRequest: root.lookupType('lockkeeper.admin.v1.WatchLocksRequest'),
  watchLocksResponse: root.lookupType('lockkeeper.admin.v1.WatchLocksResponse'),
  status: root.lookupType('google.rpc.Status'),
  errorInfo: root.lookupType('google.rpc.ErrorInfo'),
  badRequest: root.lookupType('google.rpc.BadRequest'),
  retryInfo: root.lookupType('google.rpc.RetryInfo'),
};

const errorReasons = root.lookupEnum('lockkeeper.v1.ErrorReason').valuesById;
const contentionReasons = root.lookupEnum('lockkeeper.v1.ContentionReason').valuesById;
const verdicts = root.lookupEnum('lockkeeper.v1.Verdict').valuesById;
const notReleasedReasons = root.lookupEnum('lockkeeper.v1.NotReleasedReason').valuesById;
const assurances = root.lookupEnum('lockkeeper.v1.Assurance').valuesById;
const eventKinds = root.lookupEnum('lockkeeper.admin.v1.LockEventKind').valuesById;
const lockStates = root.lookupEnum('lockkeeper.admin.v1.LockState').valuesById;

function nameOf(names: Record<number, string>, number: number, prefix: string, otherwise: string): string {
  return names[number]?.slice(prefix.length) ?? otherwise;
}

export const reasonName = (number: number) => (number === 0 ? '' : nameOf(errorReasons, number, 'ERROR_REASON_', ''));
export const contentionReasonName = (number: number) => nameOf(contentionReasons, number || -1, 'CONTENTION_REASON_', 'HELD');
export const verdictName = (number: number) => nameOf(verdicts, number || -1, 'VERDICT_', 'UNKNOWN');
export const notReleasedReasonName = (number: number) => nameOf(notReleasedReasons, number || -1, 'NOT_RELEASED_REASON_', 'NOT_HOLDER');
export const eventKindName = (number: number) => nameOf(eventKinds, number, 'LOCK_EVENT_KIND_', '');
export const lockStateName = (number: number) => nameOf(lockStates, number, 'LOCK_STATE_', '');
export const assuranceName = (number: number) => nameOf(assurances, Math.min(number, 4), 'ASSURANCE_', 'UNSPECIFIED');

/** A number of 64 bits, as protobufjs decodes it. All of ours are below 2^53. */
export type Int64 = number | { toNumber(): number };
export const toNumber = (value: Int64 | null | undefined) =>
  typeof value === 'number' ? value : value?.toNumber() ?? 0;

export interface Duration {
  seconds?: Int64;
  nanos?: number;
}

/** Milliseconds to a Duration. */
export function durationOf(ms: number): Duration {
  const nanos = Math.round(ms * 1e6);
  return { seconds: Math.trunc(nanos / 1e9), nanos: nanos % 1e9 };
}

// Longer than any duration in an answer of the service.
const SECONDS_MAX = 24 * 60 * 60;

/** Milliseconds of a Duration. */
export function msOf(duration: Duration | null | undefined): number {
  if (duration == null) return 0;
  const seconds = Math.min(Math.max(toNumber(duration.seconds), 0), SECONDS_MAX);
  return seconds * 1000 + Math.min(Math.max(duration.nanos ?? 0, 0), 999_999_999) / 1e6;
}

export interface AcquireRequest {
  name: string;
  leaseId: string;
  attempt: number;
  ttl?: Duration;
  waitTimeout?: Duration;
  owner: string;
  labels?: Readonly<Record<string, string>>;
  lockDelay?: Duration;
  maxHold?: Duration;
  holdAtLeast?: Duration;
  confirm: boolean;
  minAssurance?: number;
}

export interface ExtendRequest {
  name: string;
  leaseId: string;
  ttl?: Duration;
  fencingToken?: number;
  reassertion?: string;
}

export interface ReleaseRequest {
  name: string;
  leaseId: string;
}

export interface FenceRequest {
  name: string;
  fencingToken: number;
  requireLiveLease: boolean;
}

/** One operation; exactly one member is set. Adopt exists in sessions only. */
export interface OperationRequest {
  acquire?: AcquireRequest;
  extend?: ExtendRequest;
  release?: ReleaseRequest;
  fence?: FenceRequest;
}

export interface LeaseMessage {
  fencingToken: Int64;
  ttl?: Duration;
  remainingTtl?: Duration;
  waited?: Duration;
  previousLeaseExpired: boolean;
  offered: boolean;
  assurance: number;
  reassertion: string;
}

export interface ContentionMessage {
  reason: number;
  holderOwner: string;
  remainingTtl?: Duration;
  position: number;
  waiters: number;
}

export interface AcquireResponse {
  lease?: LeaseMessage | null;
  contention?: ContentionMessage | null;
}

export interface ErrorMessage {
  code: number;
  reason: number;
  message: string;
  metadata: Record<string, string>;
  retryDelay?: Duration | null;
}

/** The answer to an operation. */
export interface OperationResult {
  operationId?: Int64;
  acquire?: AcquireResponse | null;
  extend?: { lease?: LeaseMessage | null } | null;
  release?: { released: boolean; reason: number } | null;
  fence?: { verdict: number; newestFencingToken: Int64 } | null;
  error?: ErrorMessage | null;
}

export interface LeaseLostMessage {
  name: string;
  leaseId: string;
  reason: number;
}

export interface SessionResponse {
  opened?: { sessionId: string; maxOutstandingOperations: number } | null;
  results?: { results: OperationResult[] } | null;
  heartbeatResult?: {
    number: Int64;
    notExtended: LeaseLostMessage[];
    more: boolean;
    reassertions: Record<string, string>;
  } | null;
  adoptResult?: { name: string; leaseId: string; lease?: LeaseMessage | null; error?: ErrorMessage | null } | null;
  leaseLost?: LeaseLostMessage | null;
  offer?: { operationId: Int64; lease?: LeaseMessage | null } | null;
  draining?: object | null;
  closed?: object | null;
}

/** What an event, or a lock that was looked at, says of a lease. */
export interface LeaseFacts {
  fencingToken?: Int64;
  owner?: string;
  principal?: string;
}

export const aboutLock = ({ fencingToken, owner = '', principal = '' }: LeaseFacts) => ({ fencingToken: toNumber(fencingToken), owner, principal });

export interface WatchLocksResponse {
  events: ({ kind: number } & LeaseFacts)[];
}

export interface GetLockResponse {
  lock?: ({ state: number } & LeaseFacts) | null;
  quarantineLeft?: Duration | null;
}

export const serialize = (type: Type) => (message: object) => type.encode(message as never).finish() as Buffer;
export const deserialize = <T>(type: Type) => (bytes: Buffer) => type.decode(bytes) as unknown as T;
