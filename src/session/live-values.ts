import { join } from 'node:path';
import { sleep } from '../async.ts';
import type { Kind } from '../cluster/api/kinds.ts';
import { contextNames } from '../cluster/api/kubeconfig.ts';
import { homeDirectory } from '../machine/account.ts';
import { readTextFile } from '../machine/text-file.ts';
import { newestIds } from '../reviews/newest-ids.ts';
import { type Recorded, recordingFiles } from '../reviews/recording.ts';
import { setFile, setNames } from '../reviews/sets.ts';
import { checkoutRoot } from './context/checkout.ts';
import { chooseSession } from './context/choose-session.ts';
import { type Asked, namespaceNames, objectNames } from './context/cluster-names.ts';
import { thisMachine } from './context/local-machine.ts';
import { type LocalSession, withCrashed } from './context/local-sessions.ts';

/** What a shell can offer while somebody types, and where it comes from. */
const SOURCES = {
  context: ({ given: { kubeconfig }, io }: Asked) =>
    contextNames(kubeconfig ? { kubeconfig } : {}, io.env, io.cwd),
  namespace: namespaceNames,
  service: (asked: Asked) => objectNames(['Service'], asked),
  workload: (asked: Asked) => objectNames(WORKLOADS, asked),
  deployment: (asked: Asked) => objectNames(['Deployment'], asked, false),
  session: async ({ io }: Asked) => (await sessions(io)).map(({ id }) => id),
  review: (asked: Asked) => recorded(asked, 'reviews', 'r'),
  call: (asked: Asked) => recorded(asked, 'calls', 'c'),
  reconcile: (asked: Asked) => recorded(asked, 'calls', 'k'),
  fault: faultIds,
  set: async ({ io }: Asked) => await setNames(await checkoutRoot(io.cwd)),
  sshHost: sshHosts,
};
const WORKLOADS: Kind[] = ['Deployment', 'StatefulSet', 'DaemonSet'];

export type Live = keyof typeof SOURCES;

/** The values have to be there within this time after the start of the process, because somebody has pressed a key. */
const LIMIT_MS = 300;
/** If the machine is so busy that the start took most of that. */
const LEAST_MS = 200;

/**
 * The values that are known to this machine or the cluster, and fit what is typed. Never rejects, and prints nothing. Others have chosen these
 * texts, and a shell gets them: those with characters that mean something to a shell are left out.
 */
export async function liveValues(live: Live, asked: Asked): Promise<string[]> {
  const limit = new AbortController();
  const found = SOURCES[live]({ ...asked, io: { ...asked.io, signal: limit.signal } }).catch(() => []);
  const late = sleep(Math.max(LEAST_MS, LIMIT_MS - performance.now()), limit.signal).then(() => []);
  const values = await Promise.race([found, late]);
  limit.abort();
  return values.filter((value) => INERT.test(value) && value.startsWith(asked.typed));
}

/** Contexts can have any name; those that tools and cloud providers make contain `:`, `/`, `@`, `_` and `.`. */
const INERT = /^\w[\w.:@/-]{0,400}$/;

async function sessions({ env }: Asked['io']): Promise<LocalSession[]> {
  return await withCrashed(await thisMachine(env));
}

async function sessionOf({ given, io }: Asked, allowsCrashed: boolean): Promise<LocalSession> {
  const choice = { wanted: given.session, forAgent: undefined, allowsCrashed };
  return chooseSession(await sessions(io), await checkoutRoot(io.cwd), choice);
}

/** The newest ids. Commands also take the number alone, which is offered if the word begins with a digit. */
async function recorded(asked: Asked, what: Recorded, letter: 'r' | 'c' | 'k'): Promise<string[]> {
  const { given, typed, io } = asked;
  const files =
    given.set === undefined
      ? Object.values(recordingFiles((await sessionOf(asked, true)).directory, what))
      : await filesOfSet(given.set, await checkoutRoot(io.cwd));
  const ids = await newestIds(files, letter);
  return /^\d/.test(typed) ? ids.map((id) => String(Number(id.slice(2)))) : ids;
}

async function filesOfSet(name: string, checkout: string): Promise<string[]> {
  return (await setNames(checkout)).includes(name) ? [setFile(checkout, name)] : [];
}

async function faultIds(asked: Asked): Promise<string[]> {
  const { askSession } = await import('./control/client.ts');
  const { signal } = asked.io;
  const faults = await askSession(await sessionOf(asked, false), 'faults', {}, { emit() {}, signal });
  return faults.map(({ id }) => id);
}

/** The plain names in the OpenSSH configuration; patterns are no hosts. */
async function sshHosts({ io }: Asked): Promise<string[]> {
  const config = await readTextFile(join(homeDirectory(io.env), '.ssh/config'));
  const names = [...config.matchAll(/^\s*host[\s=]+(.*)$/gim)].flatMap(([, some = '']) => some.split(/\s+/));
  return names.filter((name) => /^[A-Za-z0-9][\w.-]*$/.test(name)).map((name) => `ssh:${name}`);
}
