import { request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AnswerParser, type ParsedAnswer } from '../../../src/gateway/answer-parser.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
/** What a server may send, and whether its connection stays open. */
const ANSWERS: [what: string, text: string, keepsAlive: boolean][] = [
  ['with a length', `${OK}Content-Type: application/json\r\nContent-Length: 5\r\n\r\nhello`, true],
  ['with a header twice', `${OK}X-A: 1\r\nx-a:  2 \t\r\nContent-Length: 2\r\n\r\n{}`, true],
  ['without a body', `${OK}Content-Length: 0\r\n\r\n`, true],
  [
    'in chunks',
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1B;a=b\r\n${'x'.repeat(27)}\r\n0\r\n\r\n`,
    true,
  ],
  ['in chunks with trailers', `${OK}Transfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n`, true],
  [
    'in chunks that hold line ends',
    `${OK}Transfer-Encoding: chunked\r\n\r\n6\r\n\r\n0\r\n\r\r\n0\r\n\r\n`,
    true,
  ],
  [
    'that comes after another one is announced',
    `HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`,
    true,
  ],
  ['of a status without a body', 'HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n', true],
  ['without a reason', 'HTTP/1.1 418\r\nContent-Length: 1\r\n\r\nt', true],
  ['whose headers are no ASCII', `${OK}X-A: gr\u00f6\u00dfer\r\nContent-Length: 1\r\n\r\nt`, true],
  ['of a server that closes', `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`, false],
  ['of an old server', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', false],
  [
    'of an old server that keeps its connection',
    'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok',
    true,
  ],
  ['that ends with the connection', `${OK}\r\nhello`, false],
];

/** Pushes all parts, and then the end of the connection. */
function parse(parts: Buffer[]): ParsedAnswer | undefined {
  const parser = new AnswerParser(() => {});
  for (const part of parts) {
    const parsed = parser.push(part);
    if (parsed) return parsed;
  }
  return parser.end();
}

test.each(ANSWERS)('an answer %s is what the client of Node takes it for', async (_, text, keepsAlive) => {
  const parsed = parse([Buffer.from(text, 'latin1')]);
  const expected = await byNode(text);
  expect(parsed).toMatchObject({ answer: { status: expected.status }, keepsAlive });
  expect(parsed?.answer.body.toString()).toBe(expected.body);
  const hop = /^(connection|content-length|transfer-encoding)$/i;
  const own = expected.headers.filter((_, index, all) => !hop.test(all[index - (index % 2)]!));
  expect(parsed?.answer.headers).toEqual(own);
});

test('an answer is the same in whatever parts it comes, and is complete with its last byte', () => {
  const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 12 });
  fc.assert(
    fc.property(fc.constantFrom(...ANSWERS), cuts, ([, text], places) => {
      const all = Buffer.from(text, 'latin1');
      const inside = places.filter((at) => at < all.length).sort((one, other) => one - other);
      const parts = [0, ...inside].map((from, index) => all.subarray(from, inside[index] ?? all.length));
      expect(parse(parts)).toEqual(parse([all]));
      expect(parse([all.subarray(0, -1)])?.answer.body.length ?? 0).toBeLessThan(all.length);
    }),
  );
});

test('what has no end yet is no answer', () => {
  for (const [, text] of ANSWERS.filter(([, , keepsAlive]) => keepsAlive))
    for (let length = 0; length < text.length; length++)
      expect(parse([Buffer.from(text.slice(0, length), 'latin1')])).toBeUndefined();
});

test('the length of its body is counted while it comes', () => {
  const seen: number[] = [];
  const parser = new AnswerParser((bytes) => seen.push(bytes));
  parser.push(Buffer.from(`${OK}Content-Length: 6\r\n\r\nab`));
  parser.push(Buffer.from('cdef'));
  expect(seen).toEqual([2, 4]);
});

test('a connection on which more follows than the answer is not used again', () => {
  const text = `${OK}Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n`;
  expect(parse([Buffer.from(text)])).toMatchObject({ keepsAlive: false });
});

test.each([
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n', 'the answer is not HTTP/1.1'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n', 'the answer is not HTTP/1.1'],
  ['a change of protocol', 'HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n', 'the answer is not HTTP/1.1'],
  ['a folded header', `${OK}X-A: 1\r\n 2\r\n\r\n`, 'a header of the answer is not HTTP/1.1'],
  ['a header without a name', `${OK}: 1\r\n\r\n`, 'a header of the answer is not HTTP/1.1'],
  ['a space after a name', `${OK}Content-Length : 1\r\n\r\n`, 'a header of the answer is not HTTP/1.1'],
  ['two lengths', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 'is not a number'],
  ['a negative length', `${OK}Content-Length: -1\r\n\r\n`, 'is not a number'],
  ['a length and chunks', `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 'is not clear'],
  ['compressed chunks', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`, 'is not clear'],
  ['a chunk without a length', `${OK}Transfer-Encoding: chunked\r\n\r\nhello\r\n`, 'has no length'],
  [
    'a chunk that is too long',
    `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n`,
    'longer than it says',
  ],
  ['a head without an end', 'x'.repeat(17 * 1024), 'too long'],
])('%s is no answer', (_, text, message) => {
  expect(() => parse([Buffer.from(text)])).toThrow(message);
});

test('random bytes are an answer, no answer, or an error that says so', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ANSWERS),
      fc.nat(),
      fc.uint8Array({ maxLength: 8 }),
      ([, text], at, noise) => {
        const bytes = Buffer.from(text, 'latin1');
        const place = at % bytes.length;
        const broken = Buffer.concat([bytes.subarray(0, place), noise, bytes.subarray(place + 1)]);
        try {
          parse([broken]);
        } catch (error) {
          expect((error as Error).message).toContain('the answer');
        }
      },
    ),
    { numRuns: 500 },
  );
});

interface Seen {
  status: number | undefined;
  headers: string[];
  body: string;
}

/** The answer as node:http reads it from a socket. */
async function byNode(text: string): Promise<Seen> {
  const server = createServer((socket: Socket) => {
    socket.once('data', () => socket.end(Buffer.from(text, 'latin1')));
  }).listen(0, '127.0.0.1');
  try {
    return await new Promise<Seen>((resolve, reject) => {
      server.once('listening', () => {
        const { port } = server.address() as AddressInfo;
        const asked = request({ host: '127.0.0.1', port, method: 'POST' }, async (incoming) => {
          const body = Buffer.concat(await incoming.toArray()).toString();
          resolve({ status: incoming.statusCode, headers: incoming.rawHeaders, body });
        });
        asked.on('error', reject).end();
      });
    });
  } finally {
    server.close();
  }
}
