/** The few words of ASN.1's DER that a certificate is written in. Pure. */

/** A value behind its tag and length. */
export function tagged(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(body)]), body]);
}

function lengthOf({ length }: Buffer): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

export function sequence(...content: Buffer[]): Buffer {
  return tagged(0x30, ...content);
}

export function set(...content: Buffer[]): Buffer {
  return tagged(0x31, ...content);
}

/** Of big-endian bytes; a first one of 0x80 or more would make it negative. */
export function integer(...bytes: number[]): Buffer {
  return tagged(0x02, Buffer.from(bytes));
}

export function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

export function octets(content: Buffer): Buffer {
  return tagged(0x04, content);
}

/** `unused` bits at the end of the last byte do not count. */
export function bits(content: Buffer, unused = 0): Buffer {
  return tagged(0x03, Buffer.from([unused]), content);
}

export function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text, 'utf8'));
}

/** `1.2.840.10045.4.3.2` */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...others.flatMap(base128)]));
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) groups.unshift((rest & 0x7f) | 0x80);
  return groups;
}

/** X.509 writes the years before 2050 with two digits. */
export function time(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(text.slice(2)))
    : tagged(0x18, Buffer.from(text));
}
