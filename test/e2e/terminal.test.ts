/** What a person reads while `up` runs in a terminal of 120 columns. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestCluster } from '../cluster/cluster.ts';
import { BIN, YES } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { application, type Checkout, checkoutSample, NAMESPACE } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';
import { CTRL_C, openTerminal } from '../support/terminal.ts';

const COLUMNS = 120;
const WEBHOOK = 'internal/webhook/v1/application_webhook.go';
const BUILT_MS = 240_000;
const ERASED = '\r\x1b[J';

let cluster: TestCluster;
let checkout: Checkout;
let before: Awaited<ReturnType<typeof snapshot>>;

beforeAll(async () => {
  [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  before = await snapshot(cluster, NAMESPACE);
});

afterAll(() => checkout?.[Symbol.asyncDispose]());

/** The rows above the line at the bottom, without colours. */
function rowsOf(shown: string): string[] {
  const rows = shown.split('\r\n').map((row) => row.slice(row.lastIndexOf(ERASED) + 1));
  return rows.map((row) => stripVTControlCharacters(row).replaceAll('\r', ''));
}

it('shows each review and reconcile in a row, warnings of the log, and all of it on request or when the controller exits', async () => {
  const line = `stty cols ${COLUMNS} rows 50; exec ${process.execPath} ${BIN} up ${YES}`;
  const env = { KUBECONFIG: cluster.kubeconfig, TERM: 'xterm', NODE_EXTRA_CA_CERTS: '', FORCE_COLOR: '1' };
  await using terminal = openTerminal(line, { cwd: checkout.directory, env });
  const rows = (): string[] => rowsOf(terminal.shown());
  const shows = async (text: string | RegExp, times = 1): Promise<void> =>
    await eventually(async () => {
      const found = rows().filter((row) => (typeof text === 'string' ? row.includes(text) : text.test(row)));
      expect(found.length, terminal.shown()).toBeGreaterThanOrEqual(times);
    }, BUILT_MS);
  const apply = async (name: string, image: string): Promise<string> =>
    await cluster.kubectl(['apply', '-f', '-'], { input: application(name, image) }).catch(String);

  await shows(/^ready /);
  expect(rows().filter((row) => row.includes('INFO'))).toEqual([]);
  await apply('good', 'example.com/shop:1');
  await shows(/^reconciled .* created Deployment good/);
  await apply('bad', '');
  await shows(/^denied /);
  expect(terminal.shown()).not.toContain('is invalid:');
  const about = rows().filter((row) => /^(?:allowed|denied|reconciled) /.test(row));
  for (const row of about) expect(row.length, row).toBeLessThanOrEqual(COLUMNS);
  const builds = about.filter((row) => /\(\S+ m?s, [0-9a-f]{7} /.test(row));
  expect(builds).toEqual(about.slice(0, 1));
  const answered = terminal.shown().match(/\br-\d{6}\b/g) ?? [];
  expect(answered).toEqual(answered.toSorted());

  terminal.type('h');
  await shows(/^held .*\bkey h\b/);
  const held = apply('held', 'example.com/shop:1');
  await eventually(async () => expect(terminal.shown()).toMatch(/1 review waiting.*h forwards them/), 20_000);
  terminal.type('h');
  await held;
  await shows(/^released /);

  terminal.type('p');
  await shows(/^ignoring .*\bkey p\b/);
  const file = join(checkout.directory, WEBHOOK);
  await writeFile(file, (await readFile(file, 'utf8')).replace('needs an image', 'has no image'));
  await eventually(async () => expect(terminal.shown()).toContain('1 changed file ignored until p'), 20_000);
  terminal.type('p');
  await shows(`following     changed files again; changed in between: ${WEBHOOK}`);
  await shows(/^replaced /);

  // The last lines first, and then all that follow.
  terminal.type('l');
  await shows(/^│ .*INFO {2}Starting workers/);
  await apply('good', 'example.com/shop:2');
  await shows(/^│ .*INFO {2}Updated Deployment good/);
  const log = rows().filter((row) => row.startsWith('│'));
  for (const row of log) expect(row.length, row).toBeLessThanOrEqual(COLUMNS);
  expect(log.some((row) => row.startsWith('│   '))).toBe(true);
  expect(terminal.shown()).toContain('\x1b[2m│ ');

  terminal.type('l');
  await shows(/^note .*l shows all of it/);
  const shown = terminal.shown().length;
  await cluster.kubectl(['delete', 'application', 'good', 'held', '--wait']);
  const after = (): string[] => rowsOf(terminal.shown().slice(shown));
  expect(after().filter((row) => row.includes('INFO'))).toEqual([]);
  const [pid] = rows()
    .flatMap((row) => /^answering +pid (\d+)/.exec(row)?.[1] ?? [])
    .slice(-1);
  process.kill(Number(pid), 'SIGKILL');
  await eventually(
    async () => expect(after().find((row) => row.startsWith('exited '))).toBeDefined(),
    20_000,
  );
  const end = after().findIndex((row) => row.startsWith('exited '));
  expect(
    after()
      .slice(0, end)
      .some((row) => /^│ .*INFO/.test(row)),
  ).toBe(true);

  terminal.type('q');
  await terminal.closed;
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
});

it('stays readable while a controller loops, and what the controller says after Ctrl-C looks like no failure', async () => {
  const line = `stty cols ${COLUMNS} rows 50; exec ${process.execPath} ${BIN} up ${YES}`;
  const env = { KUBECONFIG: cluster.kubeconfig, TERM: 'xterm', NODE_EXTRA_CA_CERTS: '' };
  const status = join(checkout.directory, 'internal/controller/status.go');
  const calm = await readFile(status, 'utf8');
  const restless = calm
    .replace('"fmt"', '"fmt"\n\t"time"')
    .replace('app.Status.Message = message', 'app.Status.Message = time.Now().String()');
  await writeFile(status, restless);
  await using terminal = openTerminal(line, { cwd: checkout.directory, env });
  const rows = (): string[] => rowsOf(terminal.shown());
  const shows = async (text: RegExp): Promise<void> =>
    await eventually(
      async () =>
        expect(
          rows().some((row) => text.test(row)),
          terminal.shown(),
        ).toBe(true),
      BUILT_MS,
    );
  await shows(/^ready /);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('restless', 'example.com/shop:1') });
  await shows(/^warning: .* each time/);
  await shows(/^→ next: .*/);
  await shows(/\+\d+ in its loop/);
  const warned = rows().findIndex((row) => row.startsWith('warning: '));
  // What was counted just before the warning, and once after it.
  const ofLoop = rows()
    .slice(warned)
    .filter((row) => row.startsWith('reconciled '));
  expect(ofLoop.length, ofLoop.join('\n')).toBeLessThanOrEqual(6);
  for (const row of rows().slice(warned)) expect(row.length, row).toBeLessThanOrEqual(COLUMNS);
  terminal.type(CTRL_C);
  await terminal.closed;
  const end = rows().findIndex((row) => row.startsWith('restored '));
  expect(end).toBeGreaterThan(0);
  expect(
    rows()
      .slice(end)
      .filter((row) => /ERROR|503|^warning/.test(row)),
  ).toEqual([]);
  await writeFile(status, calm);
  await cluster.kubectl(['delete', 'application', 'restless', '--wait']);
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
});
