import { expect, test } from 'vitest';
import { commandWords } from '../../../src/checkout/go/commands.ts';
import { withFlags } from '../../../src/local/flag-place.ts';
import { sourcesOf } from '../../support/go-sources.ts';

const COMMANDS = new Set(['run', 'webhook']);

test.each([
  ['nothing else', '', '+'],
  ['flags alone', '--a=1 --b', '+ --a=1 --b'],
  ['a command', 'run --a', 'run + --a'],
  ['two commands', 'run webhook --a', 'run webhook + --a'],
  ['a command and a word that is none', 'run thing --a', 'run + thing --a'],
  ['a command alone', 'run', 'run +'],
  ['a word behind flags', '--a 1 thing', '+ --a 1 thing'],
  ['words that are not known, and flags', 'operator start --a', 'operator start + --a'],
  ['a word that could be a command of a library', 'operator', 'operator +'],
  ['a path', '/etc/shop/config.yaml', '+ /etc/shop/config.yaml'],
  ['a path behind what could be a command', 'operator config.yaml', 'operator + config.yaml'],
  ['the end of all flags', '-- thing', '+ -- thing'],
  ['the end of all flags behind a path', 'a.yaml -- thing', '+ a.yaml -- thing'],
])('a flag is added where the program reads it: %s', (_, words, expected) => {
  expect(withFlags(words.split(' ').filter(Boolean), ['+'], COMMANDS).join(' ')).toBe(expected);
});

test.each([
  ['cobra', '&cobra.Command{\n\tUse:   "run [flags]",\n}', 'run'],
  ['urfave/cli', '&cli.Command{\n\tName: "run",\n\tAction: run,\n}', 'run'],
  ["Go's flag package", 'flag.NewFlagSet("run", flag.ExitOnError)', 'run'],
  ['a switch', 'switch os.Args[1] {\ncase "run":', 'run'],
  ['a comparison', 'if len(os.Args) > 1 && os.Args[1] == "run" {', 'run'],
])('sources name a command: %s', (_, text, expected) => {
  expect([...commandWords(sourcesOf({ 'main.go': text }))]).toEqual([expected]);
});
