// SPDX-License-Identifier: Apache-2.0
//
// A daemon for observers only, which says what a test tells it to say.
import grpc from '@grpc/grpc-js';
import messages from '../../dist/transport/messages.js';

const { deserialize, messages: types, serialize } = messages;
const KINDS = types.watchLocksResponse.root.lookupEnum('lockkeeper.admin.v1.LockEventKind').values;
const method = (name, request, response, responseStream) => ({
  path: `/lockkeeper.admin.v1.AdminService/${name}`, requestStream: false, responseStream,
  requestSerialize: serialize(request), requestDeserialize: deserialize(request),
  responseSerialize: serialize(response), responseDeserialize: deserialize(response),
});
const SERVICE = {
  WatchLocks: method('WatchLocks', types.watchLocksRequest, types.watchLocksResponse, true),
  GetLock: method('GetLock', types.getLockRequest, types.getLockResponse, false),
};

/** What has come, or comes. */
class Arrivals {
  #come = [];
  #waiting = [];

  add(one) {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(one);
    else this.#come.push(one);
  }

  next() {
    if (this.#come.length > 0) return Promise.resolve(this.#come.shift());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('nothing has come')), 15_000);
      this.#waiting.push((one) => {
        clearTimeout(timer);
        resolve(one);
      });
    });
  }

  get count() {
    return this.#come.length;
  }
}

/** A stream, open until a test ends it or the client leaves. */
class Watch {
  constructor(call) {
    this.call = call;
    this.name = call.request.name;
    this.gone = new Promise((resolve) => call.once('cancelled', resolve));
  }

  /** Events as [kind, token, owner]. */
  tell(...events) {
    return this.call.write({ events: events.map(([kind, fencingToken = 0, owner = 'somebody']) => ({ kind: KINDS[`LOCK_EVENT_KIND_${kind}`], fencingToken, owner })) });
  }

  start() {
    this.tell(['STARTED']);
  }

  end(code) {
    if (code === undefined) this.call.end();
    else this.call.emit('error', { code, details: 'as the test says' });
  }
}

/** A call of GetLock that waits for its answer. */
class Look {
  constructor(call, answer) {
    this.gone = new Promise((resolve) => call.once('cancelled', resolve));
    this.held = (fencingToken, owner = 'somebody') => answer(null, { lock: { state: 1, fencingToken, owner } });
    this.nobody = () => answer(null, {});
    this.fail = (code) => answer({ code, details: 'as the test says' });
  }
}

export async function startFakeAdmin() {
  const server = new grpc.Server();
  const watches = new Arrivals();
  const looks = new Arrivals();
  server.addService(SERVICE, {
    WatchLocks: (call) => watches.add(new Watch(call)),
    GetLock: (call, answer) => looks.add(new Look(call, answer)),
  });
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  return {
    address: `127.0.0.1:${port}`,
    watch: () => watches.next(),
    look: () => looks.next(),
    watches,
    stop: () => server.forceShutdown(),
  };
}

export { Arrivals };
