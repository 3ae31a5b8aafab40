import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { type Certificates, makeCertificates } from '../support/login/certificates.ts';
import { devloop, kubectl } from '../support/login/clients.ts';
import { type Client, outcomeOf } from '../support/login/compare.ts';
import { DIFFERENCES } from '../support/login/differences.ts';
import { hostForLogins } from '../support/login/host.ts';
import type { Outcome, Situation } from '../support/login/situation.ts';
import { SITUATIONS } from '../support/login/situations.ts';

const AT_ONCE = 4;
/** More than a thousand processes are started. */
const LONGEST_MS = 900_000;

let certificates: Certificates;
let clients: Record<'kubectl' | 'devloop', Client>;
let directory: string;
const cleanUp = new AsyncDisposableStack();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'login-suite-'));
  cleanUp.defer(() => rm(directory, { recursive: true, force: true }));
  certificates = await makeCertificates(join(directory, 'certificates'));
  const { cluster } = await ensureClusterBinaries({ log: (line) => console.error(line) });
  clients = { kubectl: kubectl([cluster, 'kubectl']), devloop: await devloop(directory) };
  cleanUp.defer(await hostForLogins(certificates.ca!.certificate));
});

afterAll(() => cleanUp.disposeAsync());

it('devloop logs in and connects as kubectl does', { timeout: LONGEST_MS }, async () => {
  const waiting = [...SITUATIONS];
  const found: Record<string, Outcome> = {};
  const expected: Record<string, Outcome> = {};
  const outdated: string[] = [];
  const worker = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const { name } = one;
      const reference = await seen('kubectl', one);
      found[name] = await seen('devloop', one);
      expected[name] = { ...reference, ...DIFFERENCES[name]?.outcome(reference) };
      if (name in DIFFERENCES && isDeepStrictEqual(found[name], reference)) outdated.push(name);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(found).toEqual(expected);
  expect(outdated).toEqual([]);
  const different = Object.keys(DIFFERENCES).length;
  console.log(
    `${SITUATIONS.length} situations: ${SITUATIONS.length - different} as with kubectl, ${different} differ on purpose`,
  );
});

it('each documented difference is one of a situation', () => {
  const names = new Set(SITUATIONS.map(({ name }) => name));
  expect(names.size).toBe(SITUATIONS.length);
  expect(Object.keys(DIFFERENCES).filter((name) => !names.has(name))).toEqual([]);
});

async function seen(client: 'kubectl' | 'devloop', one: Situation): Promise<Outcome> {
  const { printed: _, ...outcome } = await outcomeOf(clients[client], one, certificates);
  return outcome;
}
