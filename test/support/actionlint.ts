import { join } from 'node:path';
import { cached } from '../cluster/cache.ts';
import { run } from '../cluster/run.ts';

const VERSION = 'v1.7.12';

/** What checks the workflows of GitHub, which is built unless an earlier run has built it. */
export async function actionlint(): Promise<string> {
  const directory = await cached('actionlint', VERSION, async (part) => {
    await run('go', ['install', `github.com/rhysd/actionlint/cmd/actionlint@${VERSION}`], {
      env: { GOBIN: part, CGO_ENABLED: '0' },
    });
  });
  return join(directory, 'actionlint');
}
