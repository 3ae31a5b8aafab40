import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Has Go build as Kubernetes is built in `test/cluster`, because what the sample operator has in common with it is then compiled only once. */
export async function shareBuilds(): Promise<void> {
  const { stdout } = await promisify(execFile)('go', ['env', 'GOFLAGS']);
  const flags = stdout.split(/\s+/).filter((flag) => flag !== '' && flag !== '-trimpath');
  Object.assign(process.env, { CGO_ENABLED: '0', GOFLAGS: [...flags, '-trimpath'].join(' ') });
}
