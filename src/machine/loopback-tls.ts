import { connect as connectTcp } from 'node:net';
import { Duplex } from 'node:stream';
import { connect } from 'node:tls';

/**
 * The TLS options for connections to the controller, a local process. Its certificate is for the name of a Service, so nothing is verified.
 * With an empty list of authorities, Node does not load its own 150, which would take ten milliseconds while reviews wait.
 */
export const UNVERIFIED = { rejectUnauthorized: false, ca: [] as string[] };

export interface TlsEndpoint {
  host: string;
  port: number;
  serverName?: string | undefined;
}

const HANDSHAKE_MS = 1000;
/** More than a long chain of certificates needs. */
const HANDSHAKE_BYTES = 256 * 1024;

/**
 * Whether a connection to this server failed with `code` because the server requires a client certificate. Up to TLS 1.2, Go calls a
 * missing one a failed handshake, as if there were no common cipher. A second connection then shows whether the server asked for one.
 */
export async function requiresClientCertificate(
  code: string | undefined,
  endpoint: TlsEndpoint,
): Promise<boolean> {
  if (/ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_REQUIRED)/.test(code ?? '')) return true;
  return (isFailedHandshake(code) || code === WHILE_WRITING) && (await asksForCertificate(endpoint));
}

/** The code of any failed handshake if the connection has something to send after it. */
const WHILE_WRITING = 'EPROTO';

/** Some of Node's errors have a number as their code. */
function isFailedHandshake(code: unknown): boolean {
  return String(code).endsWith('ALERT_HANDSHAKE_FAILURE');
}

/** Whether a server asks for a client certificate and then lets the handshake fail. Up to TLS 1.2, its messages can be read. */
function asksForCertificate({ host, port, serverName }: TlsEndpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const transport = connectTcp({ host, port });
    const received: Buffer[] = [];
    let size = 0;
    // A TLS socket reads from a TCP socket itself, so nobody else would see what arrives.
    const between = new Duplex({
      read() {},
      write: (chunk: Buffer, _, done) => void transport.write(chunk, done),
    });
    transport.on('data', (chunk) => {
      size += chunk.length;
      if (size > HANDSHAKE_BYTES) return answer();
      received.push(chunk);
      between.push(chunk);
    });
    transport.once('end', () => between.push(null));
    const servername = serverName === undefined ? {} : { servername: serverName };
    const socket = connect({ socket: between, ...servername, ...UNVERIFIED });
    const answer = (code?: string): void => {
      socket.destroy();
      transport.destroy();
      resolve(isFailedHandshake(code) && messagesIn(Buffer.concat(received)).includes(CERTIFICATE_REQUEST));
    };
    transport.setTimeout(HANDSHAKE_MS, () => answer());
    transport.once('error', () => answer());
    socket.once('secureConnect', () => answer());
    socket.once('error', ({ code }: NodeJS.ErrnoException) => answer(code));
    socket.once('close', () => answer());
  });
}

/** RFC 5246: the type of a record with messages of the handshake, and that of the message which asks for a certificate. */
const HANDSHAKE_RECORD = 22;
const CERTIFICATE_REQUEST = 13;

/** The types of the handshake messages in what a server sent before it encrypts. */
function messagesIn(bytes: Buffer): number[] {
  const fragments: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length && bytes[at] === HANDSHAKE_RECORD; ) {
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    fragments.push(bytes.subarray(at + 5, end));
    at = end;
  }
  const messages = Buffer.concat(fragments);
  const types: number[] = [];
  for (let at = 0; at + 4 <= messages.length; at += 4 + messages.readUIntBE(at + 1, 3))
    types.push(messages[at]!);
  return types;
}
