/** `relay.json`: what the relay program is told. */
export interface RelayConfig {
  /** On 127.0.0.1 of the Pod, for the port-forward. */
  controlPort: number;
  /** The target ports of the webhook Service, which may be asked for. */
  ports: number[];
  /** Private key of the program, in OpenSSH's form. */
  hostKey: string;
  /** Public key of the only client, in the form of authorized_keys. */
  clientKey: string;
  /** Without a client for so long, the program ends. */
  heartbeatSeconds: number;
}

export const HEARTBEAT_SECONDS = 60;

/** Reads relay.json. Throws with what is wrong. */
export function parseRelayConfig(text: string): RelayConfig {
  const found = JSON.parse(text) as Partial<RelayConfig>;
  const isPort = (value: unknown): value is number =>
    Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
  const { controlPort, ports, hostKey, clientKey, heartbeatSeconds = HEARTBEAT_SECONDS } = found;
  if (!isPort(controlPort)) throw new Error('controlPort is no port');
  if (!Array.isArray(ports) || ports.length === 0 || !ports.every(isPort)) {
    throw new Error('ports is no list of ports');
  }
  if (typeof hostKey !== 'string' || typeof clientKey !== 'string') {
    throw new Error('hostKey or clientKey is missing');
  }
  if (!(heartbeatSeconds > 0)) throw new Error('heartbeatSeconds is no time');
  return { controlPort, ports, hostKey, clientKey, heartbeatSeconds };
}
