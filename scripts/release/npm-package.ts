import { execFileSync } from 'node:child_process';
import type { Step } from './step.ts';

/** What `npm install --global FILE` takes. npm gives all files of a package the same time, so the same content gives the same bytes. */
export const npmPackage: Step = {
  name: 'npm package',
  run({ root, out }) {
    // dist/ is built.
    const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out];
    execFileSync('npm', pack, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  },
};
