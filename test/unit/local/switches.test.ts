import { expect, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { checkoutFacts } from '../../../src/languages.ts';
import type { Rule } from '../../../src/local/rules.ts';
import { directoryWith } from '../controller/support/places.ts';
import { madeLocal } from './support/made-local.ts';

const SOURCE = `package main

import "flag"

func main() {
	flag.Bool("tracing", false, "")
	flag.String("tracing-mode", "", "")
	flag.Bool("leader-elect", false, "")
	flag.String("leader-election", "", "")
	flag.Parse()
}
`;

/** Turns tracing off. */
const UNTRACED: Rule = {
  name: 'tracing',
  looksFor: ({ words }) => /^_tracing/.test(words),
  becomes: ({ value }) => ({ true: 'false', on: 'off' })[value],
  because: () => 'it is not wanted',
};

test.each([
  ['a switch', '--tracing serve', '--tracing=false serve'],
  ['a switch before a word that could be its value', '--tracing true', '--tracing=false true'],
  ['a switch with a value', '--tracing=true serve', '--tracing=false serve'],
  ['a flag with a value', '--tracing-mode on serve', '--tracing-mode off serve'],
])('a rule finds the value of %s', async (_, args, expected) => {
  expect(await made(args, [UNTRACED])).toBe(expected);
});

test.each([
  ['a switch of Go', '--leader-elect true', '--leader-elect=false true'],
  ['a flag that takes a word', '--leader-election enabled', '--leader-election disabled'],
  ['a flag of a library', '--enable-leader-election true', '--enable-leader-election=false'],
])('leader election is turned off: by %s', async (_, args, expected) => {
  expect(await made(args)).toBe(expected);
});

async function made(args: string, rules?: Rule[]): Promise<string> {
  const root = await directoryWith({ 'go.mod': 'module example.com/shop\n', 'main.go': SOURCE });
  const { flags } = await checkoutFacts(new Checkout(root));
  const known = { flags, ...(rules && { rules }) };
  return (await madeLocal({ args: args.split(' ') }, {}, known)).args.join(' ');
}
