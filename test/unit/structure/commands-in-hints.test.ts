import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** Where a command begins in a text. If a verb follows, the text is a sentence about it. */
const COMMAND =
  /(?<![\w./-])(?:kubectl(?= )(?! (?:refuses|reads|is|was|has|does)\b)|devloop (?:up|down|certs|hold|release|reviews|doctor|status|init)\b(?!`? (?:would|runs|is)\b|\\?`)|sudo |ssh(?:-keygen)? (?=-|\$\{)|kill |echo |export (?=\w+=)|(?:cd|helm template) (?=\$\{)|(?:rm|ls|make) (?=-))|\$\{AGAIN\}/;
const EXPRESSION = /\$\{((?:[^{}`]|\{[^{}]*\}|`[^`]*`)*)\}/g;
/** What quotes its values itself, and what is devloop's own: constants, numbers, kinds and verbs. */
const SAFE =
  /^(?:AGAIN|[A-Z_]+|shell(?:Word|Quoted)\(.*\)|\w+ === undefined \? '' : ` -n \$\{shellWord\(\w+\)\}`|\w+ \? `-n \$\{shellWord\(\w+\)\} ` : ''|(?:\w+\.|\w+\?\.)*(?:port|pid|id)(?: \+ 1)?|.*toLowerCase\(\)|.*plural(?:\)\.join\(','\))?|verb|action|flag|resource|quoted|where|from|count|kubectl|get|.*\.map\(shellWord\)\.join\(' '\)|networks\.join\(' '\)|all\.join\(' '\)|flagsFor\(.*\)|flagValue\(\w+\)|resourceOf\(.*\)|shortType\(key\)|sshArguments\(host\)|back|pass|again|ignoring|program|manager\.install)$/;

/** The values in the commands of a source that are not quoted for a shell. */
function unquoted(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const command = /^\s*(?:\*|\/\/|\/\*)/.test(line) || !line.includes('`') ? null : COMMAND.exec(line);
    if (command === null) return [];
    const values = [...line.slice(command.index).matchAll(EXPRESSION)].map(([, value]) => value!);
    return values.filter((value) => !SAFE.test(value));
  });
}

it('has no command for the user in which a name or value is not quoted for the shell', () => {
  const files = globSync('src/**/*.ts', { cwd: ROOT });
  const found = files.flatMap((file) =>
    unquoted(readFileSync(join(ROOT, file), 'utf8')).map((value) => `${file}: ${value}`),
  );
  expect(files.length).toBeGreaterThan(300);
  expect(found).toEqual([]);
});

it('sees what it forbids', () => {
  const hint = (text: string) => `hint: \`${text}\``;
  expect(unquoted(hint('kubectl -n $' + '{namespace} get pods'))).toEqual(['namespace']);
  expect(unquoted(hint("Check: kubectl patch x -p '$" + "{patch}'"))).toEqual(['patch']);
  expect(unquoted(hint('For kubectl: export KUBECONFIG=$' + '{file}'))).toEqual(['file']);
  expect(unquoted(hint('helm template $' + '{chart}'))).toEqual(['chart']);
  expect(unquoted(hint('$' + '{AGAIN} --service $' + '{one}'))).toEqual(['one']);
  expect(unquoted(hint('$' + '{name}: kubectl get $' + '{shellWord(name)}'))).toEqual([]);
  expect(unquoted(hint('devloop up would restore $' + '{what}'))).toEqual([]);
});
