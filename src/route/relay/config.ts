import type { RelayKeys } from './keys.ts';

/** `relay.json`: what the relay program is told. It holds a private key: keep it in a Secret. */
export interface RelayConfig {
  /** On 127.0.0.1 of the Pod, for the port-forward. */
  controlPort: number;
  /** On all addresses of the Pod, for the API server's proxy. */
  proxyPort: number;
  /** The target ports of the webhook Service: where it listens. */
  ports: number[];
  /** Private key of the program. */
  programKey: string;
  /** Public key of its only client. */
  clientKey: string;
  /** Without a client for so long, the program ends. */
  heartbeatSeconds: number;
}

export const HEARTBEAT_SECONDS = 60;

/** What the two ends call what they speak, where HTTP is switched to it. */
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

/** Reads relay.json. Throws with what is wrong. */
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
  if (!isPort(controlPort)) throw new Error('controlPort is no port');
  if (!isPort(proxyPort)) throw new Error('proxyPort is no port');
  if (!Array.isArray(ports) || ports.length === 0 || !ports.every(isPort)) {
    throw new Error('ports is no list of ports');
  }
  if (typeof programKey !== 'string' || typeof clientKey !== 'string') {
    throw new Error('programKey or clientKey is missing');
  }
  if (!(heartbeatSeconds > 0)) throw new Error('heartbeatSeconds is no time');
  return { controlPort, proxyPort, ports, programKey, clientKey, heartbeatSeconds };
}
