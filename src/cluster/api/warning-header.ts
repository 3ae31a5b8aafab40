/** One warning of an answer. */
export interface HeaderWarning {
  /** As it was sent. */
  whole: string;
  code: string;
  text: string;
}

/** The code, who says it, and the text, in which quotes and backslashes are escaped (RFC 7234, 5.5). */
const WARNING = /(\d{3}) \S+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/g;

/** The warnings in headers like `299 - "text"`, of which one can contain several. */
export function warningsIn(headers: string[]): HeaderWarning[] {
  return headers.flatMap((header) =>
    [...header.matchAll(WARNING)].map(([whole, code, quoted]) => ({
      ...{ whole, code: code! },
      // Node reads the bytes of a header as Latin-1, and kube-apiserver writes UTF-8.
      text: Buffer.from(quoted!.replaceAll(/\\(.)/g, '$1'), 'latin1').toString('utf8'),
    })),
  );
}
