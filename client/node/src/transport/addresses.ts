// SPDX-License-Identifier: Apache-2.0
//
// Addresses of daemons: `host:port`, `[v6]:port`, `unix:/path` or `tls://host:port`.
import { isIPv6 } from 'node:net';
import { invalidOption } from '../errors';

export interface TlsOptions {
  /** File with the CAs that may sign a daemon's certificate (PEM). Default: those that Node trusts. */
  caFile?: string;
  /** This program's certificate and its key (PEM), for daemons that ask for one. Both or neither. */
  certificateFile?: string;
  keyFile?: string;
  /** Name or address that a daemon's certificate must be for. Default: the host of its address. */
  serverName?: string;
}

const TLS_SCHEME = 'tls://';

export function targetOf(address: string): string {
  return address.startsWith(TLS_SCHEME) ? address.slice(TLS_SCHEME.length) : address;
}

export function usesTls(address: string, tls: TlsOptions): boolean {
  if (address.startsWith(TLS_SCHEME)) return true;
  if (address.startsWith('unix:')) return false;
  return Object.values(tls).some((value) => value !== undefined && value !== '');
}

export function checkAddress(address: unknown): asserts address is string {
  if (typeof address === 'string' && isAddress(address)) return;
  throw invalidOption('servers', `\`${String(address)}\` is not an address: give \`host:port\`, \`[v6]:port\`, \`unix:/path\` or \`tls://host:port\``);
}

function isAddress(address: string): boolean {
  if (address.startsWith('unix:')) return address.length > 5;
  const [, host = '', port] = /^(.*):(\d{1,5})$/.exec(targetOf(address)) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535) return false;
  if (host.startsWith('[') && host.endsWith(']')) return isIPv6(host.slice(1, -1));
  return /^[^[\]:/\s]+$/.test(host);
}

/** Whether nobody outside this machine sees what is sent there. */
export function isOnThisMachine(address: string): boolean {
  if (address.startsWith('unix:')) return true;
  const host = address.slice(0, address.lastIndexOf(':'));
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
