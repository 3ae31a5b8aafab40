/** Whether HTTP allows this as the value of a header. */
export function isText(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what HTTP forbids.
  return !/[\0-\x08\x0a-\x1f\x7f]/.test(value);
}

/** Node writes each character of a header as one byte; client-go sends UTF-8. */
export function headerValue(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

const TOKEN = /^[A-Za-z0-9!#$&'*+\-.^_`|~]$/;

/** Escapes what is not allowed in the name of a header, byte by byte, as client-go does for `Impersonate-Extra-…`. */
export function headerName(name: string): string {
  return [...Buffer.from(name, 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return TOKEN.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
