/** A directory (or file) of the container, and where its content lies on this machine. */
export interface MountedPath {
  from: string;
  to: string;
}

/**
 * Every absolute path of a value, replaced where it lies in a mounted directory: `/a/b`, `--flag=/a/b`, `/a/b,/c/d` and
 * `name=/a/b,other=/c/d`.
 */
export function rewritePaths(value: string, paths: MountedPath[]): string {
  return value
    .split(',')
    .map((part) => {
      const match = /^([^/]*=)?(\/.*)$/s.exec(part);
      return match ? (match[1] ?? '') + rewritePath(match[2]!, paths) : part;
    })
    .join(',');
}

/** The longest mount wins, and only whole path segments count: /certs is no prefix of /certs-old. */
function rewritePath(path: string, paths: MountedPath[]): string {
  let best: MountedPath | undefined;
  for (const mount of paths) {
    const from = withoutTrailingSlash(mount.from);
    const inside = path === from || path.startsWith(`${from}/`);
    if (inside && from.length > (best?.from.length ?? 0)) best = { from, to: withoutTrailingSlash(mount.to) };
  }
  return best ? best.to + path.slice(best.from.length) : path;
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}
