import { note, warning } from './notice.ts';

/** How the cluster reaches this machine. */
export const ROUTE = {
  /** The SSH host is this machine. */
  'route.ssh-to-itself': warning<{ host: string; address: string }>(
    ({ host, address }) => `SSH host ${host} is this machine (${address}), so the tunnel adds nothing.`,
    () => 'Name another host that the cluster can reach, or use another route.',
  ),
  /** A key of an SSH host was added to the user's known_hosts. */
  'route.host-key-added': note<{ host: string; fingerprint: string; file: string }>(
    ({ host, fingerprint, file }) => `Added the key of ${host} (${fingerprint}) to ${file}.`,
  ),
  /** A key of an SSH host could not be added to known_hosts, so the next session asks again. */
  'route.host-key-not-added': warning<{ host: string; file: string; cause: string }>(
    ({ host, file, cause }) => `Could not add the key of ${host} to ${file}: ${cause}`,
  ),
  /** The relay route listens on no port of this machine. */
  'route.relay-ignores-address': note(
    () => 'The relay route ignores --address and --port. To use no other route than theirs: --route direct',
  ),
  /** The relay route has no list of addresses that may connect. */
  'route.relay-ignores-allow-from': note(
    () => 'The relay route ignores --allow-from: a NetworkPolicy decides who can connect to its Pod.',
  ),
  /** A route does not work, so the next one is tried. `cause`: the text of the error with this code. */
  'route.next': note<{ route: string; next: string; error: string; cause: string }>(
    ({ route, next, cause }) =>
      `The ${route} route does not work, so devloop is trying the ${next} route (set \`route: ${next}\` in devloop.yaml to skip this step):\n${cause}`,
  ),
  /** The account may not use a route of the plan, so devloop skips it. */
  'route.not-permitted': note<{ route: string; resources: string[] }>(
    ({ route, resources }) =>
      `devloop skips the ${route} route: your account lacks permissions on ${resources.join(', ')}.`,
  ),
  /** The route is back after it was lost, but reviews do not reach this machine. `next`: what to do. */
  'route.reconnected-unreached': warning<{ cause: string; next?: string }>(
    ({ cause }) => `The route reconnected, but reviews do not reach this machine: ${cause}`,
    ({ next }) => next,
  ),
};
