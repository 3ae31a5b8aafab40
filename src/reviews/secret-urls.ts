/** Finds passwords in URLs and in the data source names of Go's MySQL driver, whatever characters they contain. */

/** Other schemes, such as those of databases, seldom have an `@` after the host. */
const WEB = /(?:^|[^a-z])(?:https?|wss?|ftp|oci|grpc|ssh|git)$/i;
const LONGEST_SCHEME = 20;
/** A port and what follows it, in `https://host:8443/path`, or in a list of URLs. */
const PORT = /^\d{1,5}(?:[/?#]|,[a-z][a-z\d+.-]{0,20}:\/\/)/i;
/** What follows the password in `user:password@tcp(host:3306)/name` and `user:password@/name`. */
const AFTER_PASSWORD = /@(?=[a-z][a-z\d]{0,20}\(|\/)/gi;

/** A password extends to the last `@`, so more than the password may be hidden. */
export function hideInUrls(text: string, hide: (secret: string) => string): string {
  if (!text.includes('@')) return text;
  return text.replaceAll(/[^\s"'`]+/g, (token) => {
    const last = token.lastIndexOf('@');
    if (last < 0) return token;
    const [from, to] = (token.includes('://') ? passwordInUrl(token, last) : passwordInName(token)) ?? [];
    return from === undefined ? token : token.slice(0, from) + hide(token.slice(from, to)) + token.slice(to);
  });
}

function passwordInUrl(token: string, last: number): [number, number] | undefined {
  // Each is looked for once, because a token can have very many URLs.
  const more = Math.max(token.lastIndexOf('?', last), token.lastIndexOf(',', last));
  for (let at = token.indexOf('://'); at >= 0 && at < last; at = token.indexOf('://', at + 3)) {
    // An address in brackets has colons of its own.
    const user = /[^/@:?#[]*/y;
    user.lastIndex = at + 3;
    user.exec(token);
    const end = user.lastIndex;
    if (token[end] !== ':' || end + 1 >= last) continue;
    const isWeb = WEB.test(token.slice(Math.max(0, at - LONGEST_SCHEME), at));
    const isPort = PORT.test(token.slice(end + 1, Math.min(last, end + 40))) && (isWeb || more > end);
    if (!isPort) return [end + 1, last];
  }
  return undefined;
}

function passwordInName(token: string): [number, number] | undefined {
  const begin = /^[\w.-]+=/.exec(token)?.[0].length ?? 0;
  const colon = token.indexOf(':', begin);
  const end = [...token.matchAll(AFTER_PASSWORD)].at(-1)?.index ?? -1;
  return colon > begin && end > colon + 1 ? [colon + 1, end] : undefined;
}
