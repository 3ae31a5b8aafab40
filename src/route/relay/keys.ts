import { HEARTBEAT_SECONDS, type RelayConfig } from './config.ts';

/** Two pairs made for one session: the relay program shows the first, this machine the second. OpenSSH's forms. */
export interface RelayKeys {
  host: KeyPair;
  client: KeyPair;
}

export interface KeyPair {
  private: string;
  public: string;
}

export async function makeRelayKeys(): Promise<RelayKeys> {
  const { default: ssh2 } = await import('ssh2');
  const pair = (): KeyPair => {
    for (;;) {
      const made = ssh2.utils.generateKeyPairSync('ed25519');
      // One in 256 public keys begins with a zero byte, which ssh2 1.17 leaves out; it cannot read that pair itself then.
      if (ssh2.utils.parseKey(made.private) instanceof Error) continue;
      return { private: made.private, public: made.public };
    }
  };
  return { host: pair(), client: pair() };
}

/** What the program reads from relay.json. It holds the private half of the host pair: keep it in a Secret. */
export function relayConfig(options: {
  controlPort: number;
  /** Target ports of the webhook Service. */
  ports: number[];
  keys: RelayKeys;
  heartbeatSeconds?: number;
}): RelayConfig {
  return {
    controlPort: options.controlPort,
    ports: options.ports,
    hostKey: options.keys.host.private,
    clientKey: options.keys.client.public,
    heartbeatSeconds: options.heartbeatSeconds ?? HEARTBEAT_SECONDS,
  };
}
