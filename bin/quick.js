/** Prints the version or the help if nothing else is asked for: loading the command tree would take longer than all the rest. */
exports.quick = function quick(version, help) {
  const [, program, flag] = process.argv;
  if (process.argv.length !== 3) return false;
  if (flag === '--version' || flag === '-V') {
    print(version() + '\n');
    return true;
  }
  if ((flag === '--help' || flag === '-h') && !/kubectl-/.test(program)) {
    print(help());
    return true;
  }
  return false;
};

/** Avoids process.stdout, because constructing that stream takes time. */
function print(text) {
  try {
    require('node:fs').writeSync(1, text);
  } catch (error) {
    // A reader that is gone (`| head`) is not a failure. Any other error, such as a full disk, is one, but not a bug.
    if (error.code === 'EPIPE') return;
    process.stderr.write('devloop: ' + error.message + '\n');
    process.exitCode = 1;
  }
}
