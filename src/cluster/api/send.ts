import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';

export interface SentBody {
  body: Buffer;
  /** What follows `body`. It can be sent only once, so such a request is not repeated with renewed credentials. */
  rest?: Readable | undefined;
  /**
   * Called before each attempt, since a login can take minutes, and again before the request, or the end of a long one, is sent when that took
   * time. If it rejects, the request is not sent as a whole, and its rejection is passed on.
   */
  mayStart?: (() => Promise<void>) | undefined;
}

/** The answer to a request for another protocol, and the connection if the server has switched to it. */
export interface UpgradeAnswer {
  answer: IncomingMessage;
  connection?: Duplex;
}

type MayStart = SentBody['mayStart'];

/** Sends the body of a request, and resolves with the answer as soon as that begins. */
export function answerTo(request: ClientRequest, sent: SentBody): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let answer: IncomingMessage | undefined;
    request.on('error', reject).once('response', (begun) => {
      answer = begun;
      resolve(begun);
    });
    sendBody(request, sent).catch(async (error: Error) => {
      reject(error);
      // An answer that has begun arrives before the connection ends.
      if (answer) await finished(answer).catch(() => {});
      request.destroy();
    });
  });
}

/** Ends a request for another protocol, and resolves with the answer. */
export function upgradeAnswerTo(request: ClientRequest, mayStart: MayStart): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    request.on('error', reject).once('response', (answer) => resolve({ answer }));
    request.once('upgrade', (answer, connection, head) => {
      if (head.length > 0) connection.unshift(head);
      resolve({ answer, connection });
    });
    consentWhenConnected(request, mayStart).then(
      () => request.end(),
      (error: Error) => request.destroy(error),
    );
  });
}

/** Asks again if a connection had to be made for the request, because the network can be away while it is made. */
async function consentWhenConnected(request: ClientRequest, mayStart: MayStart): Promise<void> {
  if (mayStart === undefined) return;
  const [socket] = (await once(request, 'socket')) as [Socket];
  if (request.reusedSocket) return;
  if (socket instanceof TLSSocket) await once(socket, 'secureConnect');
  else if (socket.connecting) await once(socket, 'connect');
  await mayStart();
}

/** The rest is sent as it arrives. Its end needs consent of its own: without it, no server takes the body for a whole one. */
async function sendBody(request: ClientRequest, { body, rest, mayStart }: SentBody): Promise<void> {
  await consentWhenConnected(request, mayStart);
  if (rest === undefined) return void request.end(body);
  const over = new AbortController();
  request.once('close', () => over.abort());
  try {
    let held = body;
    // A server can answer before it has read everything, so an error in sending must not end the connection on which the answer goes back.
    for await (const chunk of rest.iterator({ destroyOnReturn: false })) {
      if (!request.write(held)) await once(request, 'drain', { signal: over.signal });
      held = chunk as Buffer;
    }
    await mayStart?.();
    request.end(held);
  } catch (error) {
    // Some clients read the answer only when they have sent everything.
    rest.resume();
    throw error;
  }
}
