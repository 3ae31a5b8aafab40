import { assertTakeable } from '../../cluster/takeover/service.ts';
import { DevloopError } from '../../errors.ts';
import { openDirect } from './open-direct.ts';
import { openRelay } from './open-relay.ts';
import { openSsh } from './open-ssh.ts';
import { nameOf, type OpenRoute, type Routing, type Way } from './routing.ts';

/** Failures of a way, after which the next one is worth a try; whatever else fails would fail on every way. */
const OF_THE_WAY = new Set(['route.none', 'route.address', 'relay.failed', 'cluster.forbidden']);

/** Opens the first way over which kube-apiserver is seen to reach a gateway here. Nothing of the user's is touched. */
export async function openRoute(routing: Routing, ways: Way[]): Promise<OpenRoute> {
  for (const { service } of routing.target.services) assertTakeable(service);
  const [only, ...others] = ways;
  if (only === undefined) throw new Error('no way to try');
  if (others.length === 0) return await openWay(routing, only, true);
  const failures: Failed[] = [];
  for (const [index, way] of ways.entries()) {
    try {
      return await openWay(routing, way, way === ways.at(-1));
    } catch (error) {
      if (!(error instanceof DevloopError && OF_THE_WAY.has(error.code))) throw error;
      failures.push({ way, error });
      const next = ways[index + 1];
      if (next !== undefined) routing.emit({ type: 'note', message: goingOn(way, error, next) });
    }
  }
  throw none(failures);
}

async function openWay(routing: Routing, way: Way, isLast: boolean): Promise<OpenRoute> {
  if (way === 'direct') return await openDirect(routing, isLast);
  return way === 'relay' ? await openRelay(routing) : await openSsh(routing, way.ssh);
}

interface Failed {
  way: Way;
  error: DevloopError;
}

/** A choice that is made for the user is told, and how to save the try the next time. */
function goingOn(way: Way, error: DevloopError, next: Way): string {
  const name = nameOf(next);
  return `The ${name} route is tried (\`route: ${name}\` in devloop.yaml goes there at once), because this one does not work:\n${nameOf(way)}: ${error.message}`;
}

function none(failures: Failed[]): DevloopError {
  const tried = failures.map(
    ({ way, error }) => `\n  ${nameOf(way)}: ${error.message.replaceAll('\n', '\n  ')}`,
  );
  const hints = failures.flatMap(({ error }) => error.hint ?? []);
  return new DevloopError('route.none', `No way leads from the cluster to this machine:${tried.join('')}`, {
    hint: [...hints, 'Over a host that both can reach: devloop up --route ssh:user@host'].join('\n'),
    cause: failures.at(-1)?.error,
  });
}
