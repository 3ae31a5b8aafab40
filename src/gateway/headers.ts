/** They concern one connection only. Forwarding the client's `Connection: close` would also cost the pool to the controller. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Bodies are held whole: their length is set anew, and nobody waits for a 100.
  'content-length',
  'expect',
]);

/** The headers of a request or answer that go on to the other side, as name and value in turn. */
export function forwardable(rawHeaders: string[]): string[] {
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ''] as const] : [],
  );
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(','))
    .map((name) => name.trim().toLowerCase());
  return pairs.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    return HOP_BY_HOP.has(lower) || named.includes(lower) ? [] : [name, value];
  });
}
