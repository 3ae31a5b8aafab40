import { once } from 'node:events';
import { isForbidden } from '../../cluster/api/errors.ts';
import type { Work } from '../../cluster/work.ts';
import { messageOf } from '../../errors.ts';
import type { CrdFields } from '../../operator/crd-fields.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import { type AddressedCall, CALLERS, followCalls } from '../../operator/webhooks.ts';
import { notice } from '../../report/notices/catalogue.ts';

/**
 * Where controller-runtime serves conversions. Reviews on this path are accepted until devloop has read the CRDs, which name the actual
 * paths.
 */
const CONVERSIONS = '/convert';

/** The paths on which the gateways accept reviews at first. */
export function pathsOf({ services }: Pick<Target, 'services'>): string[] {
  return [...services.flatMap(({ calls }) => calls.map(({ path }) => path)), CONVERSIONS];
}

interface PathListener {
  gateways: { accept(paths: Iterable<string>): void };
  onCalls?(services: TargetService[]): void;
  /** Gets the fields of the CRDs whose objects the webhooks review, when the CRDs are read and after each change. */
  onFields?(fields: CrdFields[]): void;
  /** Resolves when there is time to list the CRDs, which can be tens of megabytes; at once by default. */
  isCalm?: Promise<void>;
}

/**
 * Makes the gateways accept reviews on the paths of all calls to the Services, as the webhook configurations and CRDs change. `onCalls`
 * gets the Services with their calls before the gateways do. Disposing waits until nothing is watched.
 */
export function followPaths(
  { api, emit, signal }: Work,
  target: Pick<Target, 'services'>,
  { gateways, onCalls, onFields = () => {}, isCalm = Promise.resolve() }: PathListener,
): AsyncDisposable {
  const services = target.services.map(({ service }) => service);
  const ending = new AbortController();
  const ended = once(ending.signal, 'abort');
  const calls = new Map<string, AddressedCall[]>(
    CALLERS.map((kind) => [kind, callsOf(target).filter(({ call }) => call.from.kind === kind)]),
  );
  let knowsDefinitions = false;
  /** Ends the list and the watch of the CRDs, so that they are read again with the fields of other groups. */
  let readAgain = new AbortController();
  let groups = new Set<string>();
  const accept = (): void => {
    const all = [...calls.values()].flat();
    const paths = all.map(({ call }) => call.path);
    onCalls?.(withCalls(target, all));
    gateways.accept(knowsDefinitions ? paths : [...paths, CONVERSIONS]);
    if ([...groupsOf(all)].some((group) => !groups.has(group))) readAgain.abort();
  };
  const found = (kind: (typeof CALLERS)[number], by: AddressedCall[]): void => {
    calls.set(kind, by);
    knowsDefinitions ||= kind === 'CustomResourceDefinition';
    accept();
  };
  const isEnding = AbortSignal.any([signal, ending.signal]);
  const followDefinitions = async (): Promise<void> => {
    const kind = 'CustomResourceDefinition';
    await Promise.race([isCalm, ended]);
    while (!isEnding.aborted) {
      readAgain = new AbortController();
      groups = groupsOf([...calls.values()].flat());
      const again = AbortSignal.any([isEnding, readAgain.signal]);
      const onFound = (by: AddressedCall[]): void => found(kind, by);
      await followCalls(api, kind, services, { signal: again, onCalls: onFound, groups, onFields });
    }
  };
  const follow = async (kind: (typeof CALLERS)[number]): Promise<void> => {
    try {
      if (kind === 'CustomResourceDefinition') return await followDefinitions();
      await followCalls(api, kind, services, { signal: isEnding, onCalls: (by) => found(kind, by) });
    } catch (error) {
      if (kind === 'CustomResourceDefinition') knowsDefinitions = false;
      accept();
      const values = { callers: kind, cause: messageOf(error) };
      emit(
        isForbidden(error) ? notice('webhooks.not-followed', values) : notice('webhooks.lost-track', values),
      );
    }
  };
  const following = Promise.all(CALLERS.map(follow));
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await following;
    },
  };
}

function groupsOf(calls: AddressedCall[]): Set<string> {
  return new Set(calls.flatMap(({ call }) => call.groups));
}

function callsOf({ services }: Pick<Target, 'services'>): AddressedCall[] {
  return services.flatMap(({ service: { metadata }, calls }) =>
    calls.map((call) => ({ namespace: metadata.namespace!, name: metadata.name, call })),
  );
}

function withCalls({ services }: Pick<Target, 'services'>, all: AddressedCall[]): TargetService[] {
  return services.map((one) => {
    const { namespace, name } = one.service.metadata;
    const own = all.filter((addressed) => addressed.namespace === namespace && addressed.name === name);
    return { ...one, calls: own.map(({ call }) => call) };
  });
}
