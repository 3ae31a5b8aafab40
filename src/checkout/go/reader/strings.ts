const SIMPLE: Record<string, number> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g;

/** The value of a literal string. */
export function writtenValue(text: string): string {
  return stringValue(text.slice(1, -1), text.startsWith('`'));
}

function stringValue(written: string, isRaw: boolean): string {
  if (isRaw) return written.includes('\r') ? written.replaceAll('\r', '') : written;
  if (!written.includes('\\')) return written;
  // `\x` and octal escapes are bytes: several can make one character.
  const parts: Buffer[] = [];
  let from = 0;
  for (const match of written.matchAll(ESCAPE)) {
    parts.push(Buffer.from(written.slice(from, match.index)), escaped(match));
    from = match.index + match[0].length;
  }
  return Buffer.concat([...parts, Buffer.from(written.slice(from))]).toString('utf8');
}

function escaped([, hex, octal, short, long, other = '']: RegExpExecArray): Buffer {
  if (hex !== undefined) return Buffer.of(Number.parseInt(hex, 16));
  if (octal !== undefined) return Buffer.of(Number.parseInt(octal, 8));
  const point = short ?? long;
  if (point === undefined) return other in SIMPLE ? Buffer.of(SIMPLE[other]!) : Buffer.from(other);
  const code = Number.parseInt(point, 16);
  return Buffer.from(String.fromCodePoint(code <= 0x10ffff ? code : 0xfffd));
}
