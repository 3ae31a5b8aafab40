import type { ObjectName } from '../../report/object-name.ts';
import { type Entry, isCall, isReconcile } from '../entry.ts';
import { isRequest } from '../groups.ts';
import type { Request } from '../requests-of-clients.ts';
import { ofCall, ofReconcile, ofReview, type Words } from './entry-words.ts';
import { ofRequest } from './request-words.ts';

const texts = new WeakMap<Entry | Request, Words>();

export function wordsOf(shown: Entry | Request): Words {
  const known = texts.get(shown);
  if (known) return known;
  const words = isRequest(shown)
    ? ofRequest(shown)
    : isCall(shown)
      ? ofCall(shown)
      : isReconcile(shown)
        ? ofReconcile(shown)
        : ofReview(shown);
  const { said } = words;
  texts.set(shown, { ...words, said: said.filter(Boolean) });
  return texts.get(shown)!;
}

/** The object that an entry or a request is about, if it is about one. */
export function objectOf(shown: Entry | Request): ObjectName | undefined {
  if (isRequest(shown)) return shown.reviews[0] ? objectOf(shown.reviews[0]) : named(shown.change!);
  if (isCall(shown) || isReconcile(shown)) {
    const [plural] = isCall(shown) ? (shown.resource ?? '').split('/') : [''];
    return named({ kind: shown.kind ?? plural, namespace: shown.namespace, name: shown.name });
  }
  return named({ kind: shown.resource?.kind, ...shown.object });
}

function named({
  kind,
  namespace,
  name,
}: { [Key in keyof ObjectName]?: string | undefined }): ObjectName | undefined {
  if (!kind || !name || name.endsWith('*')) return undefined;
  return { kind, ...(namespace ? { namespace } : {}), name };
}

/** How much of a bar a time takes: each tenth of a bar means several times as much as the one before, so that 2 ms of 10 s can be seen. */
export function share(ms: number, limitMs: number): number {
  return Math.min(1, Math.log10(1 + Math.max(0, ms)) / Math.log10(1 + limitMs));
}
