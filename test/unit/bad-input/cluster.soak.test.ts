/** Objects of the cluster that nobody would write on purpose: the API server has checked their types, and nothing else. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { mutatedWithinTypes, nastyText, run, type Shape } from '../../support/bad-input.ts';
import { type FakeApiServer, fakeApiServer } from '../../support/fake-api-server.ts';
import { checkAsyncProperty } from '../../support/repeat.ts';
import { clusterOf, DEAD_SESSION, SHOP } from '../../support/shop-operator.ts';

let server: FakeApiServer;
let home: string;

beforeAll(async () => {
  server = await fakeApiServer();
  home = mkdtempSync(join(tmpdir(), 'devloop-bad-objects-'));
  writeFileSync(join(home, 'config'), JSON.stringify(server.kubeconfig));
  writeFileSync(join(home, 'main.go'), 'package main\n');
  writeFileSync(join(home, 'go.mod'), 'module example.com/shop\n');
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});
beforeEach(() => {
  server.writes = [];
});

const SHAPE: Shape = {
  optional:
    /(?:annotations|labels|type|selector|ports|ports\.\d+\.name|targetPort|protocol|clusterIP|ipFamilies|internalTrafficPolicy|replicas|matchLabels|template\.metadata|serviceAccountName|image|command|args|args\.\d+|env|env\.\d+|value|valueFrom|optional|envFrom|envFrom\.\d+|prefix|volumeMounts|subPath|items|volumes|volumes\.\d+|nodeSelector|status|readyReplicas|observedGeneration|webhooks|caBundle|clientConfig\.service|path|port|failurePolicy|timeoutSeconds|rules|apiGroups|namespaceSelector|objectSelector|values|data|binaryData|spec\.service|endpoints|addresses|conditions|ready|holderIdentity|leaseDurationSeconds|acquireTime)$/,
  // Objects are looked up by their names, and a Lease that is not renewed is watched for as long as it is valid.
  fixed:
    /^\w+\.kind$|^\w+\.object\.metadata\.(?:name|namespace)$|\.kind$|^\w+$|^\w+\.object$|metadata$|renewTime|leaseDurationSeconds/,
};

const ENV = () => ({ HOME: home, KUBECONFIG: join(home, 'config'), PATH: process.env.PATH });

async function runHere(args: string[]): Promise<{ isRefused: boolean }> {
  const before = readdirSync(home);
  const { error } = await run({ args, cwd: home, env: ENV() });
  expect(server.writes).toEqual([]);
  expect(readdirSync(home)).toEqual(before);
  return { isRefused: error !== undefined };
}

it('the operator', async () => {
  const commands = [
    ['up', '--dry-run', '--service', 'shop/webhook', '--', './manager'],
    ['up', '--dry-run', '--service', 'shop/webhook', '--route', 'relay', '--', './manager'],
    ['up', '--dry-run', '--deployment', 'shop/manager', '--route', 'direct', '--', './manager'],
    ['up', '--dry-run', '--service', 'shop/webhook', '--pause', 'lease', '--', './manager'],
    ['up', '--dry-run', '--', './manager'],
  ];
  const input = fc.record({ objects: mutatedWithinTypes(SHOP, SHAPE), args: fc.constantFrom(...commands) });
  let refused = 0;
  await checkAsyncProperty(
    'bad input: objects of an operator',
    { soak: 600, quick: 5, examples: commands.map((args) => ({ objects: SHOP, args })) },
    fc.asyncProperty(input, async ({ objects, args }) => {
      server.cluster = clusterOf(objects);
      if ((await runHere(args)).isRefused) refused += 1;
    }),
  );
  console.log(`${refused} of them were refused`);
});

/** Texts as people write them into a container's arguments and variables. */
const WORDS = [
  ...[
    '--metrics-bind-address',
    '--health-probe-bind-address=',
    '--leader-elect',
    '--leader-elect=',
    '-leader-elect=TRUE',
  ],
  ...[
    '--webhook-cert-path',
    '--webhook-cert-path=/certs',
    '--cert-dir=',
    '/certs',
    '/certs/',
    '/certs/../x',
    '/certsx',
    '//certs',
  ],
  ...[
    '--kubeconfig',
    '--kubeconfig=/x',
    ':0',
    ':99999',
    ':65536',
    ':00',
    ':8081',
    '0.0.0.0:99999',
    '[::]:9443',
    ':9443,:99999',
  ],
  ...[
    '$(ID)',
    '$(TOKEN)',
    '$$(ID)',
    '$(',
    '$(NOPE)',
    '=',
    '--',
    '-',
    '--=',
    '--a',
    '--a=',
    '/etc/shop/config.yaml',
    'a,/certs,b',
  ],
];

it("the words of the manager's container", async () => {
  const word = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...WORDS) }, nastyText);
  const words = fc.array(
    fc.array(word, { minLength: 1, maxLength: 2 }).map((some) => some.join('')),
    { maxLength: 12 },
  );
  const variables = fc.array(fc.record({ name: word, value: word }), { maxLength: 6 });
  const input = fc.record({ command: words, args: words, variables });
  await checkAsyncProperty(
    "bad input: words of the manager's container",
    {
      soak: 300,
      quick: 5,
      examples: [{ command: [], args: ['--metrics-bind-address=:99999'], variables: [] }],
    },
    fc.asyncProperty(input, async ({ command, args, variables }) => {
      const objects = structuredClone(SHOP);
      Object.assign(objects.deployment.object.spec.template.spec.containers[0]!, {
        command,
        args,
        env: variables,
      });
      server.cluster = clusterOf(objects);
      await runHere(['up', '--dry-run', '--service', 'shop/webhook']);
    }),
  );
});

it('what a session left', async () => {
  const commands: string[][] = [
    ['down', '--dry-run', '--take-over'],
    ['down', '--dry-run'],
    ['up', '--dry-run', '--service', 'shop/webhook', '--', './manager'],
  ];
  const all = { ...SHOP, ...DEAD_SESSION };
  // If the holder is not this machine, the Lease is watched for seconds.
  const readable = { ...SHAPE, fixed: new RegExp(`${SHAPE.fixed.source}|^lease`) };
  const input = fc.oneof(
    fc.record({ objects: mutatedWithinTypes(all, readable), args: fc.constantFrom(...commands) }),
    fc.record({ objects: mutatedWithinTypes(all, SHAPE), args: fc.constant<string[]>(['status']) }),
  );
  await checkAsyncProperty(
    'bad input: marks, Leases and slices of a session',
    { soak: 400, quick: 5, examples: commands.map((args) => ({ objects: all, args })) },
    fc.asyncProperty(input, async ({ objects, args }) => {
      server.cluster = clusterOf(objects);
      await runHere(args);
    }),
  );
});

it.each([
  ['can be read', DEAD_SESSION.service.object.metadata.annotations['devloop.dev/undo'], undefined],
  ['cannot be read', 'broken', { code: 'undo.incomplete', exitCode: 4 }],
])('a session whose undo %s: the dry run of down fails where down would', async (_, undo, expected) => {
  const objects = structuredClone({ ...SHOP, ...DEAD_SESSION });
  objects.service.object.metadata.annotations['devloop.dev/undo'] = undo;
  server.cluster = clusterOf(objects);
  const { error } = await run({ args: ['down', '--dry-run', '--take-over'], cwd: home, env: ENV() });
  if (expected === undefined) expect(error).toBeUndefined();
  else expect(error).toMatchObject({ ...expected, message: expect.stringContaining('Service shop/webhook') });
});
