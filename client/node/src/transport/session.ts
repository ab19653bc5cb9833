// SPDX-License-Identifier: Apache-2.0
//
// The operations of one session: numbers them, sends them and matches the answers. Operations that arrive in one turn of the event loop, or
// while a message is being written, go together in the next message.
//
// State    | until                      | operations
// opening  | the server says `opened`   | are queued
// open     | the daemon drains          | are sent
// retiring | all operations are answered | are sent; then the stream is closed
// ended    |                            | are rejected
import { type ClientDuplexStream, status, type StatusObject } from '@grpc/grpc-js';
import { type LockkeeperError, noAnswerInTime } from '../errors';
import type { Clock } from '../renewal/clock';
import { Table } from '../table';
import {
  type AcquireRequest, type LeaseLostMessage, type LeaseMessage, messages, type OperationRequest, type SessionResponse, toNumber,
} from './messages';
import type { Operation } from './operation';
import { cancelledByCaller, errorOfOperation, outcomeUnknown } from './problems';
import { bytesOfTrace } from './tracing';

// The server accepts 1,024 operations and 64 KiB in a message. A message is a few bytes longer than its operations.
const BATCH_MAX = 1_024;
const BATCH_BYTES_MAX = 60 * 1024;
const OPERATION_BYTES_MAX = BATCH_BYTES_MAX / 4;
// Tag, length and number of an operation in its batch.
const OPERATION_HEAD_BYTES = 16;

// Longest wait for the opening: some proxies forward nothing of a stream until it has ended.
const OPEN_TIMEOUT = 2_000;
// The limit that is assumed if the server does not tell one.
const OUTSTANDING_DEFAULT = 1_024;
const OWNER_BYTES_MAX = 256;

/** How a session ended: the server does not know the rpc; it did not open; it was cut; we closed it. */
export type SessionEnd = 'unsupported' | 'notOpened' | 'cut' | 'retired';

export type Stream = ClientDuplexStream<object, SessionResponse>;

export interface SessionEvents {
  onOpened(link: SessionLink): void;
  onDraining(link: SessionLink): void;
  onHeartbeatResult(link: SessionLink, result: NonNullable<SessionResponse['heartbeatResult']>): void;
  onLeaseLost(link: SessionLink, lost: LeaseLostMessage): void;
  /** `unsent` were never sent, and go elsewhere. Those that were sent are answered OUTCOME_UNKNOWN after this. */
  onEnded(link: SessionLink, end: SessionEnd, unsent: Operation[]): void;
}

/** What a lease is adopted with. */
export interface Adoption {
  name: string;
  leaseId: string;
  fencingToken: number;
  reassertion: string;
}

export type AdoptDone = (error: LockkeeperError | null, lease: LeaseMessage | null) => void;

interface PendingAdoption {
  adoption: Adoption;
  done: AdoptDone;
  deadline: number;
  /** 0 until it is written. */
  sentAt: number;
  /** Nobody waits for its answer any more. */
  isAbandoned: boolean;
}

// Upper bound of what an operation takes on the wire. Strings of UTF-16 take at most three bytes per unit.
function bytesMax({ acquire, extend, release, fence }: OperationRequest): number {
  let units = 0;
  if (acquire) {
    units = acquire.name.length + acquire.leaseId.length + acquire.owner.length;
    for (const key in acquire.labels) units += key.length + acquire.labels[key]!.length + 4;
  } else if (extend) {
    units = extend.name.length + extend.leaseId.length + (extend.reassertion?.length ?? 0);
  } else {
    units = (release?.name.length ?? 0) + (release?.leaseId.length ?? 0) + (fence?.name.length ?? 0);
  }
  return units * 3 + 96;
}

