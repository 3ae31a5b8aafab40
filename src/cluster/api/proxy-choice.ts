import { BlockList, isIP, isIPv4, isIPv6, SocketAddress } from 'node:net';

type Env = Record<string, string | undefined>;

const KUBECONFIG_SCHEMES = ['http:', 'https:', 'socks5:'];

/** As in kubectl, the proxy of the kubeconfig is used for every server, and that of the environment for some. */
export function proxyFor({ proxyUrl }: { proxyUrl: string }, server: string, env: Env): URL | undefined {
  return proxyUrl === '' ? proxyFromEnvironment(new URL(server), env) : proxyUrlOf(proxyUrl);
}

/** The proxy-url of a kubeconfig; undefined if kubectl refuses it. */
export function proxyUrlOf(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && KUBECONFIG_SCHEMES.includes(url.protocol) ? url : undefined;
}

/**
 * The proxy that the environment names for a server, by the rules of Go, which differ from Node's and curl's. Throws if Go refuses to use it.
 */
function proxyFromEnvironment(server: URL, env: Env): URL | undefined {
  const isPlain = server.protocol === 'http:';
  const text = isPlain ? firstOf(env, 'HTTP_PROXY') : firstOf(env, 'HTTPS_PROXY');
  if (text === '') return undefined;
  const proxy = parsed(text);
  if (proxy === undefined) throw new Error(`${isPlain ? 'HTTP_PROXY' : 'HTTPS_PROXY'} is not a URL`);
  // In a CGI program, the variable comes from the header `Proxy` of the request.
  if (isPlain && env.REQUEST_METHOD) throw new Error('HTTP_PROXY is not used in a CGI program');
  return isExcluded(server, firstOf(env, 'NO_PROXY')) ? undefined : proxy;
}

function firstOf(env: Env, name: string): string {
  return env[name] || env[name.toLowerCase()] || '';
}

/** Go adds a scheme if there is none. */
function parsed(text: string): URL | undefined {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(text);
  const url = hasScheme ? text : `http://${text}`;
  return URL.canParse(url) ? new URL(url) : undefined;
}

function isExcluded(server: URL, list: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || isLoopback(host)) return true;
  const port = server.port || (server.protocol === 'http:' ? '80' : '443');
  const entries = list.split(',').map((entry) => entry.trim().toLowerCase());
  return entries.some((entry) => entry === '*' || (entry !== '' && fits(entry, host, port)));
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function isLoopback(host: string): boolean {
  return isIP(host) !== 0 && LOOPBACK.check(host, isIPv4(host) ? 'ipv4' : 'ipv6');
}

/** An entry is a network, an address or a domain, the last two perhaps with a port. */
function fits(entry: string, host: string, port: string): boolean {
  const network = networkOf(entry);
  if (network) return isIP(host) !== 0 && network.check(host, isIPv4(host) ? 'ipv4' : 'ipv6');
  const { name, wanted } = split(entry);
  if (name === '' || (wanted !== '' && wanted !== port)) return false;
  if (isIP(name) !== 0) return isIP(host) !== 0 && same(name, host);
  return isIP(host) === 0 && isInDomain(host, name);
}

function networkOf(entry: string): BlockList | undefined {
  const [, address, bits] = /^([^/]+)\/(\d+)$/.exec(entry) ?? [];
  if (address === undefined || isIP(address) === 0) return undefined;
  if (Number(bits) > (isIPv6(address) ? 128 : 32)) return undefined;
  const network = new BlockList();
  network.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  return network;
}

function split(entry: string): { name: string; wanted: string } {
  const [, name = '', wanted = ''] = /^(\[.*\]|[^:]*):([^:]*)$/.exec(entry) ?? [];
  return name === ''
    ? { name: entry.startsWith(':') && isIP(entry) === 0 ? '' : entry, wanted: '' }
    : { name: name.replace(/^\[|\]$/g, ''), wanted };
}

function same(one: string, other: string): boolean {
  const block = new BlockList();
  block.addAddress(one, isIPv6(one) ? 'ipv6' : 'ipv4');
  return block.check(new SocketAddress({ address: other, family: isIPv6(other) ? 'ipv6' : 'ipv4' }));
}

/** `a.b` fits itself and everything below it; `.a.b` and `*.a.b` only what is below it. */
function isInDomain(host: string, name: string): boolean {
  const domain = ascii(name.startsWith('*.') ? name.slice(1) : name);
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function ascii(domain: string): string {
  if (/^[\0-\x7f]*$/.test(domain)) return domain;
  const dot = domain.startsWith('.') ? '.' : '';
  const url = `http://${domain.slice(dot.length)}`;
  return URL.canParse(url) ? dot + new URL(url).hostname : domain;
}
