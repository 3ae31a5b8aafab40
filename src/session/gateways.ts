import type { TargetService } from '../cluster/discover.ts';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import type { Emit } from '../report/events.ts';
import { isOwn } from '../route/direct.ts';

/** The gateways of one session: one for each port that the webhook Services lead to in the Pod. */
export interface Gateways extends AsyncDisposable {
  /** The gateway's port for a port of the Pod. */
  portFor(targetPort: number): number;
  present(serverName: string, pair: { certificate: string; key: string }): void;
  hold(): void;
  release(): void;
  giveNotice(why: string, ms: number): void;
  drain(): Promise<void>;
}

/** Listens on the address that faces the cluster; on all of them where that address is not this machine's own (NAT). */
export async function startGateways(
  services: TargetService[],
  options: { address: string; port?: number | undefined; session: string; emit: Emit },
): Promise<Gateways> {
  const targetPorts = [
    ...new Set(services.flatMap((service) => service.ports.map((port) => port.targetPort))),
  ];
  const host = isOwn(options.address) ? options.address : options.address.includes(':') ? '::' : '0.0.0.0';
  await using stack = new AsyncDisposableStack();
  const gateways = new Map<number, Gateway>();
  for (const [index, targetPort] of targetPorts.entries()) {
    const port = options.port === undefined ? 0 : options.port + index;
    const target = { host: '127.0.0.1', port: targetPort };
    gateways.set(
      targetPort,
      stack.use(await startGateway({ host, port, session: options.session, target, emit: options.emit })),
    );
  }
  const owned = stack.move();
  const all = [...gateways.values()];
  return {
    portFor: (targetPort) => gateways.get(targetPort)!.port,
    present: (serverName, pair) => all.forEach((gateway) => void gateway.present(serverName, pair)),
    hold: () => all.forEach((gateway) => void gateway.hold()),
    release: () => all.forEach((gateway) => void gateway.release()),
    giveNotice: (why, ms) => all.forEach((gateway) => void gateway.giveNotice(why, ms)),
    async drain() {
      await Promise.all(all.map((gateway) => gateway.drain()));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
