/** `[user@]host[:port]`, as a user writes it after `ssh:`. */
import { DevloopError } from '../../errors.ts';

export interface Destination {
  user?: string;
  /** A name, an alias of ssh_config or an address, without brackets. */
  host: string;
  port?: number;
}

/** Parses a destination. Throws `usage.invalid` if it is malformed. An IPv6 address needs brackets. */
export function parseDestination(text: string): Destination {
  const at = text.lastIndexOf('@');
  const user = at < 0 ? undefined : text.slice(0, at);
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text.slice(at + 1)) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || !isName(host) || (user !== undefined && !isName(user)) || Number(port) > 65_535) {
    throw new DevloopError('usage.invalid', `"${text}" is not an SSH destination.`, {
      hint: 'Write [user@]host[:port], with an IPv6 address in brackets: ssh:dev@bastion.example.com, ssh:[2001:db8::1]:2222.',
    });
  }
  return { ...(user && { user }), host, ...(port && { port: Number(port) }) };
}

/** Formats a destination: `dev@host`, `dev@host:2222`, `dev@[2001:db8::1]:2222`. */
export function formatDestination(user: string, host: string, port: number): string {
  return `${user}@${port === 22 ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`}`;
}

/** ssh would take a name with a leading dash for an option. Names contain no white space and no control characters. */
function isName(text: string): boolean {
  return text !== '' && !text.startsWith('-') && !/[\s\p{Cc}]/u.test(text);
}
