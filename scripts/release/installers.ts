import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TEMPLATES = join(import.meta.dirname, '../../release');

/** What install.sh knows about its release. */
export interface Known {
  version: string;
  /** The line of the `.pub` file of the key that signs, without its comment; empty without one. */
  publicKey: string;
  /** Where the files will be published; empty if that is not known. */
  url: string;
}

const ALLOWED: Record<keyof Known, RegExp> = {
  version: /^[\w.+-]+$/,
  publicKey: /^(?:[\w@.-]+ [\w+/=]+)?$/,
  url: /^(?:https:\/\/[\w.~:/@%+-]+)?$/,
};

/** Writes install.sh and uninstall.sh. */
export function writeInstallers(out: string, known: Known): void {
  for (const [name, allowed] of Object.entries(ALLOWED)) {
    const value = known[name as keyof Known];
    if (!allowed.test(value))
      throw new Error(`this cannot be written into a shell script as ${name}: ${value}`);
  }
  for (const name of ['install.sh', 'uninstall.sh']) {
    const text = readFileSync(join(TEMPLATES, name), 'utf8')
      .replace('@VERSION@', known.version)
      .replace('@PUBLIC_KEY@', known.publicKey)
      .replace('@RELEASE_URL@', known.url);
    writeFileSync(join(out, name), text);
    chmodSync(join(out, name), 0o755);
  }
}
