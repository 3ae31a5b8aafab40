import { rereadCalls } from '../operator/webhooks.ts';
import type { Session } from '../session/context/session.ts';
import { type FoundPair, findKeyPair, followKeyPair, layOut } from './key-pair-files.ts';

/** The key pair of each webhook Service, by the name that kube-apiserver verifies. */
export type KeyPairs = Map<string, FoundPair>;

/** Finds and checks all of them, and writes the first one, which is the controller's, to where it will look. */
export async function findKeyPairs(session: Session): Promise<KeyPairs> {
  const pairs = await readKeyPairs(session);
  const [first] = pairs.values();
  if (first) await layOut(session.files.certificates, first, session.io.emit);
  return pairs;
}

/** Finds and checks all of them; writes nothing. `files.mountedAt` is told where the container sees them. */
export async function readKeyPairs({ opened, target, files, io }: Session): Promise<KeyPairs> {
  const pairs: KeyPairs = new Map();
  for (const service of target.services) {
    const found = await findKeyPair(opened.api, target, service, opened.config.certificates?.secret, io.emit);
    const { namespace, name, directory } = found.secret;
    const source = directory ? `mounted at ${directory}` : `its certificate is for ${service.serverName}`;
    io.emit({ type: 'discovered', what: 'secret', value: `${namespace}/${name}`, source });
    if (directory !== undefined && !files.mountedAt.includes(directory)) files.mountedAt.push(directory);
    pairs.set(service.serverName, found);
  }
  return pairs;
}

/** Follows renewals of all of them until the signal aborts. */
export async function followKeyPairs(
  { opened, target, files, io }: Session,
  pairs: KeyPairs,
  present: (serverName: string, pair: FoundPair['pair']) => void,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    target.services.map((service, index) => {
      const { secret } = opened.config.certificates ?? {};
      const find = async (): Promise<FoundPair> => {
        const calls = await rereadCalls(opened.api, service);
        return await findKeyPair(opened.api, target, { ...service, calls }, secret, () => {});
      };
      const use = async (found: FoundPair): Promise<void> => {
        if (index === 0)
          for (const directory of [files.certificates, ...files.fixed])
            await layOut(directory, found, io.emit);
        present(service.serverName, found.pair);
      };
      return followKeyPair(find, use, pairs.get(service.serverName)!, io.emit, signal);
    }),
  );
}
