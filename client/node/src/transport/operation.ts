// SPDX-License-Identifier: Apache-2.0
//
// One operation on its way to a daemon.
import type { LockkeeperError } from '../errors';
import type { OperationRequest, OperationResult } from './messages';
import type { SessionLink } from './session';

export interface Operation {
  request: OperationRequest;
  /** By the client's clock. */
  deadline: number;
  /** When it was given to the connection; until then, when it was started. */
  sent: number;
  cancelled: boolean;
  /** The session that carried it, if one did. */
  carrier: SessionLink | null;
  /** Called exactly once, never before the call that started the operation returns. */
  done: (error: LockkeeperError | null, result: OperationResult | null) => void;
}

export function mayWait(request: OperationRequest): boolean {
  return request.acquire?.waitTimeout !== undefined;
}
