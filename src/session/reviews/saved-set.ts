import { isDeepStrictEqual } from 'node:util';
import { jsonPath } from '../../config/json-path.ts';
import { DevloopError, messageOf } from '../../errors.ts';
import { counted, shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ReviewVerdict } from '../../report/review.ts';
import { readRecords } from '../../reviews/read.ts';
import { type ReviewRecord, withAnswerOf } from '../../reviews/record.ts';
import { setFile, setNames, writeSet } from '../../reviews/sets.ts';
import { suspectsIn } from '../../reviews/suspects.ts';
import { NO_CLUSTER } from '../verify/no-cluster.ts';
import type { CompareOptions } from './replay.ts';

export interface SaveOptions {
  records: ReviewRecord[];
  replaces: boolean;
  /** The places, as JSONPaths from the root of a record, whose values the user has looked at. */
  allow?: string[];
  /** Texts that the set contains already. */
  known?: ReadonlySet<string>;
}

/**
 * Resolves to the set's file. Throws 'review.may-be-secret' and writes nothing if a text may be a secret, 'review.exists' if the set exists
 * and must not be replaced, or 'files.not-written'.
 */
export async function saveSet(checkout: string, name: string, saving: SaveOptions): Promise<string> {
  refuseSuspects(saving);
  return await writeSet(checkout, name, saving).catch((cause) => {
    if (cause instanceof DevloopError) throw cause;
    throw new DevloopError('files.not-written', `The reviews cannot be saved: ${messageOf(cause)}`, {
      cause,
    });
  });
}

const MOST_NAMED = 10;

function refuseSuspects({ records, allow = [], known = new Set() }: SaveOptions): void {
  const allowed = allow.flatMap((path) => [jsonPath(path) ?? []]);
  const found = records.flatMap((record) =>
    suspectsIn(record, allowed)
      .filter(({ text }) => !known.has(text))
      .map((suspect) => ({ id: record.id, ...suspect })),
  );
  if (found.length === 0) return;
  const lines = found.slice(0, MOST_NAMED).map(({ id, path, looksLike }) => `${id} ${path}: ${looksLike}`);
  const more = found.length > MOST_NAMED ? [`and ${found.length - MOST_NAMED} more`] : [];
  const flags = [...new Set(found.map(({ path }) => path))].slice(0, MOST_NAMED);
  throw new DevloopError(
    'review.may-be-secret',
    ['The reviews may contain secrets, so nothing was saved:', ...lines, ...more].join('\n'),
    {
      hint: `If they are not secrets, add to that command: ${flags.map((path) => `--allow ${shellWord(path)}`).join(' ')}`,
    },
  );
}

/** How `verify --update` changes a saved set: it keeps the changed answers until all of them are known, and then writes them. */
export interface SetUpdate {
  accepts: NonNullable<CompareOptions['accepts']>;
  /** Throws 'files.not-written'. */
  write(): Promise<void>;
}

/** Throws 'files.not-written' if the set has lines that would be lost. */
export function updateSet(
  { checkout, name, allow }: { checkout: string; name: string; allow: string[] },
  { records, unread }: { records: ReviewRecord[]; unread: number },
  emit: Emit,
): SetUpdate {
  const file = setFile(checkout, name);
  if (unread > 0)
    throw new DevloopError(
      'files.not-written',
      `${file} has ${counted(unread, 'line')} that this version of devloop cannot read, and would lose.`,
      { hint: 'Update the set with the version of devloop that wrote it.' },
    );
  const accepted = new Map<ReviewRecord, ReviewRecord>();
  return {
    accepts(before, after) {
      const why = whyRefused(after);
      if (why === undefined) accepted.set(before, withAnswerOf(before, after));
      else emit(notice('reviews.not-updated', { review: before.id, cause: why }));
      return why === undefined;
    },
    async write() {
      if (accepted.size === 0) {
        emit(notice('reviews.unchanged', { file }));
        return;
      }
      if (!isDeepStrictEqual((await readRecords(file)).records, records))
        throw new DevloopError('files.not-written', `${file} was changed while the set was verified.`, {
          hint: `devloop reviews verify ${shellWord(name)} --update`,
        });
      const updated = records.map((one) => accepted.get(one) ?? one);
      const known = new Set(records.flatMap((one) => suspectsIn(one).map(({ text }) => text)));
      await saveSet(checkout, name, { records: updated, replaces: true, allow, known });
      emit(notice('reviews.updated', { answers: accepted.size, file }));
    },
  };
}

const VERDICTS = new Set<ReviewVerdict>(['allowed', 'denied', 'converted']);

function whyRefused({ verdict, message = '' }: ReviewRecord): string | undefined {
  if (!VERDICTS.has(verdict)) return `the controller gave no verdict (${verdict})`;
  return message.includes(NO_CLUSTER.message)
    ? 'its webhook reads from the API server, and the manager ran without one'
    : undefined;
}

/**
 * Lists the saved sets of the checkout, for a command that was called without the name of a set. Then throws 'usage.invalid', because a
 * script whose variable is empty must not succeed.
 */
export async function nameSets(checkout: string, emit: Emit): Promise<never> {
  const names = await setNames(checkout);
  for (const name of names) {
    const file = setFile(checkout, name);
    const { records } = await readRecords(file);
    emit({ type: 'reviews.set', name, file, reviews: records.length });
  }
  const [first] = names;
  const none = `\`verify\` needs the name of a set, and ${checkout} has none.`;
  const message = first === undefined ? none : '`verify` needs the name of one of these sets.';
  const hint =
    first === undefined
      ? 'To save reviews as a set: devloop reviews save create-web\nThen: devloop reviews verify create-web'
      : `devloop reviews verify ${shellWord(first)}`;
  throw new DevloopError('usage.invalid', message, { hint });
}
