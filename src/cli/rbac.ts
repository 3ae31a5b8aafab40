import { Command } from 'commander';
import { SESSION } from './calls.ts';
import { addExamples, outputOptions, present } from './common.ts';
import type { Shell } from './shell.ts';

interface RbacFlags {
  session?: string;
  json?: true;
}

export function rbacCommand(shell: Shell): Command {
  const command = new Command('rbac')
    .summary('compare what the controller called with what its roles allow')
    .description(
      "Compares all calls of a running session on this machine with the roles of the operator's ServiceAccount, those in the cluster and those of the checkout: which rules are missing and how to add them, which no call of this session used, and which allow more than was used. It also answers which rule is missing if the controller works with your account, where nothing is refused. Reads the cluster with the kubeconfig and context of the session, and changes nothing.",
    )
    .option('--session <id>', SESSION)
    .optionsGroup('Output:')
    .option('--json', 'print one JSON event per line')
    .helpOption('-h, --help', 'show this help')
    .action(async ({ session, json }: RbacFlags) => {
      await shell.run({ ...outputOptions(present({ json })), isPatient: true }, async (io) => {
        const { rbac } = await import('../session/rbac.ts');
        await rbac(present({ session }), io);
      });
    });
  return addExamples(command, `${shell.name} rbac`, [
    ['', 'Which RBAC rule is missing?'],
    ['--json | jq \'select(.type == "rbac.missing")\'', 'The missing rules, for a script'],
  ]);
}
