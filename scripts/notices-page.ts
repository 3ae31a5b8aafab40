import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Field, parseFields, parseInterface, prose } from './type-docs.ts';

export interface NoticeDoc {
  code: string;
  level: string;
  about: string;
  fields: Field[];
}

/** The notes and warnings that the files of a directory describe, by their codes. */
export function readNotices(directory: string): NoticeDoc[] {
  const sources = readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'));
  return sources.flatMap(parseNotices).sort((a, b) => (a.code < b.code ? -1 : 1));
}

/** Each entry is a comment, a code, and `note<VALUES>(` or `warning<VALUES>(`; VALUES is an object or the name of an interface. */
export function parseNotices(source: string): NoticeDoc[] {
  const entries = source.matchAll(
    /\/\*\*(?<about>(?:(?!\*\/).)*)\*\/\n {2}'(?<code>[^']+)': (?<level>note|warning)(?:<(?<values>.*?)>)?\(/gs,
  );
  return [...entries].map(({ groups: { about = '', code = '', level = '', values = '' } = {} }) => {
    const fields = values.startsWith('{') ? parseFields(values.slice(1, -1)) : parseInterface(source, values);
    return { code, level, about: prose(about), fields };
  });
}
