import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../cluster/run.ts';
import { eventually } from '../../support/eventually.ts';
import { SAMPLE } from '../../support/sample-operator.ts';

/** Docker, as people build and load images with it: `docker build`, and then `docker save` as `kind load docker-image` does. */
export interface Docker extends AsyncDisposable {
  /** Builds the image of the program in `context`, which is named as in the sample's Dockerfile, and saves it. */
  buildAndSave(ref: string, context: string, archive: string): Promise<void>;
}

/** A daemon of its own, without networks: what else runs on this machine stays as it is. */
export async function startDocker(): Promise<Docker> {
  await using stack = new AsyncDisposableStack();
  const scratch = await mkdtemp(join(tmpdir(), 'devloop-docker-'));
  stack.defer(() => rm(scratch, { recursive: true, force: true }));
  const host = `unix://${join(scratch, 'docker.sock')}`;
  const roots = ['--data-root', join(scratch, 'data'), '--exec-root', join(scratch, 'exec')];
  const withoutNetwork = ['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false'];
  const own = ['--host', host, '--pidfile', join(scratch, 'docker.pid'), ...roots, ...withoutNetwork];
  const daemon = spawn('dockerd', own, { stdio: 'ignore' });
  const ended = once(daemon, 'exit');
  stack.defer(async () => {
    daemon.kill('SIGTERM');
    await ended;
  });
  const docker = (...args: string[]) => run('docker', ['--host', host, ...args]);
  await eventually(() => docker('version'));
  const resources = stack.move();
  return {
    async buildAndSave(ref, context, archive) {
      await docker('build', '--quiet', '--tag', ref, context);
      await docker('save', '--output', archive, ref);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A directory for `docker build` with the last stage of the sample's Dockerfile. Its program is built outside. */
export async function createContext(parent: string): Promise<string> {
  const context = join(parent, 'context');
  await mkdir(context, { recursive: true });
  const [, last = ''] = (await readFile(join(SAMPLE, 'Dockerfile'), 'utf8')).split(/^(?=FROM scratch)/m);
  await writeFile(join(context, 'Dockerfile'), last.replace('--from=builder /workspace/', ''));
  return context;
}
