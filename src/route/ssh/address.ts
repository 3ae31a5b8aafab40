import { lookup } from 'node:dns/promises';
import { DevloopError } from '../../errors.ts';
import { refusal } from '../../machine/addresses.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { isOwn } from '../direct.ts';
import type { HostSettings } from './settings.ts';

interface AddressOptions {
  /** What the user passed as --address. */
  named: string | undefined;
  /** The address that this machine connected to; undefined behind a jump host or a ProxyCommand. */
  connected: string | undefined;
  host: HostSettings;
  emit: Emit;
}

/** The address at which the cluster calls the host. Throws `route.address` if no known address can be used in an endpoint. */
export async function hostAddress({ named, connected, host, emit }: AddressOptions): Promise<string> {
  const all =
    named !== undefined ? [named] : [...(connected ? [connected] : []), ...(await resolve(host.host))];
  const address = all.find((one) => refusal(one) === undefined);
  if (address === undefined) throw unusable(named, host, all);
  if (isOwn(address)) {
    emit(notice('route.ssh-to-itself', { host: host.alias, address }));
  }
  return address;
}

/** Throws `route.address` if it is clear before connecting that no address can be used. */
export async function checkAddress(named: string | undefined, host: HostSettings): Promise<void> {
  const all = named !== undefined ? [named] : await resolve(host.host);
  if (all.length > 0 && all.every((one) => refusal(one) !== undefined)) throw unusable(named, host, all);
}

async function resolve(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

function unusable(named: string | undefined, host: HostSettings, all: string[]): DevloopError {
  const hint = 'With --address, pass the IP address at which the cluster reaches the SSH host.';
  const [first] = all;
  if (first === undefined) {
    return new DevloopError(
      'route.address',
      `The name ${host.host} does not resolve on this machine, which is usual behind a jump host.`,
      { hint },
    );
  }
  const what =
    named === undefined && first !== host.alias
      ? `SSH host ${host.alias} resolves to ${first} on this machine, which`
      : first;
  return new DevloopError('route.address', `${what} cannot be used: ${refusal(first)}.`, { hint });
}
