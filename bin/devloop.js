#!/usr/bin/env node
// This file is CommonJS (hence the package.json next to it), because loading an ES module takes a tenth of the time of `--version`.
// Its syntax is old, so that an old Node can print the message below.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `devloop needs Node 24 or newer; this is ${process.version} (${process.execPath}).\n` +
      `Install it from https://nodejs.org, or run devloop once with: npx -y -p node@24 node ${__filename} …\n`,
  );
  process.exit(2);
}
if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  print(`${require('../package.json').version}\n`);
} else if (
  process.argv.length === 3 &&
  /^(--help|-h)$/.test(process.argv[2]) &&
  !/kubectl-/.test(process.argv[1])
) {
  // The build writes this file from the same command tree.
  print(require('node:fs').readFileSync(require('node:path').join(__dirname, '../dist/help.txt')));
} else {
  require('node:module').enableCompileCache();
  import('../dist/main.js');
}

/** Avoids process.stdout, because constructing that stream takes time. */
function print(text) {
  try {
    require('node:fs').writeSync(1, text);
  } catch (error) {
    // A reader that is gone (`| head`) is not a failure. Any other error, such as a full disk, is one, but not a bug.
    if (error.code === 'EPIPE') return;
    process.stderr.write(`devloop: ${error.message}\n`);
    process.exitCode = 1;
  }
}
