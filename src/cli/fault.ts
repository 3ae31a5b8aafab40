import { Command } from 'commander';
import type { FaultChange } from '../session/faults/session-faults.ts';
import { addExamples, outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';
import { invalid } from './usage.ts';

interface FaultFlags {
  session?: string;
  json?: true;
}

const FORM = `A fault says what happens, to which calls, and how often:

  what       403, 404, 409, 410, 429, 500, 503 or 504: the API server answers so
             delay=2s    it waits
             refuse      the connection is closed without an answer
             drop, cut   an event of a watch is lost; the watch ends in its place
             crash       the controller is killed after a write has succeeded,
                         and starts again; crash-before: before it is sent
  which      get, list, watch, create, update, patch, apply, delete, read, write;
             review, for reviews of the webhooks (delay=, 404, 500 or 503);
             and a resource, with the words of RBAC: deployments is not about its
             subresources, deployments.apps/status is about one, and deployments/*
             about each of them
  how often  name=web-*, namespace=shop, share=50%, count=3, nth=2, for=30s;
             seed=7 makes the choices of a share again; retry-after=5`;

export function faultCommand(shell: Shell): Command {
  const command = new Command('fault')
    .summary('let calls and reviews go wrong on purpose')
    .description(
      `Changes what the API server answers to the controller of a running session on this machine, or what becomes of its reviews, until the fault is cleared or the session ends. Calls of devloop and of others are not affected.\n\n${FORM}`,
    )
    .argument('[what...]', 'list (default), add FAULT, or clear [ID...]')
    .option(
      '--session <id>',
      'session on this machine (default: the session of this checkout, or the only session)',
    )
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async ([verb, ...words]: string[], { session, json }: FaultFlags) => {
      const change = changeOf(verb, words, shell.name);
      await shell.run(outputOptions(present({ json })), async (io) => {
        const { fault } = await import('../session/fault.ts');
        await fault({ change, ...present({ session }) }, io);
      });
    });
  return addExamples(command, `${shell.name} fault`, [
    ['add 409 write applications/status count=3', 'Let the next three writes of a status conflict'],
    [
      'add 429 list share=20% retry-after=5',
      'Answer a fifth of the lists, at random, with Too Many Requests',
    ],
    ['add drop watch deployments name=web', 'Hide from the controller what happens to Deployment web'],
    ['add crash create deployments', 'Kill the controller right after it has created a Deployment'],
    ['add delay=8s review applications', 'Let reviews of Applications take 8 s longer'],
    ['', 'List the faults, and how often each was met'],
    ['clear', 'End all faults'],
  ]);
}

/** The first words that the command knows. */
export const FAULT_ACTIONS = ['list', 'add', 'clear'] as const;

function changeOf(verb = 'list', words: string[], name: string): FaultChange {
  switch (verb as (typeof FAULT_ACTIONS)[number]) {
    case 'list':
      if (words.length > 0) throw invalid('`list` takes no ids.', `${name} fault list`);
      return {};
    case 'add':
      if (words.length === 0) throw invalid('`add` needs a fault.', `${name} fault add 409 update`);
      return { add: [words.join(' ')] };
    case 'clear':
      return { clear: words };
    default:
      throw invalid(
        `\`${verb}\` is not one of ${FAULT_ACTIONS.join(', ')}.`,
        `${name} fault add ${[verb, ...words].join(' ')}`,
      );
  }
}