export class SessionLink {
  state: 'opening' | 'open' | 'retiring' | 'ended' = 'opening';
  wasOpen = false;
  #stream: Stream;
  #clock: Clock;
  #events: SessionEvents;
  #broken = false;  // By us.
  #outdated = false;  // Another session takes its place.
  #writing = false;
  #writesClosed = false;
  #flushDue = false;
  readonly #operations = new Table<Operation>();
  #queue: number[] = [];  // Not sent yet. May have ids of operations that were cancelled.
  #cancels: number[] = [];
  #adoptions = new Map<string, PendingAdoption>();  // Without an answer, by lease id.
  #adoptQueue: PendingAdoption[] = [];  // Not sent yet. May have some that were abandoned.
  #forgets: { name: string; leaseId: string }[] = [];
  #beat = 0;  // Number of the last heartbeat.
  #beatDue = false;
  #sent = 0;
  #waiting = 0;
  #sentMax = 0;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;
  #openBy: number;
  #heardAt = 0;
  // An answer is late, and nothing was received since its operation was sent. Until something is received, this connection gets no new
  // operations. If the connection is gone, gRPC's pings will notice.
  #suspect = false;

  static canCarry(request: OperationRequest): boolean {
    return bytesMax(request) <= OPERATION_BYTES_MAX;
  }

