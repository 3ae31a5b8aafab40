import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfForbidden } from '../cluster/api/errors.ts';
import { type Kind, kindInfo } from '../cluster/api/kinds.ts';
import type { KubeObject, Metadata } from '../cluster/api/objects.ts';
import { AGAIN } from '../errors.ts';
import { shellWord } from '../phrases.ts';
import { similarNames } from '../similar.ts';
import { splitName } from './target.ts';

/** An object that does not exist. */
interface MissingObject {
  namespace: string;
  name: string;
  flag: '--service' | '--deployment' | '--also-pause';
  /** All values of this flag, as the user typed them. */
  named: string[];
  /** What is offered if no name is similar, as `namespace/name`. */
  others?: string[];
}

/** The user's command with a similar or another name in place of the missing one, or a command that lists all names. */
export async function hintOfMissing(api: ClusterApi, kinds: Kind[], missing: MissingObject): Promise<string> {
  const { namespace, name, flag, named } = missing;
  const isMissing = (text: string): boolean => {
    const typed = splitName(text, namespace);
    return typed.namespace === namespace && typed.name === name;
  };
  const similar = named.some(isMissing) ? await similarObjects(api, kinds, missing) : [];
  const offered = similar.length > 0 ? similar : (missing.others ?? []).slice(0, 3);
  const commands = offered.map((other) =>
    [AGAIN, ...named.map((one) => `${flag} ${isMissing(one) ? other : one}`)].join(' '),
  );
  return (
    commands.join('\n') ||
    `kubectl -n ${shellWord(namespace)} get ${kinds.map((kind) => kindInfo(kind).plural).join(',')}`
  );
}

/** Objects with a similar name in the same namespace; if there are none, those in other namespaces. Returned as `namespace/name`. */
async function similarObjects(
  api: ClusterApi,
  kinds: Kind[],
  { namespace, name }: MissingObject,
): Promise<string[]> {
  const all = (await Promise.all(kinds.map((kind) => listAsAllowed(api, kind, namespace)))).flat();
  const here = all.filter((one) => one.namespace === namespace);
  const similarAmong = (some: Metadata[]): string[] => {
    const names = similarNames(name, [...new Set(some.map((one) => one.name))]);
    return names.flatMap((similar) =>
      some.filter((one) => one.name === similar).map((one) => `${one.namespace}/${similar}`),
    );
  };
  const similar = similarAmong(here);
  return (similar.length > 0 ? similar : similarAmong(all)).slice(0, 3);
}

/** The objects of all namespaces, or only of this one if the account is not allowed to list all. */
async function listAsAllowed(api: ClusterApi, kind: Kind, namespace: string): Promise<Metadata[]> {
  const all = await api.list<KubeObject>(kind, undefined).catch(noneIfForbidden);
  const listed = all.length > 0 ? all : await api.list<KubeObject>(kind, namespace).catch(noneIfForbidden);
  return listed.map(({ metadata }) => metadata);
}
