import { allDone } from '../../async.ts';
import { refOf } from '../../cluster/api/kinds.ts';
import { labelQuery } from '../../cluster/api/labels.ts';
import type { EndpointSlice } from '../../cluster/api/objects.ts';
import type { Pod } from '../../cluster/api/workloads.ts';
import { sliceRef } from '../../cluster/names.ts';
import { pointAgain } from '../../cluster/takeover/endpoints.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import { type KeyPairs, readKeyPairs } from '../../local/key-pairs.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import { shellWord } from '../../phrases.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { isOwn } from '../../route/direct.ts';
import type { CommandContext } from '../context/context.ts';
import type { Ask, Io, TrustOptions } from '../context/options.ts';
import { planRoutes } from '../route/kinds.ts';
import { openRoute } from '../route/open-route.ts';
import { routePorts } from '../route/point.ts';
import { type ProbeResult, probeUntil, serviceProber } from '../route/probe-until.ts';
import { type OpenRoute, type RouteSettings, type RouteWork, routeSettings } from '../route/routing.ts';

/** How the cluster can reach this machine, and the key pair for the answers. */
export interface AnswerMeans {
  settings: RouteSettings;
  /** The Secret that the user named, as `[namespace/]name`. */
  secretName: string | undefined;
  env: Record<string, string | undefined>;
  ask?: Ask;
}

export function answerMeans(context: CommandContext, { env, ask }: Io, options: TrustOptions): AnswerMeans {
  const secretName = context.settings['certificates.secret'].value;
  return { settings: routeSettings(context.settings, options), secretName, env, ask };
}

/**
 * Answers the webhooks of an operator in place of its dead session, until disposed. Allows the changes that restore the operator, and
 * refuses all other reviews, which had no answer before, either. The endpoints that the session left are pointed to this machine, but keep
 * the session's mark, so they are restored with the rest in any case. Writes only objects that no webhook for Services reviews.
 */
export async function answerInstead(work: Work, target: Target, means: AnswerMeans): Promise<OpenRoute> {
  const { api, sessionId } = work;
  const pairs = await readKeyPairs({ api, target, secretName: means.secretName }, () => {});
  const { env, ask } = means;
  const open = async (settings: RouteSettings): Promise<OpenRoute> => {
    const routeWork: RouteWork = { ...work, target, settings, env, ask };
    const verify = (ends: Ends, limitMs: number): Promise<ProbeResult> =>
      reach(routeWork, pairs, ends, limitMs);
    return await openRoute({ ...routeWork, verify }, planRoutes(target, settings));
  };
  const before = await addressBefore(work, target);
  if (before !== undefined) {
    const reopened = await open({
      ...means.settings,
      choice: 'direct',
      addressSource: OF_SESSION,
      ...before,
    }).catch(() => undefined);
    if (reopened !== undefined) return reopened;
    work.signal.throwIfAborted();
  }
  const opened = await open(means.settings);
  work.emit(notice('restore.route', { session: sessionId, route: opened.route.name }));
  return opened;
}

type Ends = Pick<OpenRoute, 'route' | 'gateways'>;

const OF_SESSION = 'of the dead session';

/** Where the dead session listened, if that was an address of this machine: then no endpoint has to change. */
async function addressBefore(
  { api, sessionId }: Work,
  { services }: Target,
): Promise<{ address: string; port: number } | undefined> {
  const ref = sliceRef(refOf('Service', services[0]!.service.metadata), sessionId);
  const slice = await api.get<EndpointSlice>(ref).catch(() => undefined);
  const address = slice?.endpoints?.[0]?.addresses[0];
  const port = slice?.ports?.[0]?.port;
  return address !== undefined && port !== undefined && isOwn(address) ? { address, port } : undefined;
}

/** Points the user's Services to this machine, and resolves when several calls of kube-apiserver have been answered. */
async function reach(work: RouteWork, pairs: KeyPairs, ends: Ends, limitMs: number): Promise<ProbeResult> {
  const { target, signal } = work;
  const { gateways } = ends;
  for (const [serverName, { pair }] of pairs) gateways.present(serverName, pair);
  gateways.answerConsequences('refuse');
  gateways.release();
  const results = await allDone(
    target.services.map(async (service) => {
      await using prober = await serviceProber(work, service);
      await pointHere(work, ends, service);
      // If the session was killed early, or late in its restore, the in-cluster manager may still answer; its answers count, too.
      return await probeUntil(prober, { wanted: 'any', limitMs }, signal);
    }),
  );
  return results.find(({ reached }) => !reached) ?? results[0]!;
}

/** Changes only endpoints, since nothing answers a webhook that reviews changes of the Service. */
async function pointHere(work: RouteWork, ends: Ends, service: TargetService): Promise<void> {
  const address = await addressOf(work, ends, service.service.metadata.namespace!);
  await pointAgain(work, service.service, () => ({ address, ports: routePorts(ends, service) }));
}

/** The address of the route, or of the relay's Pod. */
async function addressOf({ api }: Work, { route: { target } }: Ends, namespace: string): Promise<string> {
  if ('address' in target) return target.address;
  const query = { labelSelector: labelQuery(target.pods) };
  const pods = await api.list<Pod>('Pod', namespace, { query });
  const running = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const address = running.find(({ status }) => status?.phase === 'Running')?.status?.podIP;
  if (address !== undefined) return address;
  throw new DevloopError('relay.failed', `The relay Pod in namespace ${namespace} has no address.`, {
    hint: `kubectl -n ${shellWord(namespace)} get pods -l ${shellWord(query.labelSelector)} -o wide`,
  });
}