  constructor(stream: Stream, owner: string, clock: Clock, events: SessionEvents) {
    this.#stream = stream;
    this.#clock = clock;
    this.#events = events;
    this.#openBy = clock.now() + OPEN_TIMEOUT;
    this.#armTimer(this.#openBy);
    stream.on('data', (message: SessionResponse) => this.#onMessage(message));
    stream.on('error', () => {});  // `status` says it too.
    stream.on('status', (end: StatusObject) => this.#onEnded(end));
    // The owner is only for the server's logs, but one that is too long would make the server reject the session.
    this.#write({ open: Buffer.byteLength(owner) <= OWNER_BYTES_MAX ? { owner } : {} });
  }

  /** Whether it takes operations at the moment. */
  get isUsable(): boolean {
    return (this.state === 'opening' || this.state === 'open') && !this.#outdated && !this.#suspect && !this.#broken;
  }

  /** Sends the operation. False if this session takes no more, or none at the moment. Requires: canCarry. */
  run(operation: Operation): boolean {
    if (this.state === 'ended' || this.#broken || this.#writesClosed || this.#suspect || this.#outdated) return false;
    // Waiting acquires must not take all the places, because renewals need some.
    if (operation.waits && this.#sentMax > 0 && this.#waiting >= this.#sentMax / 2) return false;
    operation.carrier = this;
    if (operation.waits) ++this.#waiting;
    operation.number = this.#operations.add(operation);
    this.#queue.push(operation.number);
    this.#armTimer(operation.deadline);
    this.#flushSoon();
    return true;
  }

  /**
   * Takes a lease over into this session. False while an earlier adoption of it has no answer: that could not be told from the answer to
   * this one. Requires: isUsable and open.
   */
  adopt(adoption: Adoption, deadline: number, done: AdoptDone): boolean {
    if (this.#adoptions.has(adoption.leaseId)) return false;
    const pending = { adoption, done, deadline, sentAt: 0, isAbandoned: false };
    this.#adoptions.set(adoption.leaseId, pending);
    this.#adoptQueue.push(pending);
    this.#armTimer(deadline);
    this.#flushSoon();
    return true;
  }

  /** Leaves a lease to its ttl: a heartbeat for others would keep it. */
  forget(name: string, leaseId: string): void {
    if (this.state === 'ended' || this.#broken || this.#writesClosed) return;
    this.#forgets.push({ name, leaseId });
    this.#flushSoon();
  }

  /** Sends a heartbeat. Returns its number. */
  heartbeat(): number {
    this.#beatDue = true;
    this.#flushSoon();
    return ++this.#beat;
  }

  /** The answer to a heartbeat is late. */
  heartbeatIsLate(sentAt: number): void {
    if (this.#heardAt < sentAt) this.#suspect = true;
  }

  /** Answers the operation with CANCELLED. False if this session does not have it. */
  cancel(operation: Operation): boolean {
    if (this.#operations.get(operation.number) !== operation || operation.isAbandoned) return false;
    this.#giveUp(operation);
    this.#flushSoon();
    operation.done(cancelledByCaller(), null);
    return true;
  }

  /** Closes the stream cleanly as soon as all operations are answered. Takes no new ones. */
  retire(): void {
    this.#outdated = true;
    if (this.state === 'open') this.state = 'retiring';
    this.#flushSoon();
  }

  /** Ends the stream at once. */
  break(): void {
    this.#broken = true;
    this.#stream.cancel();
  }

  #flushSoon(): void {
    if (this.#flushDue || this.#writing) return;
    this.#flushDue = true;
    process.nextTick(() => {
      this.#flushDue = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#writing || this.#writesClosed || this.#broken || this.state === 'opening' || this.state === 'ended') return;
    const message = this.#nextCancel() ?? this.#nextForget() ?? this.#nextBatch() ?? this.#nextBeat() ?? this.#nextAdoption();
    if (message) {
      this.#write(message);
    } else if (this.state === 'retiring' && this.#operations.size === 0 && this.#adoptions.size === 0) {
      this.#writesClosed = true;
      this.#stream.write({ close: {} });
      this.#stream.end();
    }
  }

  #write(message: object): void {
    this.#writing = true;
    this.#stream.write(message, () => {
      this.#writing = false;
      this.#flush();
    });
  }

  #nextCancel(): object | null {
    for (let id = this.#cancels.shift(); id !== undefined; id = this.#cancels.shift()) {
      if (this.#operations.get(id)) return { cancel: { operationId: id } };
    }
    return null;
  }

  #nextForget(): object | null {
    const forget = this.#forgets.shift();
    return forget ? { forget } : null;
  }

  #nextBatch(): object | null {
    if (this.#queue.length === 0) return null;
    const operations: object[] = [];
    const now = this.#clock.now();
    let bytes = 0;
    let taken = 0;
    for (const id of this.#queue) {
      if (this.#sent >= this.#sentMax || operations.length >= BATCH_MAX) break;
      const operation = this.#operations.get(id);
      if (operation) {
        const { request, trace } = operation;
        bytes += bytesMax(request) + OPERATION_HEAD_BYTES + bytesOfTrace(trace);
        if (bytes > BATCH_BYTES_MAX) break;
        operations.push({ id, acquire: request.acquire, extend: request.extend, release: request.release, fence: request.fence, ...trace });
        operation.isWritten = true;
        operation.sent = now;
        ++this.#sent;
      }
      ++taken;
    }
    this.#queue = taken === this.#queue.length ? [] : this.#queue.slice(taken);
    return operations.length > 0 ? { batch: { operations } } : null;
  }

  #nextBeat(): object | null {
    if (!this.#beatDue) return null;
    this.#beatDue = false;
    return { heartbeat: { number: this.#beat } };
  }

  #nextAdoption(): object | null {
    for (let pending = this.#adoptQueue.shift(); pending; pending = this.#adoptQueue.shift()) {
      if (pending.isAbandoned) continue;
      pending.sentAt = this.#clock.now();
      return { adopt: pending.adoption };
    }
    return null;
  }

  #erase(operation: Operation): void {
    if (operation.waits) --this.#waiting;
    if (operation.isWritten) --this.#sent;
    this.#operations.remove(operation.number);
  }

  // The operation is answered without the daemon. If it was sent, its place stays taken until the daemon has answered.
  #giveUp(operation: Operation): void {
    operation.isAbandoned = true;
    if (!operation.isWritten) {
      this.#erase(operation);
    } else if (operation.waits) {
      this.#cancels.push(operation.number);
    }
  }

  #take(id: number): Operation | null {
    const operation = this.#operations.get(id);
    if (!operation) return null;
    this.#erase(operation);
    return operation;
  }

  #forgetUnlessAskedAgain({ name, leaseId }: AcquireRequest): void {
    for (const { request } of this.#operations.all()) if (request.acquire?.leaseId === leaseId) return;
    this.forget(name, leaseId);
  }

  #onMessage(message: SessionResponse): void {
    this.#heardAt = this.#clock.now();
    this.#suspect = false;
    if (message.results) {
      for (const result of message.results.results) {
        const operation = this.#take(toNumber(result.operationId));
        if (!operation) continue;
        if (operation.isAbandoned) {
          if (result.acquire?.lease?.offered === false) this.#forgetUnlessAskedAgain(operation.request.acquire!);
        } else if (result.error) operation.done(errorOfOperation(result.error), null);
        else operation.done(null, result);
      }
    } else if (message.offer) {
      const { lease, operationId } = message.offer;
      const operation = this.#take(toNumber(operationId));
      // An offer that nobody waits for lapses soon.
      if (lease && operation && !operation.isAbandoned) operation.done(null, { acquire: { lease: Object.assign(lease, { offered: true }) } });
    } else if (message.heartbeatResult) {
      this.#events.onHeartbeatResult(this, message.heartbeatResult);
    } else if (message.adoptResult) {
      const { name, leaseId, lease, error } = message.adoptResult;
      const pending = this.#adoptions.get(leaseId);
      this.#adoptions.delete(leaseId);
      if (!pending || pending.isAbandoned) {
        if (lease) this.forget(name, leaseId);
      } else if (lease) pending.done(null, lease);
      else pending.done(error ? errorOfOperation(error) : outcomeUnknown('the adoption was answered by nothing'), null);
    } else if (message.leaseLost) {
      this.#events.onLeaseLost(this, message.leaseLost);
    } else if (message.draining) {
      if (this.state === 'open') this.state = 'retiring';
      this.#events.onDraining(this);
    } else if (message.opened) {
      const allowed = message.opened.maxOutstandingOperations;
      // Not all of them: the server frees a place only after its answer has been written.
      this.#sentMax = allowed > 0 ? allowed - Math.floor(allowed / 4) : OUTSTANDING_DEFAULT;
      this.wasOpen = true;
      this.#openBy = Infinity;
      if (this.state === 'opening') this.state = this.#outdated ? 'retiring' : 'open';
      this.#events.onOpened(this);
    }
    this.#flushSoon();
  }

  #onEnded({ code }: StatusObject): void {
    if (this.state === 'ended') return;
    const end = code === status.UNIMPLEMENTED ? 'unsupported'
      : !this.wasOpen ? 'notOpened'
        : this.state === 'retiring' || this.#broken ? 'retired' : 'cut';
    this.state = 'ended';
    if (this.#timer) clearTimeout(this.#timer);
    const unsent = this.#queue.map((id) => this.#operations.get(id)).filter((operation) => operation !== null);
    const sent = this.#operations.all().filter(({ isWritten, isAbandoned }) => isWritten && !isAbandoned);
    const adoptions = [...this.#adoptions.values()].filter((each) => !each.isAbandoned);
    this.#operations.clear();
    this.#adoptions.clear();
    this.#events.onEnded(this, end, unsent);
    const broke = () => outcomeUnknown('the session broke before the answer came');
    for (const operation of sent) operation.done(broke(), null);
    for (const { done } of adoptions) done(broke(), null);
  }

  // A timer that fires too early is harmless, and is cheaper than moving the timer with each operation.
  #armTimer(at: number): void {
    if (at >= this.#timerAt) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#onTimer(), Math.max(at - this.#clock.now(), 1)).unref();
  }

  #onTimer(): void {
    this.#timer = null;
    this.#timerAt = Infinity;
    const now = this.#clock.now();
    if (now >= this.#openBy) {
      this.break();
      return;
    }
    let next = this.#openBy;
    const late: Operation[] = [];
    for (const operation of this.#operations.all()) {
      if (operation.isAbandoned) continue;
      if (operation.deadline > now) {
        next = Math.min(next, operation.deadline);
        continue;
      }
      if (operation.isWritten && !operation.waits && this.#heardAt < operation.sent) this.#suspect = true;
      late.push(operation);
      this.#giveUp(operation);
    }
    const lateAdoptions: PendingAdoption[] = [];
    for (const [leaseId, adoption] of this.#adoptions) {
      if (adoption.isAbandoned) continue;
      if (adoption.deadline > now) {
        next = Math.min(next, adoption.deadline);
        continue;
      }
      if (adoption.sentAt > 0 && this.#heardAt < adoption.sentAt) this.#suspect = true;
      lateAdoptions.push(adoption);
      adoption.isAbandoned = true;
      if (adoption.sentAt === 0) this.#adoptions.delete(leaseId);
    }
    if (next < Infinity) this.#armTimer(next);
    this.#flushSoon();
    for (const operation of late) operation.done(noAnswerInTime(), null);
    for (const { done } of lateAdoptions) done(noAnswerInTime(), null);
  }
}

export const sessionPath = '/lockkeeper.v1.LockService/Session';
export const sessionTypes = { request: messages.sessionRequest, response: messages.sessionResponse };
