import type { RelayKeys } from './keys.ts';

/** The relay program's configuration, `relay.json`. It holds a private key, so it belongs in a Secret. */
export interface RelayConfig {
  /** The port on 127.0.0.1 of the Pod, for a port-forward. */
  controlPort: number;
  /** The port on all addresses of the Pod, for the API server's proxy. */
  proxyPort: number;
  /** The target ports of the webhook Service, on which the program listens. */
  ports: number[];
  /** The private key of the program. */
  programKey: string;
  /** The public key of the program's only client. */
  clientKey: string;
  /** The program ends after this time without a client. */
  heartbeatSeconds: number;
}

const HEARTBEAT_SECONDS = 60;

/** The name of the relay's protocol in an HTTP upgrade. */
export const PROTOCOL = 'devloop-relay';

export function relayConfig(options: {
  controlPort: number;
  proxyPort: number;
  /** Target ports of the webhook Service. */
  ports: number[];
  keys: RelayKeys;
  heartbeatSeconds?: number;
}): RelayConfig {
  return {
    controlPort: options.controlPort,
    proxyPort: options.proxyPort,
    ports: options.ports,
    programKey: options.keys.program.private,
    clientKey: options.keys.client.public,
    heartbeatSeconds: options.heartbeatSeconds ?? HEARTBEAT_SECONDS,
  };
}

/** Parses relay.json. Throws an error that names the invalid field. */
export function parseRelayConfig(text: string): RelayConfig {
  const found = JSON.parse(text) as Partial<RelayConfig>;
  const isPort = (value: unknown): value is number =>
    Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
  const {
    controlPort,
    proxyPort,
    ports,
    programKey,
    clientKey,
    heartbeatSeconds = HEARTBEAT_SECONDS,
  } = found;
  if (!isPort(controlPort)) throw new Error('controlPort is not a port');
  if (!isPort(proxyPort)) throw new Error('proxyPort is not a port');
  if (!Array.isArray(ports) || ports.length === 0 || !ports.every(isPort)) {
    throw new Error('ports is not a list of ports');
  }
  if (typeof programKey !== 'string' || typeof clientKey !== 'string') {
    throw new Error('programKey or clientKey is missing');
  }
  if (!(heartbeatSeconds > 0)) throw new Error('heartbeatSeconds is not a positive number');
  return { controlPort, proxyPort, ports, programKey, clientKey, heartbeatSeconds };
}
