import { AGAIN, DevloopError } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import { type Ranked, rank } from './match.ts';
import { type CheckoutFacts, readCheckout } from './sources.ts';

/**
 * Chooses among operators in several namespaces that all match the checkout. A repository can contain several operators, each in a
 * directory of its own. If devloop was started in such a directory, and the sources there have the webhooks of only one of the operators,
 * it is that one. Otherwise throws 'target.ambiguous'.
 */
export async function chooseAmong(
  rivals: Ranked[],
  { startedIn }: Pick<CheckoutFacts, 'startedIn'>,
): Promise<Ranked> {
  const near = startedIn === undefined ? [] : rank(rivals, await readCheckout(startedIn));
  const certain = near.filter((one) => one.certain);
  const [best] = certain;
  if (best === undefined || certain.some(({ namespace }) => namespace !== best.namespace))
    throw ambiguous(rivals);
  return best;
}

function ambiguous(rivals: Ranked[]): DevloopError {
  const list = rivals.map(
    ({ namespace, name, evidence }) => `\n  ${namespace}/${name}  (${evidence.join('; ')})`,
  );
  const commands = rivals.map(
    ({ namespace, name }) => `${AGAIN} --service ${shellWord(namespace)}/${shellWord(name)}`,
  );
  return new DevloopError(
    'target.ambiguous',
    `Several operators in the cluster match this checkout:${list.join('')}`,
    { hint: ['Choose one:', ...commands].join('\n') },
  );
}
