import type { Target } from '../operator/target.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { readFlag } from './settings.ts';

/** The DNS name of a Service: `db.shop.svc`, or longer. */
const HOST = /(?<![\w.-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.){2}svc(?:\.[a-z0-9.-]*[a-z0-9])?(?![\w-])/g;

/** What the controller is started with. */
interface Settings {
  args: string[];
  variables: Record<string, string>;
}

/**
 * Reports the Services that the settings name as hosts, since such names usually resolve in the cluster only. Names of webhook Services are
 * not reported: they are there for the certificate.
 */
export function noteClusterHosts(
  settings: Settings,
  { services }: Pick<Target, 'services'>,
  emit: Emit,
): void {
  const own = services.map(({ serverName }) => serverName);
  const named = [...clusterHosts(settings)].filter(([host]) => !own.some((name) => host.startsWith(name)));
  if (named.length === 0) return;
  const hosts = named.map(([host, by]) => ({ host, settings: [...by] }));
  emit(notice('hosts.of-cluster', { hosts }));
}

/** Each host with the flags and variables whose values name it. */
export function clusterHosts({ args, variables }: Settings): Map<string, Set<string>> {
  const hosts = new Map<string, Set<string>>();
  const look = (text: string, by: string): void => {
    for (const [host] of text.matchAll(HOST)) hosts.set(host, (hosts.get(host) ?? new Set()).add(by));
  };
  for (const [index, arg] of args.entries())
    look(arg, flagIn(arg) ?? flagIn(args[index - 1]) ?? 'an argument');
  for (const [name, value] of Object.entries(variables)) look(value, name);
  return hosts;
}

function flagIn(arg = ''): string | undefined {
  return readFlag(arg, undefined)?.name;
}
