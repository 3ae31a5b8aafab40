import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import ssh2, { type Connection, type ServerChannel } from 'ssh2';
import { type HostSettings, readSettings } from '../../../src/route/ssh/settings.ts';
import { makeSshKey } from '../ssh-key.ts';
import { LOCAL } from './local.ts';

/** An SSH host in this process that accepts every user, and forwards ports without a real port for each. */
export interface SshHost extends AsyncDisposable {
  settings: HostSettings;
  /** The connections from clients. */
  clients: Set<Socket>;
  /** Connects to a port that a client forwards. */
  call(port: number): Promise<ServerChannel>;
}

/** `more`: lines as `ssh -G` prints them. */
export async function startSshHost(more: string[] = []): Promise<SshHost> {
  const connections = new Map<number, Connection>();
  const clients = new Set<Socket>();
  const host = new ssh2.Server({ hostKeys: [makeSshKey()] }, (connection) => {
    connection.on('error', () => undefined);
    connection.on('authentication', (attempt) => attempt.accept());
    connection.on('session', (accept) => {
      accept().on('exec', (acceptExec) => {
        const channel = acceptExec();
        channel.exit(0);
        channel.end();
      });
    });
    connection.on('request', (accept, reject, name, info) => {
      if (name !== 'tcpip-forward' || !('bindPort' in info)) return reject?.();
      const port = info.bindPort || 40_000 + connections.size;
      connections.set(port, connection);
      accept?.(port);
    });
  });
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on('error', () => undefined).once('close', () => clients.delete(socket));
    host.injectSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    settings: settingsOf((server.address() as AddressInfo).port, more),
    clients,
    call: (port) =>
      new Promise((resolve, reject) => {
        connections.get(port)!.forwardOut('', port, '10.0.0.9', 50_000, (error, channel) => {
          if (error) reject(error);
          else resolve(channel);
        });
      }),
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of clients) socket.destroy();
    },
  };
}

function settingsOf(port: number, more: string[]): HostSettings {
  const lines = [
    'hostname 127.0.0.1',
    `port ${port}`,
    'stricthostkeychecking no',
    'userknownhostsfile none',
    'identityagent none',
    ...more,
  ];
  return readSettings(lines.join('\n'), { host: 'box' }, LOCAL);
}
