import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mayLeaveElectionOn } from '../../../../src/checkout/election-switch.ts';
import type { CheckoutFacts } from '../../../../src/checkout/facts.ts';
import { Checkout } from '../../../../src/checkout/files.ts';
import { isKubeconfigFlag } from '../../../../src/checkout/flags.ts';
import { type FoundMain, findMainPackage, type MainHints } from '../../../../src/checkout/go/main-package.ts';
import { findWebhookSetups, type WebhookSetup } from '../../../../src/checkout/go/webhook-setup.ts';
import { flagsBelow } from '../../../../src/checkout/path-flags.ts';
import { checkoutFacts } from '../../../../src/languages.ts';

/** Small checkouts, each with what is to be found in it. The sources are our own; their forms are those of operators in use. */
const CORPUS = join(import.meta.dirname, '../../../fixtures/go-sources');

interface Expected {
  paths?: string[];
  /** Ends of paths that must not be found. */
  noPaths?: string[];
  names?: string[];
  noNames?: string[];
  /** The flags whose default is at or below `wanted`. */
  flagsBelow?: string[];
  wanted?: string;
  addresses?: string[];
  commandOf?: Record<string, string>;
  electionFlags?: string[];
  electionVariables?: string[];
  besideProgram?: string[];
  commandNames?: string[];
  kubeconfigFlags?: number;
  clientCertificates?: boolean;
  kubeconfigVariable?: boolean;
  connectsFromPod?: boolean;
  declaresWebhooks?: boolean;
  /** Its main package, with these clues of the cluster, and what distinguishes it. */
  main?: Pick<FoundMain, 'package' | 'runAs' | 'hasWebhooks'> & { hints: MainHints; says: string[] };
  /** How the webhooks of these paths are registered. */
  setups?: (Pick<WebhookSetup, 'packageName' | 'calls' | 'schemes' | 'imports'> & { paths: string[] })[];
}

type Facts = Omit<Expected, 'setups' | 'main'>;

const ADDRESS = /^(?:\S*:)?\d{2,5}$/;

/** What the facts say about everything that is expected. */
function foundIn(facts: CheckoutFacts, { wanted = '/', ...expected }: Facts): Facts {
  const { paths, quoted, flags } = facts;
  const among = (all: Iterable<string>, some: string[] = []) => some.filter((one) => [...all].includes(one));
  const endings = (all: Iterable<string>, ends: string[] = []) =>
    ends.filter((end) => [...all].some((one) => one.endsWith(end)));
  const addresses = flags.filter(({ by, value }) => by === 'call' && ADDRESS.test(`${value}`));
  const found: Required<Omit<Facts, 'wanted'>> = {
    ...{ paths: among(paths, expected.paths), noPaths: endings(paths, expected.noPaths) },
    ...{ names: among(quoted, expected.names), noNames: endings(quoted, expected.noNames) },
    flagsBelow: [...flagsBelow(flags, wanted).values()].flatMap((same) => [...same.keys()]).sort(),
    addresses: addresses.map(({ flag, value }) => `--${flag}=${value}`).sort(),
    commandOf: Object.fromEntries(
      addresses.flatMap(({ flag, command }) => (command ? [[flag, command]] : [])),
    ),
    electionFlags: flags
      .filter(mayLeaveElectionOn)
      .map(({ flag }) => flag)
      .sort(),
    electionVariables: [...facts.electionVariables].sort(),
    besideProgram: [...facts.besideProgram],
    commandNames: among(facts.commandNames, expected.commandNames),
    kubeconfigFlags: flags.filter(isKubeconfigFlag).length,
    clientCertificates: facts.clientCertificates !== undefined,
    ...{ kubeconfigVariable: facts.kubeconfigVariable, connectsFromPod: facts.connectsFromPod },
    declaresWebhooks: facts.declaresWebhooks,
  };
  return Object.fromEntries(Object.entries(found).filter(([key]) => key in expected));
}

/** What is not to be found is written down in the same list as what is not found. */
function normalized({ wanted: _, ...expected }: Facts): Facts {
  const sorted = ['flagsBelow', 'addresses', 'electionFlags', 'electionVariables'] as const;
  const all = { ...expected };
  for (const key of sorted) if (all[key]) all[key] = [...all[key]].sort();
  if (all.noPaths) all.noPaths = [];
  if (all.noNames) all.noNames = [];
  return all;
}

test.each(readdirSync(CORPUS))('what the sources of a checkout say: %s', async (name) => {
  const {
    setups = [],
    main,
    ...expected
  } = JSON.parse(readFileSync(join(CORPUS, name, 'expected.json'), 'utf8')) as Expected;
  for (const { paths, ...setup } of setups)
    expect(await findWebhookSetups(new Checkout(join(CORPUS, name)), paths)).toMatchObject([setup]);
  if (main !== undefined) {
    const { hints, says, ...wanted } = main;
    const { source, ...found } = await findMainPackage(new Checkout(join(CORPUS, name)), hints);
    expect(found).toMatchObject(wanted);
    for (const one of says) expect(source).toContain(one);
  }
  const facts = await checkoutFacts(new Checkout(join(CORPUS, name)));
  expect(foundIn(facts, expected)).toEqual(normalized(expected));
});
