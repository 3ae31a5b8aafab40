import { inspect } from '../../certificates/inspect.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { describe } from '../../cluster/api/kinds.ts';
import { DevloopError } from '../../errors.ts';
import { type FoundPair, findKeyPair } from '../../local/key-pairs.ts';
import type { TargetService } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { type Check, type Finding, findingOf, NotChecked, standingOn } from './check.ts';
import type { DiscoveredOperator, DoctorRun } from './operator.ts';

/** Will kube-apiserver accept the key pair of each webhook Service: names, dates, chain, and every caBundle that is compared with it? */
export function certificateCheck({ opened }: DoctorRun, operator: Promise<DiscoveredOperator>): Check {
  return {
    name: 'certificate',
    limitSeconds: 60,
    late: 'certificate.not-found',
    async run() {
      const { target } = await standingOn(operator, 'there is no target');
      if (target.services.length === 0) throw new NotChecked('the target has no webhook Service');
      const secretName = opened.config.certificates?.secret;
      const search = { api: opened.api, target, secretName };
      return await Promise.all(
        target.services.map(async (service) => {
          const told: DevloopEvent[] = [];
          try {
            const found = await findKeyPair(search, service, (event) => told.push(event));
            const renewal = await renewalOf(opened.api, found);
            return certificateFinding(service, found, { renewal, told, now: new Date() });
          } catch (error) {
            if (error instanceof DevloopError) return findingOf(error, false);
            throw error;
          }
        }),
      );
    },
  };
}

/** When cert-manager will renew it; undefined where it is not cert-manager's, or that may not be read. */
async function renewalOf(api: ClusterApi, { secret }: FoundPair): Promise<Date | undefined> {
  if (secret.certificate === undefined) return undefined;
  const path = `/apis/cert-manager.io/v1/namespaces/${secret.namespace}/certificates/${secret.certificate}`;
  const read = api.call<{ status?: { renewalTime?: string } }>('GET', path).catch(() => undefined);
  const time = (await read)?.status?.renewalTime;
  return time === undefined ? undefined : new Date(time);
}

/** Pure. */
export function certificateFinding(
  service: TargetService,
  { pair, facts, secret }: FoundPair,
  { renewal, told, now }: { renewal: Date | undefined; told: DevloopEvent[]; now: Date },
): Finding {
  const object = `Secret ${secret.namespace}/${secret.name}`;
  const warnings = told.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  const doubts = [...warnings, ...foreignBundles(service, pair, now), ...overdue(renewal, now)];
  const proof = [
    ...facts.names.map((name) => `for ${name}`),
    `from ${facts.notBefore.toISOString()} until ${facts.notAfter.toISOString()}`,
    `issuer ${facts.issuer}`,
    ...(renewal === undefined ? [] : [`cert-manager renews it at ${renewal.toISOString()}`]),
  ].join('\n');
  if (doubts.length === 0) {
    const trust = service.calls.length === 0 ? '' : ', and the caBundle of\nall that call it accepts it';
    return { verdict: 'ok', answer: `${object}\nis valid for the Service${trust}`, proof };
  }
  const hint =
    secret.certificate === undefined
      ? `kubectl -n ${secret.namespace} describe secret ${secret.name}`
      : `kubectl -n ${secret.namespace} describe certificate ${secret.certificate}`;
  return { verdict: 'warn', answer: doubts.join('\n'), proof, hint };
}

/** `up` proves the first caBundle that is not empty, and it was found to fit: an error is another one's, which fails in the cluster too. */
function foreignBundles({ calls }: TargetService, pair: FoundPair['pair'], now: Date): string[] {
  if (calls.every(({ caBundle }) => caBundle === '')) return [];
  const bundles = new Map(
    calls.map(({ from, caBundle }) => [`${describe(from)} ${caBundle}`, { from, caBundle }]),
  );
  return [...bundles.values()].flatMap(({ from, caBundle: encoded }) => {
    const caBundle = Buffer.from(encoded, 'base64').toString('utf8');
    const { problems } = inspect(pair, { serverNames: [], caBundle, now });
    const wrong = problems.filter(({ severity }) => severity === 'error' || encoded === '');
    return wrong.map(({ message }) => `${describe(from)} will not accept it: ${message}`);
  });
}

function overdue(renewal: Date | undefined, now: Date): string[] {
  return renewal !== undefined && renewal < now
    ? [`cert-manager should have renewed it at ${renewal.toISOString()} and has not`]
    : [];
}
