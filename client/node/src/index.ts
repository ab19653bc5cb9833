// SPDX-License-Identifier: Apache-2.0
export { Client, type FenceResult, type Verdict } from './client';
export {
  type Contention, type ContentionReason, type ErrorCode, type ErrorReason, LeaseLostError, LockkeeperError, type LossCause, NotAcquiredError,
} from './errors';
export type { Leader } from './leader_view';
export { type LeadOptions, Leadership } from './leadership';
export { type DetachedLease, Lease } from './lease';
export { type ObserveOptions, Observer } from './observer';
export type { AcquireOptions, AdoptOptions, Assurance, ClientOptions, ExtendOptions, FenceOptions } from './options';
export type { NotReleasedReason, ReleaseResult } from './renewal/releaser';
export type { TlsOptions } from './transport/addresses';
