// A stamp is a file next to a build result that contains the hash of its inputs. If the hash is unchanged, the result is up to date.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Hashes content instead of times, because a checkout gives every file a new time. */
export function hashOf(root, paths, ...rest) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((path) => filesBelow(root, path)).sort()) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0');
  }
  return hash.update(rest.join('\0')).digest('hex');
}

export function hasStamp(file, hash) {
  try {
    return readFileSync(file, 'utf8') === hash;
  } catch {
    return false;
  }
}

export function writeStamp(file, hash) {
  writeFileSync(file, hash);
}

function filesBelow(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => filesBelow(root, `${path}/${name}`));
}
