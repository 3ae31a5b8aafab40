/** A loop, because an expression such as `/\/+$/` takes quadratic time where other characters follow the slashes. */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** Compares whole segments: /certs-old is not below /certs. */
export function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
