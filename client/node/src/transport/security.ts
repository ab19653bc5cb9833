// SPDX-License-Identifier: Apache-2.0
//
// TLS and the bearer token of a client. The files are read again when they change.
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { invalidOption } from '../errors';
import { isOnThisMachine, type TlsOptions, usesTls } from './addresses';

const LOOK_EVERY = 1_000;
const TOKEN_BYTES_MAX = 64 * 1024;

/** A file whose changes are noticed within a second. */
class WatchedFile {
  readonly option: string;
  readonly path: string;
  content = '';
  #seen = '';

  constructor(option: string, path: string) {
    this.option = option;
    this.path = path;
  }

  /** Reads the file if it has changed. Throws if it cannot be read. */
  read(): boolean {
    const { dev, ino, size, mtimeMs } = statSync(this.path);
    const seen = `${dev}/${ino}/${size}/${mtimeMs}`;
    if (seen === this.#seen) return false;
    const content = readFileSync(this.path, 'utf8');
    this.#seen = seen;
    if (content === this.content) return false;
    this.content = content;
    return true;
  }
}

function readFirst(file: WatchedFile, mustHave: string): WatchedFile {
  try {
    file.read();
  } catch (error) {
    throw invalidOption(file.option, `"${file.path}" cannot be read: ${(error as Error).message}`);
  }
  if (file.content.includes(mustHave)) return file;
  throw invalidOption(file.option, `"${file.path}" has no line with "${mustHave}": it must be in PEM form`);
}

function tokenIn(file: WatchedFile): string {
  const token = file.content.replace(/\r?\n$/, '');
  const problem = token === '' ? 'is empty' : token.includes('\n') ? 'has more than one line'
    : token.length > TOKEN_BYTES_MAX ? `is longer than ${TOKEN_BYTES_MAX} bytes` : null;
  if (problem) throw invalidOption(file.option, `"${file.path}" ${problem}`);
  return token;
}

export class Security {
  readonly tls: TlsOptions;
  /** Rises when a certificate, key or CA changes: new connections are needed. */
  tlsVersion = 1;
  /** Rises when the token changes: sessions have to be opened anew. */
  tokenVersion = 1;
  #files: WatchedFile[] = [];
  #token: WatchedFile | null = null;
  #bearer: string | null = null;
  #lookedAt = performance.now();

  constructor(tls: TlsOptions, tokenFile: string | undefined, addresses: readonly string[]) {
    this.tls = tls;
    const { caFile, certificateFile, keyFile } = tls;
    if (certificateFile && !keyFile) throw invalidOption('tls.certificateFile', 'needs its key too');
    if (keyFile && !certificateFile) throw invalidOption('tls.keyFile', 'needs its certificate too');
    if (caFile) this.#files.push(readFirst(new WatchedFile('tls.caFile', caFile), '-----BEGIN CERTIFICATE-----'));
    if (certificateFile) this.#files.push(readFirst(new WatchedFile('tls.certificateFile', certificateFile), '-----BEGIN CERTIFICATE-----'));
    if (keyFile) this.#files.push(readFirst(new WatchedFile('tls.keyFile', keyFile), 'PRIVATE KEY-----'));
    this.#checkContext();
    if (tokenFile) {
      this.#token = readFirst(new WatchedFile('tokenFile', tokenFile), '');
      this.#bearer = `Bearer ${tokenIn(this.#token)}`;
      const open = addresses.find((address) => !isOnThisMachine(address) && !usesTls(address, tls));
      if (open !== undefined) {
        throw invalidOption('tokenFile', `the connection to \`${open}\` is not encrypted, so that anybody on the way could read the token; ` +
          'use TLS, or an address of this machine');
      }
    }
  }

  /** What the metadata of a call has to carry. */
  get authorization(): string | null {
    return this.#bearer;
  }

  /** Looks whether files have changed, at most once a second. */
  refresh(): void {
    const now = performance.now();
    if (now - this.#lookedAt < LOOK_EVERY || (this.#files.length === 0 && !this.#token)) return;
    this.#lookedAt = now;
    // A file that cannot be read, or does not fit the others, is being written: the next look finds it whole.
    try {
      if (this.#token?.read()) {
        this.#bearer = `Bearer ${tokenIn(this.#token)}`;
        ++this.tokenVersion;
      }
      if (this.#files.map((file) => file.read()).includes(true)) {
        this.#checkContext();
        ++this.tlsVersion;
      }
    } catch {}
  }

  credentialsFor(address: string): ChannelCredentials {
    if (!usesTls(address, this.tls)) return credentials.createInsecure();
    return credentials.createFromSecureContext(this.#context());
  }

  channelOptions(): Record<string, string> {
    const name = this.tls.serverName;
    return name ? { 'grpc.ssl_target_name_override': name, 'grpc.default_authority': name } : {};
  }

  #context() {
    const content = (option: string) => this.#files.find((file) => file.option === option)?.content;
    return createSecureContext({ ca: content('tls.caFile'), cert: content('tls.certificateFile'), key: content('tls.keyFile') });
  }

  #checkContext(): void {
    try {
      this.#context();
    } catch (error) {
      throw invalidOption('tls', (error as Error).message);
    }
  }
}
