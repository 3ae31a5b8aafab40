import { readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePath, otherWriter, writeBelow } from '../../machine/own-files.ts';
import { replaceTextFile } from '../../machine/text-file.ts';
import type { LocalMachine } from './local-machine.ts';

/** What the user has agreed to in one cluster. */
export interface Agreement {
  /** The cluster's own id; the names of its context and server are for display, and for `devloop context forget`. */
  id: string;
  context: string;
  server: string;
  /** When the user last agreed to something new. */
  at: string;
  what: string[];
}

type Machine = Pick<LocalMachine, 'stateDirectory'>;

/** A name that begins with a dot is not mistaken for a session's directory. */
const FILE = '.agreed.json';
const LARGEST = 1024 * 1024;
/** The oldest agreements are forgotten first: clusters come and go. */
const MOST_CLUSTERS = 200;
const MOST_IN_CLUSTER = 200;

/** What the user has agreed to on this machine. Nothing, if the file is damaged, or if others could have written it. */
export function agreements({ stateDirectory }: Machine): Agreement[] {
  const file = join(stateDirectory, FILE);
  if (otherWriter(stateDirectory) !== undefined) return [];
  try {
    const { size, uid } = statSync(file);
    if (size > LARGEST || uid !== (process.getuid?.() ?? uid)) return [];
    const { clusters } = JSON.parse(readFileSync(file, 'utf8')) as { clusters?: unknown };
    return Array.isArray(clusters) ? clusters.filter(isAgreement) : [];
  } catch {
    return [];
  }
}

/** What the user has agreed to in the cluster with this id. */
export function agreedIn(machine: Machine, id: string): Set<string> {
  return new Set(agreements(machine).flatMap((one) => (one.id === id ? one.what : [])));
}

/** Remembers what the user has agreed to. Throws 'files.not-written'. */
export async function remember(machine: Machine, agreement: Agreement): Promise<void> {
  const known = agreements(machine);
  const before = known.find(({ id }) => id === agreement.id)?.what ?? [];
  const what = [...new Set([...before, ...agreement.what])].slice(-MOST_IN_CLUSTER);
  if (what.length === before.length && what.every((one) => before.includes(one))) return;
  const others = known.filter(({ id }) => id !== agreement.id);
  await write(machine, [...others, { ...agreement, what }].slice(-MOST_CLUSTERS));
}

/** Forgets all agreements that fit, and returns them. Throws 'files.not-written'. */
export async function forget(machine: Machine, fits: (one: Agreement) => boolean): Promise<Agreement[]> {
  const known = agreements(machine);
  const forgotten = known.filter(fits);
  if (forgotten.length > 0)
    await write(
      machine,
      known.filter((one) => !fits(one)),
    );
  return forgotten;
}

async function write({ stateDirectory }: Machine, clusters: Agreement[]): Promise<void> {
  const file = join(stateDirectory, FILE);
  await writeBelow(stateDirectory, async () => {
    await makePath(stateDirectory);
    await writeFile(file, '', { flag: 'a', mode: 0o600 });
    await replaceTextFile(file, `${JSON.stringify({ clusters }, null, 2)}\n`);
  });
}

/** Checks the contents of the file: after a crash of the machine, it can contain anything. */
function isAgreement(value: unknown): value is Agreement {
  const { id, context, server, at, what } = (value ?? {}) as Partial<Agreement>;
  return (
    [id, context, server, at].every((one) => typeof one === 'string') &&
    Array.isArray(what) &&
    what.every((one) => typeof one === 'string')
  );
}
