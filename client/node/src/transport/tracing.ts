// SPDX-License-Identifier: Apache-2.0
//
// Passes the program's OpenTelemetry context on, if the program has it: to unary calls and to the opening of a session. A session's later
// messages belong to many callers and have no metadata.
import type { Metadata } from '@grpc/grpc-js';
import type * as OpenTelemetry from '@opentelemetry/api';

let api: typeof OpenTelemetry | null = null;
try {
  api = require('@opentelemetry/api') as typeof OpenTelemetry;
} catch {
  // The program does not have it.
}

export function addTraceContext(metadata: Metadata): void {
  api?.propagation.inject(api.context.active(), metadata, { set: (carrier, key, value) => carrier.set(key, value) });
}
