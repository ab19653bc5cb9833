// SPDX-License-Identifier: Apache-2.0
//
// Passes the program's OpenTelemetry context on, if the program has it: in the metadata of unary calls and of the opening of a session, and
// with each operation of a session, which belongs to another caller each time.
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

/** What an operation of a session carries. */
export interface TraceContext {
  traceparent: string;
  tracestate?: string;
}

// Longer ones mean nothing to the server, and would take the place of operations in a message.
const TRACEPARENT_MAX = 64;
const TRACESTATE_MAX = 512;

/** The context that is active now; undefined if there is none. */
export function activeTraceContext(): TraceContext | undefined {
  if (api === null) return undefined;
  const found: Record<string, string> = {};
  api.propagation.inject(api.context.active(), found);
  const { traceparent, tracestate } = found;
  if (!traceparent || traceparent.length > TRACEPARENT_MAX) return undefined;
  return tracestate && tracestate.length <= TRACESTATE_MAX ? { traceparent, tracestate } : { traceparent };
}

/** Upper bound of the bytes that it takes on the wire. */
export function bytesOfTrace(trace: TraceContext | undefined): number {
  if (trace === undefined) return 0;
  return (trace.traceparent.length + (trace.tracestate?.length ?? 0)) * 3 + 8;
}
