import type { SourceFacts } from '../source-facts.ts';
import { cobraCommands, commandWords, fieldsIn } from './commands.ts';
import { electionVariables } from './election-variables.ts';
import { definedFlags } from './flags.ts';
import { flagsOfKubernetes } from './leader-election.ts';
import type { Expression } from './reader/nodes.ts';
import { type GoSource, type GoSources, lastName } from './sources.ts';
import { joinedInProgram, textsIn } from './texts.ts';

const PATH = /^\/[A-Za-z0-9][A-Za-z0-9._/-]{2,150}$/;
const NAME = /^[a-z0-9]+(?:[.-][a-z0-9]+){1,20}$/;

/** What Go sources reveal about their operator. */
export function factsOf(all: GoSources): SourceFacts {
  const texts = [...textsIn(all)];
  return {
    paths: new Set(texts.filter((text) => PATH.test(text))),
    quoted: new Set(texts.filter((text) => NAME.test(text))),
    besideProgram: joinedInProgram(all),
    flags: [...definedFlags(all), ...flagsOfKubernetes(all)],
    commands: cobraCommands(all),
    electionVariables: electionVariables(all),
    commandNames: commandWords(all),
    kubeconfigVariable: all.sources.some((source) => readsVariable('KUBECONFIG', source, all)),
    connectsFromPod: all.sources.some(connectsFromPod),
    clientCertificates: requiredCertificates(all),
    declaresWebhooks: all.sources.some(registersWebhooks),
  };
}

const READS = new Set(['Getenv', 'LookupEnv', 'EnvVar', 'EnvVars']);

/** Whether it reads the variable with the standard library, or binds a flag to it with urfave/cli. */
function readsVariable(name: string, source: GoSource, { valueIn }: GoSources): boolean {
  const { calls } = source.file;
  const is = (one: Expression, within: number): boolean => valueIn(source, one, within) === name;
  const reading = calls.filter(({ callee }) => READS.has(lastName(callee)));
  return (
    reading.some(({ values, within }) => values.some((one) => is(one, within))) ||
    [...READS].some((field) =>
      fieldsIn(source, field).some(({ value, within }) => {
        const listed = value.kind === 'composite' ? value.elements.map((element) => element.value) : [value];
        return listed.some((one) => is(one, within));
      }),
    )
  );
}

const FROM_POD = new Set(['InClusterConfig', 'BuildConfigFromFlags']);
/** The libraries of API servers, which connect to the cluster to authenticate their callers. */
const API_SERVERS =
  /k8s\.io\/apiserver\/pkg\/server|apiserver-runtime|(?:metrics-apiserver|generic-admission-server)\/pkg\//;

function connectsFromPod({ file }: GoSource): boolean {
  return (
    file.calls.some(({ callee }) => FROM_POD.has(lastName(callee))) ||
    file.imports.some(({ path }) => API_SERVERS.test(path))
  );
}

const REGISTERS = new Set(['NewWebhookManagedBy', 'WebhookManagedBy', 'GetWebhookServer']);

/** Whether it registers webhooks with controller-runtime. */
export function registersWithManager({ file }: GoSource): boolean {
  return file.calls.some(({ callee }) => REGISTERS.has(lastName(callee)));
}

function registersWebhooks(source: GoSource): boolean {
  return (
    registersWithManager(source) ||
    source.file.imports.some(({ path }) => path.startsWith('k8s.io/api/admission/'))
  );
}

/** controller-runtime's webhook server requires a client certificate if it has the name of a CA. */
const REQUIRES = 'ClientCAName';

function requiredCertificates({ sources, valueIn }: GoSources): string | undefined {
  for (const source of sources) {
    const { assignments } = source.file;
    const set = [
      ...fieldsIn(source, REQUIRES),
      ...assignments.filter(({ target }) => lastName(target) === REQUIRES),
    ];
    for (const { value, within } of set) {
      const known = valueIn(source, value, within);
      const written =
        typeof known === 'string'
          ? JSON.stringify(known)
          : lastName(value.kind === 'unary' ? value.of : value);
      if (known !== '' && written !== '') return `${REQUIRES}: ${written}`;
    }
  }
  return undefined;
}
