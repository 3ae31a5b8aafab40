import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { DevloopError, messageOf } from '../errors.ts';

/** Listens, and returns the port. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    throw listenFailure(host, port, error);
  }
  return (server.address() as AddressInfo).port;
}

function listenFailure(host: string, port: number, error: unknown): unknown {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new DevloopError(
        'port.in-use',
        `The gateway cannot listen on ${address}: another process does`,
        {
          hint: `End that process (ss -ltnp 'sport = :${port}' shows it), or leave the port to devloop.`,
          cause: error,
        },
      );
    case 'EACCES':
      return new DevloopError(
        'port.in-use',
        `The gateway may not listen on ${address}: the port is reserved`,
        {
          hint: 'Choose a port above 1023, or leave the port to devloop.',
          cause: error,
        },
      );
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
    case 'ENOTFOUND':
      return new DevloopError(
        'route.address',
        `The gateway cannot listen on ${address}: this machine does not have that address (${messageOf(error)})`,
        { hint: 'Name one of the addresses that `ip address` shows.', cause: error },
      );
    default:
      return error;
  }
}
