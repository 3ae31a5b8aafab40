import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP, isIPv4, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';

const LONGEST_MS = 30_000;

interface Target {
  host: string;
  port: number;
}

/** Opens a connection to a server through a proxy. Go verifies an https proxy with the same certificates as the server. */
export async function dialThrough(proxy: URL, target: Target, tls: ConnectionOptions): Promise<Socket> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  try {
    return await (isSocks(proxy) ? socks(proxy, target, signal) : tunnel(proxy, target, tls, signal));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = signal.aborted ? `no answer within ${LONGEST_MS / 1000} s` : (error as Error).message;
    throw Object.assign(new Error(`the proxy ${proxy.host}: ${why}`), {
      code: signal.aborted ? 'ETIMEDOUT' : code,
    });
  }
}

export function isSocks({ protocol }: URL): boolean {
  return protocol === 'socks5:' || protocol === 'socks5h:';
}

/** The header `proxy-authorization`, if the proxy's URL contains a login. */
export function proxyLogin(proxy: URL): Record<string, string> {
  const [name, password] = loginOf(proxy);
  if (name === '') return {};
  return { 'Proxy-Authorization': `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

export function proxyAddress({ hostname, port, protocol }: URL): Target {
  const usual = protocol === 'https:' ? 443 : protocol.startsWith('socks') ? 1080 : 80;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || usual };
}

function loginOf({ username, password }: URL): [name: string, password: string] {
  return [decodeURIComponent(username), decodeURIComponent(password)];
}

async function tunnel(
  proxy: URL,
  { host, port }: Target,
  tls: ConnectionOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const path = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  // The name of the server does not apply to the proxy.
  const { secureContext, rejectUnauthorized, minVersion, checkServerIdentity } = tls;
  const verified = { secureContext, rejectUnauthorized, minVersion, checkServerIdentity };
  const send = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = send({
    ...{ ...verified, ...proxyAddress(proxy), method: 'CONNECT', path, agent: false, signal },
    headers: { host: path, ...proxyLogin(proxy) },
  });
  request.end();
  const answered = once(request, 'connect') as Promise<[IncomingMessage, Socket, Buffer]>;
  const refused = once(request, 'response') as Promise<[IncomingMessage]>;
  refused.catch(() => undefined);
  const [{ statusCode, statusMessage }, socket, head] = await Promise.race([
    answered,
    refused.then(([answer]) => [answer, answer.socket, Buffer.alloc(0)] as const),
  ]);
  if (statusCode !== 200 || socket === undefined) {
    socket?.destroy();
    throw new Error(`it answered ${statusCode} ${statusMessage}`);
  }
  if (head.length > 0) socket.unshift(head);
  return socket;
}

const NO_LOGIN = 0;
const WITH_PASSWORD = 2;

/** RFC 1928 and 1929. The proxy resolves names, as with Go. */
async function socks(proxy: URL, { host, port }: Target, signal: AbortSignal): Promise<Socket> {
  const socket = connect(proxyAddress(proxy));
  const stop = (): void => void socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop);
  try {
    await once(socket, 'connect');
    const [name, password] = loginOf(proxy);
    const methods = name === '' ? [NO_LOGIN] : [NO_LOGIN, WITH_PASSWORD];
    socket.write(Buffer.from([5, methods.length, ...methods]));
    const [, method] = await take(socket, 2);
    if (method === WITH_PASSWORD) {
      socket.write(Buffer.concat([Buffer.from([1]), counted(name), counted(password)]));
      const [, status] = await take(socket, 2);
      if (status !== 0) throw new Error('it does not accept the user and password');
    } else if (method !== NO_LOGIN) throw new Error('it does not accept connections without a login');
    const wanted = Buffer.alloc(2);
    wanted.writeUInt16BE(port);
    socket.write(Buffer.concat([Buffer.from([5, 1, 0]), addressOf(host), wanted]));
    const [, status, , type] = await take(socket, 4);
    if (status !== 0) throw new Error(`it could not connect to ${host} (SOCKS status ${status})`);
    await take(socket, (type === 1 ? 4 : type === 4 ? 16 : (await take(socket, 1))[0]!) + 2);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function addressOf(host: string): Buffer {
  if (isIP(host) === 0) return Buffer.concat([Buffer.from([3]), counted(host)]);
  if (isIPv4(host)) return Buffer.from([1, ...host.split('.').map(Number)]);
  return Buffer.from([4, ...bytesOfIPv6(host)]);
}

function bytesOfIPv6(host: string): number[] {
  // A URL writes IPv4 at the end of an IPv6 address in hexadecimal, and leaves out leading zeros.
  const short = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [before = '', after] = short.split('::');
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const [first, last] = [words(before), words(after ?? '')];
  const all = [...first, ...Array(8 - first.length - last.length).fill(0), ...last];
  return all.flatMap((word) => [word >> 8, word & 255]);
}

/** Reads exactly as many bytes. */
async function take(socket: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(count) as Buffer | null;
    if (bytes !== null) return bytes;
    if (socket.readableEnded) throw new Error('it closed the connection');
    await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
    if (socket.destroyed) throw new Error('it closed the connection');
  }
}
