#!/usr/bin/env node
import { writeSync } from 'node:fs';

// Plain old syntax up to the version check: an older Node has to get as far as the message.
var major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    'devloop needs Node 24 or newer; this is ' +
      process.version +
      ' (' +
      process.execPath +
      ').\n' +
      'Install a newer one, or run it once with: npx -y -p node@24 -p kube-devloop devloop\n',
  );
  process.exit(2);
}
if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  import('../dist/version.js').then((m) => {
    // process.stdout would first have to be built, which takes as long as all the rest.
    writeSync(1, `${m.version}\n`);
  });
} else {
  import('node:module').then((m) => {
    m.enableCompileCache();
    return import('../dist/main.js');
  });
}
