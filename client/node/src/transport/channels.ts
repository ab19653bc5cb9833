// SPDX-License-Identifier: Apache-2.0
//
// The connections to one daemon: one for sessions, one for unary acquires that may wait, one for the other unary calls, one for observers.
import { type ChannelCredentials, Client } from '@grpc/grpc-js';
import { targetOf } from './addresses';
import type { Security } from './security';

const SETTINGS = {
  // A session, or an acquire that waits, is a stream without data: without pings nobody would notice that the daemon has gone. The daemon
  // allows a ping every 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  // A call that no server has seen, because its connection was just ending, gRPC sends again: it is still the same attempt. It repeats no
  // other, since nobody gives it a policy, DNS included.
  'grpc.enable_retries': 1,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  // A daemon that restarts must be found again well within a lease.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // Daemons that are replaced one after the other have other addresses within seconds.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // A lock daemon is a neighbour, never behind the proxy that the environment names for the web.
  'grpc.enable_http_proxy': 0,
};

interface Socket {
  ref(): unknown;
  unref(): unknown;
}

interface Connector {
  connect(socket: unknown): Promise<{ socket: Socket }>;
}

// gRPC keeps the process alive while a stream is open, and a session is always open. So the sockets do not count; the client keeps the
// process alive itself while calls of the program are in flight. gRPC has no public way to say so.
function withoutHoldingTheProcess(credentials: ChannelCredentials): ChannelCredentials {
  const inner = credentials as unknown as { _createSecureConnector?: (...args: unknown[]) => Connector };
  const create = inner._createSecureConnector;
  if (typeof create !== 'function') return credentials;
  inner._createSecureConnector = (...args) => {
    const connector = create.apply(credentials, args);
    const connect = connector.connect.bind(connector);
    connector.connect = async (raw) => {
      const connected = await connect(raw);
      connected.socket.unref();
      connected.socket.ref = () => connected.socket;
      return connected;
    };
    return connector;
  };
  return credentials;
}

export class Channels {
  readonly sessions: Client;
  readonly acquires: Client;
  readonly others: Client;
  readonly #connect: () => Client;
  #watches: Client | null = null;

  constructor(address: string, security: Security) {
    this.#connect = () => new Client(targetOf(address), withoutHoldingTheProcess(security.credentialsFor(address)),
                                     { ...SETTINGS, ...security.channelOptions() });
    this.sessions = this.#connect();
    this.acquires = this.#connect();
    this.others = this.#connect();
  }

  /** Few programs observe: made when it is first used. */
  get watches(): Client {
    this.#watches ??= this.#connect();
    return this.#watches;
  }

  /** Takes no new calls. Those in flight go on. */
  close(): void {
    this.sessions.close();
    this.acquires.close();
    this.others.close();
    this.#watches?.close();
  }
}
