import type { ClusterApi } from '../cluster/api/client.ts';
import { noneIfRefused } from '../cluster/api/errors.ts';
import { refOf } from '../cluster/api/kinds.ts';
import type { Service } from '../cluster/api/objects.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { missingService } from '../report/notices/operator.ts';
import { hintOfMissing } from './missing.ts';
import type { ChosenService } from './target.ts';
import type { WebhookService } from './webhooks.ts';

/** A Service, and how it was found. */
export type Choice = Pick<ChosenService, 'webhooks' | 'source'>;

interface ReadOptions {
  api: ClusterApi;
  /** All Services as the user typed them; empty if they were discovered. */
  named: string[];
  emit: Emit;
  /** The Services that discovery finds without `named`. */
  discovered: () => Promise<WebhookService[]>;
}

/**
 * A Service that does not exist is an error if the user named it, or if no other Service was found. If another Service exists, the missing
 * one comes from a CRD whose manifest was never adapted: kube-apiserver could not reach it before, either.
 */
export async function readServices(reading: ReadOptions, choices: Choice[]): Promise<ChosenService[]> {
  const { api, named, emit } = reading;
  const read = await Promise.all(
    choices.map(async (choice) => {
      const { namespace, name } = choice.webhooks;
      return { ...choice, service: await api.get<Service>({ kind: 'Service', namespace, name }) };
    }),
  );
  const exists = (one: (typeof read)[number]): one is ChosenService => one.service !== undefined;
  const found = read.filter(exists);
  for (const { webhooks } of read.filter((one) => !exists(one))) {
    if (named.length > 0) throw await notFound(webhooks, reading);
    if (found.length === 0) throw notInstalled(webhooks);
    const caller = webhooks.calls[0]?.from;
    emit(notice('service.missing', { service: refOf('Service', webhooks), ...(caller && { caller }) }));
  }
  return found;
}

async function notFound(
  service: WebhookService,
  { api, named, discovered }: ReadOptions,
): Promise<DevloopError> {
  const { namespace, name } = service;
  const others = (await discovered()).map(fullName);
  return new DevloopError('target.not-found', `${missing(service)}.`, {
    hint: await hintOfMissing(api, ['Service'], { namespace, name, flag: '--service', named, others }),
  });
}

/** A CRD that is installed without its operator calls such a Service. */
function notInstalled(service: WebhookService): DevloopError {
  return new DevloopError('target.not-found', `${missing(service)}.`, { hint: DEPLOY });
}

/** Where an operator runs that is not deployed. */
export const WITHOUT_CLUSTER = 'Without a cluster: devloop up --embedded';

export const DEPLOY =
  'Deploy the operator first (its image need not exist), usually with: make deploy IMG=any/name:tag';

export function fullName({ namespace, name }: WebhookService): string {
  return `${namespace}/${name}`;
}

function missing(service: WebhookService): string {
  return missingService(refOf('Service', service), service.calls[0]?.from);
}

/** Those of these Services that exist. */
export async function installed<T extends WebhookService>(api: ClusterApi, services: T[]): Promise<T[]> {
  const found = await Promise.all(
    services.map(({ namespace, name }) => api.get({ kind: 'Service', namespace, name }).catch(noneIfRefused)),
  );
  return services.filter((_, index) => found[index] !== undefined);
}
