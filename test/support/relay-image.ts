import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { RELAY_IMAGE } from '../../src/cluster/relay/manifest.ts';
import { cached, hashOf } from '../cluster/cache.ts';
import type { TestCluster } from '../cluster/cluster.ts';

const execute = promisify(execFile);
const NODE = join(import.meta.dirname, '../../node_modules/.bin/node');
const MEDIA = 'application/vnd.oci.image.';

/**
 * Loads an image into the node, under the name that the relay's Pod uses. It contains this project's own Node and the shared libraries that
 * Node loads, at the same paths as on this machine, and nothing else, not even a shell. So the tests fail if the Pod needs more.
 */
export async function loadRelayImage(cluster: TestCluster, ref = RELAY_IMAGE): Promise<void> {
  await cluster.importImage(await relayImage(ref));
}

/** The same image as an OCI layout tar. */
export async function relayImage(ref = RELAY_IMAGE): Promise<string> {
  const node = await realpath(NODE);
  const { size, mtimeMs } = await stat(node);
  const key = await hashOf(import.meta.dirname, [basename(import.meta.filename)], ref, `${size} ${mtimeMs}`);
  const directory = await cached('test-relay-image', key, async (part) => {
    const work = await mkdtemp(join(tmpdir(), 'devloop-relay-image-'));
    try {
      await packLayer(node, join(work, 'root'), join(work, 'layer.tar'));
      await packImage(join(work, 'layout'), join(work, 'layer.tar'), ref, join(part, 'image.tar'));
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  });
  return join(directory, 'image.tar');
}

async function packLayer(node: string, root: string, out: string): Promise<void> {
  const put = async (from: string, to: string): Promise<void> => {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await copyFile(from, join(root, to));
  };
  await put(node, '/usr/local/bin/node');
  for (const library of await librariesOf(node)) await put(await realpath(library), library);
  await mkdir(join(root, 'tmp'), { mode: 0o1777 });
  await execute('tar', ['--owner=0', '--group=0', '-C', root, '-cf', out, '.']);
}

/** The loader is needed, too; the program names it by its path. */
async function librariesOf(binary: string): Promise<string[]> {
  const { stdout } = await execute('ldd', [binary]);
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!);
}

/** An OCI layout with one layer. It is not compressed, since it is read only once, on this machine. */
async function packImage(layout: string, layerFile: string, ref: string, out: string): Promise<void> {
  const blobs = join(layout, 'blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const put = async (kind: string, content: Buffer): Promise<object> => {
    const digest = createHash('sha256').update(content).digest('hex');
    await writeFile(join(blobs, digest), content);
    return { mediaType: MEDIA + kind, digest: `sha256:${digest}`, size: content.length };
  };
  const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  const layer = (await put('layer.v1.tar', await readFile(layerFile))) as { digest: string };
  const config = await put(
    'config.v1+json',
    json({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: { Env: ['PATH=/usr/local/bin:/usr/bin:/bin'], Cmd: ['node'] },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  );
  const manifest = { schemaVersion: 2, mediaType: `${MEDIA}manifest.v1+json`, config, layers: [layer] };
  const listed = {
    ...(await put('manifest.v1+json', json(manifest))),
    annotations: { 'io.containerd.image.name': ref, 'org.opencontainers.image.ref.name': ref },
  };
  const index = { schemaVersion: 2, mediaType: `${MEDIA}index.v1+json`, manifests: [listed] };
  await writeFile(join(layout, 'index.json'), json(index));
  await writeFile(join(layout, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }));
  await execute('tar', ['-C', layout, '-cf', out, 'oci-layout', 'index.json', 'blobs']);
}
