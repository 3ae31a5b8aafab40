import { lookup } from 'node:dns/promises';
import { DevloopError } from '../../errors.ts';
import { refusal } from '../../machine/addresses.ts';
import type { Emit } from '../../report/events.ts';
import { isOwn } from '../direct.ts';
import type { HostSettings } from './settings.ts';

interface AddressOptions {
  /** What the user named. */
  named: string | undefined;
  /** The address that the connection went to, where it went there without a detour. */
  called: string | undefined;
  host: HostSettings;
  emit: Emit;
}

/** The address under which the cluster has to call the host. Throws `route.address` where an endpoint cannot hold it. */
export async function hostAddress({ named, called, host, emit }: AddressOptions): Promise<string> {
  const all = named !== undefined ? [named] : [...(called ? [called] : []), ...(await resolved(host.host))];
  const address = all.find((one) => refusal(one) === undefined);
  if (address === undefined) throw unusable(named, host, all);
  if (isOwn(address)) {
    emit({
      type: 'warning',
      message: `SSH host ${host.alias} is this very machine (${address}): the tunnel leads nowhere that the cluster could not call without it.`,
      hint: 'Name a host that the cluster reaches, or leave the SSH route out.',
    });
  }
  return address;
}

/** Throws `route.address` where it is clear without a connection that no address will do. */
export async function checkAddress(named: string | undefined, host: HostSettings): Promise<void> {
  const all = named !== undefined ? [named] : await resolved(host.host);
  if (all.length > 0 && all.every((one) => refusal(one) !== undefined)) throw unusable(named, host, all);
}

async function resolved(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

function unusable(named: string | undefined, host: HostSettings, all: string[]): DevloopError {
  const hint = 'Name the IP address under which the cluster reaches the SSH host.';
  const [first] = all;
  if (first === undefined) {
    return new DevloopError(
      'route.address',
      `The name ${host.host} has no address here, as is usual behind a jump host.`,
      { hint },
    );
  }
  const what =
    named === undefined && first !== host.alias
      ? `SSH host ${host.alias} is ${first} for this machine, which`
      : first;
  return new DevloopError('route.address', `${what} cannot be used: ${refusal(first)}.`, { hint });
}
