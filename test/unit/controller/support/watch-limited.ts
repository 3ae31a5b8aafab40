/** Watches a directory, prints what could not be watched, and exits. */
import { watchSources } from '../../../../src/controller/watch/watch.ts';

const [directory = ''] = process.argv.slice(2);
const errors: (string | undefined)[][] = [];
await using _watcher = await watchSources({
  cwd: directory,
  target: { paths: [directory] },
  sinceMs: Number.POSITIVE_INFINITY,
  isOfBuild: () => false,
  signal: new AbortController().signal,
  onChange() {},
  onError: (...error) => void errors.push(error),
});
console.log(JSON.stringify(errors));
