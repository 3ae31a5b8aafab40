#!/usr/bin/env node
// This file is CommonJS (hence the package.json next to it), because loading an ES module takes a tenth of the time of `--version`.
// Its syntax is old, so that an old Node can run it: devloop itself runs on a newer one, which npm installs with it (docs/adr/0015).
const MAJOR = 24;
const PACKAGES = [
  'node-' + process.platform + '-' + process.arch,
  'node-bin-' + process.platform + '-' + process.arch,
];

// The build writes the help from the same command tree.
const help = () => require('node:fs').readFileSync(require('node:path').join(__dirname, '../dist/help.txt'));

if (!require('./quick.js').quick(() => require('../package.json').version, help)) {
  if (Number(process.versions.node.split('.')[0]) >= MAJOR) {
    const cache = compileCache();
    if (cache !== undefined) require('node:module').enableCompileCache(cache);
    import('../dist/main.js');
  } else {
    startNewer();
  }
}

/**
 * Where Node keeps the compiled code of this program; undefined if somebody else could write there, since Node runs what it finds. By
 * default, Node takes a directory in /tmp, which any user can create first. The rules are those of src/machine/own-files.ts, which is not
 * loaded yet: what exists is checked before anything is created, so that root creates nothing in the home of somebody else.
 */
function compileCache() {
  const { mkdirSync, realpathSync } = require('node:fs');
  const { isAbsolute, join } = require('node:path');
  try {
    const home = realpathSync(require('node:os').homedir());
    const named = process.env.XDG_CACHE_HOME;
    // A home or a cache directory that does not exist is not created, but ~/.cache is.
    const [base, below] =
      named && isAbsolute(named)
        ? [realpathSync(named), ['devloop', 'compile-cache']]
        : [home, ['.cache', 'devloop', 'compile-cache']];
    let directory = base;
    if (!isOwn(directory, true)) return undefined;
    for (const name of below) {
      directory = join(directory, name);
      try {
        mkdirSync(directory, { mode: 0o700 });
      } catch (error) {
        if (error.code !== 'EEXIST') return undefined;
        directory = realpathSync(directory);
      }
      if (!isOwn(directory, name !== 'compile-cache')) return undefined;
    }
    return directory;
  } catch {
    return undefined;
  }
}

/** Whether only this user and the administrator can change what is in the directory or above it. Files in a sticky directory are safe. */
function isOwn(directory, maySticky) {
  const { lstatSync } = require('node:fs');
  const { dirname } = require('node:path');
  const user = process.getuid ? process.getuid() : undefined;
  if (user === undefined) return true;
  const trusted = [user, 0, lstatSync('/').uid];
  for (let at = directory; ; at = dirname(at)) {
    const { uid, gid, mode } = lstatSync(at);
    const isSticky = (maySticky || at !== directory) && (mode & 0o1000) !== 0;
    const isShared = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== user && gid !== 0);
    if (!trusted.includes(uid) || (isShared && !isSticky)) return false;
    if (at === dirname(at)) return true;
  }
}

/** Runs the same command on the Node that was installed with devloop, and ends as it does. */
function startNewer() {
  const node = installedNode();
  if (node === undefined) {
    process.stderr.write(
      `devloop needs Node ${MAJOR} or newer; this is ${process.version} (${process.execPath}), and npm has not installed one with devloop.\n` +
        `Install it from https://nodejs.org, or run devloop once with: npx -y -p node@${MAJOR} node ${__filename} …\n`,
    );
    process.exit(2);
  }
  const child = require('node:child_process').spawn(node, process.argv.slice(1), {
    // The IPC channel closes when this process ends, however it ends. The child then restores the cluster, as after Ctrl-C.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // A terminal sends Ctrl-C to both; devloop counts signals that arrive together as one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`devloop: ${node} does not start: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) =>
    process.exit(code === null ? 128 + require('node:os').constants.signals[signal] : code),
  );
}

function installedNode() {
  for (const name of PACKAGES) {
    try {
      if (Number(require(`${name}/package.json`).version.split('.')[0]) >= MAJOR)
        return require.resolve(`${name}/bin/node`);
    } catch {
      // npm did not install the package: it does not exist for this platform, or the user left it out.
    }
  }
  return undefined;
}
