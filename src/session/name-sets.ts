import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { readRecords } from '../reviews/read.ts';
import { setFile, setNames } from '../reviews/sets.ts';

/**
 * For a command that needs the name of a saved set and got none: lists those of the checkout, and then throws 'usage.invalid', because a
 * script whose variable is empty must not pass.
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
      : `devloop reviews verify ${first}`;
  throw new DevloopError('usage.invalid', message, { hint });
}
