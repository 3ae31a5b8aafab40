/** Asks the API server who it is, as every command of devloop connects to it. `node probe.ts [--context X] [--kubeconfig X]` */
import { isatty } from 'node:tty';
import { parseArgs } from 'node:util';
import { accountOf } from '../../../src/cluster/api/account.ts';
import { connect } from '../../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { DevloopError } from '../../../src/errors.ts';

const { values } = parseArgs({ options: { context: { type: 'string' }, kubeconfig: { type: 'string' } } });

try {
  const host = isatty(0)
    ? {
        terminal:
          () =>
          <T>(work: () => Promise<T>) =>
            work(),
      }
    : {};
  const api = await connect(await loadKubeconfig(values, process.env, process.cwd()), host);
  console.log(JSON.stringify(await accountOf(api)));
  process.exit(0);
} catch (error) {
  console.error(error instanceof DevloopError ? `${error.code}: ${error.message}` : error);
  process.exit(1);
}
