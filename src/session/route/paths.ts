import { ApiError } from '../../cluster/api/errors.ts';
import type { Work } from '../../cluster/work.ts';
import { messageOf } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import { CALLERS, followCalls, type WebhookCall } from '../../operator/webhooks.ts';

/** Where controller-runtime serves conversions. Taken as long as devloop cannot read the CRDs, which say where they are served. */
const CONVERSIONS = '/convert';

/** The paths on which the gateways take reviews at first. */
export function pathsOf({ services }: Pick<Target, 'services'>): string[] {
  return [...services.flatMap(({ calls }) => calls.map(({ path }) => path)), CONVERSIONS];
}

/**
 * Has the gateways take reviews on the paths of all calls to the Services, as the webhook configurations and CRDs change; `onCalls` gets
 * the calls. Disposing waits until nothing is watched.
 */
export function followPaths(
  { api, emit, signal }: Work,
  target: Pick<Target, 'services'>,
  {
    gateways,
    onCalls,
  }: { gateways: { accept(paths: Iterable<string>): void }; onCalls?(calls: WebhookCall[]): void },
): AsyncDisposable {
  const services = target.services.map(({ service }) => service);
  const ending = new AbortController();
  const initial = target.services.flatMap(({ calls }) => calls);
  const calls = new Map<string, WebhookCall[]>(
    CALLERS.map((kind) => [kind, initial.filter(({ from }) => from.kind === kind)]),
  );
  let knowsDefinitions = false;
  const accept = (): void => {
    const all = [...calls.values()].flat();
    const paths = all.map(({ path }) => path);
    onCalls?.(all);
    gateways.accept(knowsDefinitions ? paths : [...paths, CONVERSIONS]);
  };
  const follow = async (kind: (typeof CALLERS)[number]): Promise<void> => {
    const onFound = (found: WebhookCall[]): void => {
      calls.set(kind, found);
      knowsDefinitions ||= kind === 'CustomResourceDefinition';
      accept();
    };
    try {
      await followCalls(api, kind, services, {
        signal: AbortSignal.any([signal, ending.signal]),
        onCalls: onFound,
      });
    } catch (error) {
      if (kind === 'CustomResourceDefinition') knowsDefinitions = false;
      accept();
      const isForbidden = error instanceof ApiError && error.isForbidden;
      emit({ type: isForbidden ? 'note' : 'warning', message: `${LATER_ONES} ${messageOf(error)}` });
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

const LATER_ONES =
  'Reviews of webhooks that are added while devloop runs are refused until you run devloop up again, because devloop cannot follow changes:';
