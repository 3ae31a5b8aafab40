#!/usr/bin/env node
// CommonJS, with a package.json of its own beside it: to start Node's loader of ES modules takes a tenth of all that
// `--version` needs. And plain old syntax, since an older Node has to get as far as the message.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `devloop needs Node 24 or newer; this is ${process.version} (${process.execPath}).\n` +
      `Get it from https://nodejs.org, or for this one time: npx -y -p node@24 node ${__filename} …\n`,
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
  // Written by the build, out of the same command tree.
  print(require('node:fs').readFileSync(require('node:path').join(__dirname, '../dist/help.txt')));
} else {
  require('node:module').enableCompileCache();
  import('../dist/main.js');
}

/** Not with process.stdout, which would first have to be built. */
function print(text) {
  try {
    require('node:fs').writeSync(1, text);
  } catch (error) {
    // Whoever read it has gone (`| head`), which is no failure; a full disk is one, but no bug either.
    if (error.code === 'EPIPE') return;
    process.stderr.write(`devloop: ${error.message}\n`);
    process.exitCode = 1;
  }
}
