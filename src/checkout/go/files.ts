import type { Checkout } from '../files.ts';
import { type GoReader, goReader, isWritten } from './reader/parser.ts';
import { type GoSource, goSource } from './sources.ts';

/** The Go files of a checkout. Each is parsed once, and no further than somebody asks. */
export class GoFiles {
  readonly #checkout: Checkout;
  readonly #reader: GoReader;
  readonly #whole = new Map<string, GoSource>();
  readonly #headers = new Map<string, GoSource>();

  constructor(checkout: Checkout, reader: GoReader) {
    this.#checkout = checkout;
    this.#reader = reader;
  }

  /** A file that is wanted, or was before, or else only its header. Of generated files, few are. */
  source(path: string, isWanted: (text: string) => boolean = isWritten): GoSource {
    const whole = this.#whole.get(path);
    if (whole !== undefined) return whole;
    const text = this.#checkout.text(path);
    const [all, read] = isWanted(text)
      ? [this.#whole, this.#reader.whole]
      : [this.#headers, this.#reader.header];
    const source = all.get(path) ?? goSource(path, read(text));
    all.set(path, source);
    return source;
  }

  /** The header of a file. */
  header(path: string): GoSource {
    return this.source(path, () => false);
  }
}

/** Loads the parser when it is called for the first time. */
export function goFiles(checkout: Checkout): Promise<GoFiles> {
  return checkout.once(openFiles);
}

async function openFiles(checkout: Checkout): Promise<GoFiles> {
  return new GoFiles(checkout, await goReader());
}
