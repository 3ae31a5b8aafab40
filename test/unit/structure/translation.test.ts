import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const CHINESE = ['README.zh-CN.md', 'docs/by-hand.zh-CN.md'];

it('has the headings, commands and code of README.md in README.zh-CN.md, which changes with it', () => {
  const translated = sectionsOf(read('README.zh-CN.md'));
  const original = sectionsOf(read('README.md'));
  expect(translated.map(({ level }) => level)).toEqual(original.map(({ level }) => level));
  for (const [index, { heading, blocks, code }] of original.entries())
    expect({ heading, ...partsOf(translated[index]!) }).toEqual({ heading, blocks, code });
});

it('links each README to the other', () => {
  expect(read('README.md')).toContain('](README.zh-CN.md)');
  expect(read('README.zh-CN.md')).toContain('](README.md)');
});

it.each(CHINESE)('%s is written with full-width punctuation, and with spaces around Latin words', (page) => {
  const text = read(page)
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
    .replaceAll('**', '');
  expect(text.match(/.{0,9}\p{Script=Han}[,.;:!?()].{0,9}/gu) ?? []).toEqual([]);
  expect(text.match(/.{0,9}(?:\p{Script=Han}[A-Za-z0-9`]|[A-Za-z0-9`]\p{Script=Han}).{0,9}/gu) ?? []).toEqual(
    [],
  );
});

interface Section {
  heading: string;
  level: number;
  /** The commands of its code blocks, whose comments are translated. */
  blocks: string[];
  /** What is marked as code in its text. The order of words differs between languages. */
  code: string[];
}

function sectionsOf(page: string): Section[] {
  const blocks: string[] = [];
  const kept = page.replaceAll(/^```.*\n([\s\S]*?)^```/gm, (_, block: string) => `\0${blocks.push(block)}\0`);
  return kept.split(/^(?=#+ )/m).map((text) => {
    const [, marks = '', heading = ''] = /^(#+) (.*)/.exec(text) ?? [];
    const own = [...text.matchAll(/\0(\d+)\0/g)].map(([, number]) => blocks[Number(number) - 1]!);
    return {
      ...{ heading, level: marks.length },
      blocks: own.map((block) => block.replaceAll(/\s+#.*$/gm, '')),
      code: [...text.matchAll(/`[^`\n]+`/g)].map(([code]) => code).sort(),
    };
  });
}

function partsOf({ blocks, code }: Section): Pick<Section, 'blocks' | 'code'> {
  return { blocks, code };
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
