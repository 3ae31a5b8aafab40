import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { askForHandlers, type CalledPath } from '../../../src/gateway/unserved-paths.ts';
import { Controller, NAME, setUp } from './support.ts';

const NEVER = new AbortController().signal;

function called(port: number, ...paths: string[]): CalledPath[] {
  return paths.map((path) => ({ path, port, serverName: NAME, reviews: 'admission' }));
}

/** The answers of Go's http.ServeMux, and of servers that name the path. */
function mux(
  handlers: Record<string, RequestListener>,
  missing = (_path: string) => '404 page not found\n',
): Controller {
  return new Controller((request, response) => {
    const path = request.url ?? '';
    const handler = handlers[path];
    if (handler) return handler(request, response);
    response.writeHead(404).end(missing(path));
  });
}

const unclear: string[] = [];

/** The paths on which a real review decides are added to `unclear`. */
async function unserved(controller: Controller, ...paths: string[]): Promise<string[]> {
  await controller.start();
  try {
    const asked = await askForHandlers(called(controller.port, ...paths), NEVER);
    for (const { path } of asked.unclear) unclear.push(path);
    return asked.unserved.map(({ path }) => path);
  } finally {
    await controller.stop();
  }
}

test('the paths without a handler are found, however the handlers of the others behave', async () => {
  const controller = mux({
    '/answers': (_, response) => response.end('{}'),
    '/refuses': (_, response) => response.writeHead(400).end('no object'),
    '/panics': (request) => request.socket.destroy(),
    '/hangs': () => {},
    '/knows-no-such-kind': (_, response) => response.writeHead(404).end('{"message":"no such kind"}'),
    '/stops-halfway': (request, response) => {
      response.writeHead(404, { 'Content-Length': '100' }).write('404 page');
      request.socket.end();
    },
  });
  const paths = ['/answers', '/refuses', '/panics', '/hangs', '/knows-no-such-kind', '/stops-halfway'];
  expect(await unserved(controller, '/other', ...paths, '/another')).toEqual(['/other', '/another']);
});

test('a server that names the path in its answer is understood', async () => {
  const controller = mux({ '/a': (_, response) => response.end() }, (path) => `Cannot POST ${path}`);
  expect(await unserved(controller, '/a', '/b')).toEqual(['/b']);
});

test('a server that answers every path serves every path', async () => {
  expect(await unserved(new Controller(), '/a', '/b')).toEqual([]);
  const refusing = new Controller((_, response) => response.writeHead(404).end(String(Math.random())));
  expect(await unserved(refusing, '/a')).toEqual([]);
});

/** The answer of a server that looks for handlers by kind, as kopf's does: on any path, and only to what it can read. */
const byKind =
  (...kinds: string[]): RequestListener =>
  (request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      try {
        const { kind } = JSON.parse(body).request.kind;
        response
          .writeHead(kinds.includes(kind) ? 200 : 404)
          .end(kinds.includes(kind) ? '{}' : '404: Not Found');
      } catch {
        response.writeHead(400).end();
      }
    });
  };

test('a server that answers 404 because of the kind is not condemned, whether or not it knows paths', async () => {
  expect(await unserved(new Controller(byKind('Widget')), '/a', '/b')).toEqual([]);
  expect(unclear.splice(0)).toEqual(['/a', '/b']);
  // A framework whose handlers answer with the same 404 as the framework itself.
  const framework = mux({ '/a': byKind('Widget') }, () => '404: Not Found');
  expect(await unserved(framework, '/a', '/b')).toEqual(['/b']);
  expect(unclear.splice(0)).toEqual(['/a']);
  // It ends the connection at what it cannot read.
  const strict = new Controller((request, response) =>
    request.once('data', (chunk) =>
      `${chunk}`.startsWith('{') ? response.writeHead(404).end() : request.socket.destroy(),
    ),
  );
  expect(await unserved(strict, '/a')).toEqual([]);
  expect(unclear.splice(0)).toEqual(['/a']);
});

test('no server is no proof', async () => {
  const controller = new Controller();
  await controller.start();
  await controller.stop();
  expect(await askForHandlers(called(controller.port, '/a'), NEVER)).toEqual({
    ...{ unserved: [], unclear: [], wantsCertificate: false },
  });
});

test('the review that is sent is complete, of no kind that exists, and a dry run', async () => {
  const bodies: string[] = [];
  const controller = new Controller((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (request.url?.startsWith('/devloop-') === false) bodies.push(body);
      response.end();
    });
  });
  await controller.start();
  const [admission] = called(controller.port, '/validate');
  await askForHandlers([admission!, { ...admission!, path: '/convert', reviews: 'conversion' }], NEVER);
  await controller.stop();
  const reviews = bodies.map((body) => JSON.parse(body)).sort((a, b) => a.kind.localeCompare(b.kind));
  expect(reviews).toMatchObject([
    {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: expect.any(String),
        kind: { group: 'devloop.dev' },
        requestKind: { group: 'devloop.dev' },
        requestResource: { resource: 'nothings' },
        operation: 'CONNECT',
        dryRun: true,
      },
    },
    { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request: { objects: [] } },
  ]);
});

test('reviews on a path for which the controller is being asked wait for what it says', async () => {
  await using bench = await setUp();
  bench.gateway.ask(['/validate/', '/late']);
  const asked = bench.ask('/validate?timeout=9s');
  expect((await bench.ask('/late?timeout=500ms')).status).toBe(503);
  expect(bench.controller.seen).toEqual([]);
  expect((await bench.ask('/slow')).status).toBe(200);
  bench.gateway.refuse(['/late']);
  bench.gateway.ask(['/late']);
  expect((await asked).status).toBe(200);
  expect(bench.controller.seen).toEqual(['/slow', '/validate?timeout=9s']);
});

test('reviews on a path that the controller does not serve are refused, and reach it not', async () => {
  await using bench = await setUp();
  bench.gateway.refuse(['/validate/']);
  expect(await bench.ask('/validate?timeout=3s')).toMatchObject({
    status: 503,
    text: expect.stringContaining('does not serve /validate'),
  });
  expect((await bench.ask('/slow')).status).toBe(200);
  expect(bench.controller.seen).toEqual(['/slow']);
  bench.gateway.refuse([]);
  expect((await bench.ask('/validate')).status).toBe(200);
});

test('a path that the controller does not serve is refused, whatever reviews get that have no time left', async () => {
  await using bench = await setUp(new Controller(), { hooks: { onTimeout: 'allow' } });
  bench.gateway.refuse(['/validate']);
  const body = JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'v1', request: { uid: '1' } });
  expect(await bench.ask('/validate', { body })).toMatchObject({
    status: 503,
    text: expect.stringContaining('does not serve /validate'),
  });
});
