import type { GoModule } from '../../src/checkout/go/go-mod.ts';
import { goReader } from '../../src/checkout/go/reader/parser.ts';
import { type GoSources, goSource, goSources } from '../../src/checkout/go/sources.ts';

const reader = await goReader();

/** Go sources: path -> text. */
export function sourcesOf(files: Record<string, string>, modules: GoModule[] = []): GoSources {
  return goSources(
    Object.entries(files).map(([path, text]) => goSource(path, reader.file(text))),
    modules,
  );
}
