import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { withoutComments } from '../../support/without-comments.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** README promises that devloop sends nothing to its developers, so each file that opens connections is here, by where they lead. */
const CONNECTIONS = {
  'the API server of the kubeconfig, its proxy and its login': [
    'cluster/api/oidc.ts',
    'cluster/api/pass-on.ts',
    'cluster/api/proxy-dial.ts',
    'cluster/api/switch-protocol.ts',
    'cluster/api/transport.ts',
  ],
  'an SSH host that the user names, and the agent': [
    'route/ssh/agent.ts',
    'route/ssh/explain.ts',
    'route/ssh/handshake.ts',
    'route/ssh/transport.ts',
  ],
  'this machine: the controller, the debugger, and other processes of devloop': [
    'controller/readiness.ts',
    'debugger/editor.ts',
    'debugger/json-rpc.ts',
    'gateway/controller-connection.ts',
    'gateway/controller-post.ts',
    'machine/loopback-tls.ts',
    'machine/network-namespace.ts',
    'machine/port.ts',
    'route/relay/relay.ts',
    'route/ssh/forward.ts',
    'session/control/client.ts',
    'session/embedded/egress.ts',
    'session/embedded/place.ts',
  ],
  'the server that the page comes from': ['page/client/api.ts'],
  'the controller, from the Pod of the relay': ['cluster/relay/manifest.ts'],
  'nothing: its socket only looks up a route': ['route/direct.ts'],
  'nothing: it uses the keys of ssh2': [
    'route/ssh/authentication.ts',
    'route/ssh/private-key.ts',
    'route/ssh/ssh2-workaround.ts',
  ],
};

it('connects only from files that are known to connect to what the user has named, or to this machine', () => {
  const files = globSync('src/**/*.{ts,tsx}', { cwd: ROOT });
  const connecting = files.filter((file) => connects(readFileSync(join(ROOT, file), 'utf8')));
  expect(connecting.map((file) => file.slice('src/'.length)).sort()).toEqual(
    Object.values(CONNECTIONS).flat().sort(),
  );
});

it('sees what opens a connection', () => {
  const yes = [
    "import { createServer, connect as dial } from 'node:net';",
    "import {\n  type Agent,\n  request,\n} from 'node:https';",
    "import * as http from 'node:http';",
    "await fetch('https://example.com')",
    "await import('ws')",
    'new EventSource(url)',
  ];
  for (const text of yes) expect(connects(text), text).toBe(true);
  for (const text of [
    "import { createServer } from 'node:net';",
    "import type { request } from 'node:https';",
    'session.fetch(1)',
    "// await fetch('x')",
  ])
    expect(connects(text), text).toBe(false);
});

function connects(source: string): boolean {
  const text = withoutComments(source);
  const imports = text.matchAll(
    /import\s+(?!type\b)([^;]*?)\bfrom '(?:node:(?:https?|net|tls|http2|dgram)|ws|ssh2)'/g,
  );
  return (
    [...imports].some(([, names]) =>
      /(?<!type )\b(?:connect|request|get|createSocket|createConnection)\b|\*/.test(names!),
    ) ||
    /(?<![.\w])(?:fetch|sendBeacon)\(|\bnew (?:WebSocket|EventSource|XMLHttpRequest)\b|import\('(?:ws|ssh2)'\)|require\('node:net'\)/.test(
      text,
    )
  );
}
