import type { KeyPair } from '../../certificates/key-pair.ts';
import { aggregated } from './aggregated.ts';
import {
  base64,
  CERT_MANAGER,
  CRD,
  calledServices,
  clientConfigs,
  type Declared,
  isWebhookConfiguration,
  keyOf,
} from './declared.ts';
import { isSecret, mountedSecrets, replacePair, secretsFor } from './key-pair-secrets.ts';
import { missingAccounts, missingNamespaces } from './missing-objects.ts';

/** What is not created, because nothing would become of it here. */
const LEFT_OUT: Record<string, string> = {
  Job: 'nothing runs Pods here',
  CronJob: 'nothing runs Pods here',
  APIService: 'nothing serves it here',
};

/** What a program such as envsubst would fill in. */
const VARIABLE = /\$\{\w+[^}]*\}/;
/** The part of a CRD that is left out without its webhook. */
export const CONVERSION = 'conversion';
const HOOK = 'helm.sh/hook';
/** The Service of kube-apiserver itself, through which an APIService is called. */
const API_SERVER = 'default/kubernetes';

export interface LeftOut {
  object: Declared;
  /** What of it, if not all. */
  part?: string;
  why: string;
}

export interface Installed {
  /** One stage after the other, each at once. */
  objects: Declared[][];
  leftOut: LeftOut[];
}

/** The names by which kube-apiserver verifies the Services that webhooks and conversions call. */
export function serverNames(declared: readonly Declared[]): string[] {
  const names = clientConfigs(declared).flatMap(({ service }) =>
    service ? [`${service.name}.${service.namespace}.svc`] : [],
  );
  return [...new Set(names)].sort();
}

/** What of the manifests is created, with one key pair for all Services in place of what cert-manager would issue. */
export function toInstall(declared: readonly Declared[], pair: KeyPair | undefined): Installed {
  const own = definedKinds(declared);
  const services = new Set(
    declared.filter(({ kind }) => kind === 'Service').map(({ metadata }) => keyOf(metadata)),
  );
  const whyNot = (object: Declared): string | undefined => {
    const { kind = '', apiVersion = '', metadata } = object;
    const { annotations } = metadata as { annotations?: Record<string, unknown> };
    if (annotations && HOOK in annotations) return 'it is a hook of Helm';
    if (own.has(`${apiVersion.split('/')[0]} ${kind}`)) return 'apply it when the controller runs';
    const [variable] = VARIABLE.exec(`${metadata.name} ${metadata.namespace}`) ?? [];
    if (variable !== undefined) return `its name needs a value for ${variable}`;
    return (isWebhookConfiguration(object) ? lostService(object, services) : undefined) ?? LEFT_OUT[kind];
  };
  const leftOut = declared.flatMap((object) => {
    const why = whyNot(object);
    if (why !== undefined) return [{ object, why }];
    const lost = lostService(object, services);
    return lost === undefined ? [] : [{ object, part: CONVERSION, why: lost }];
  });
  const kept = declared
    .filter((object) => whyNot(object) === undefined && !CERT_MANAGER.test(object.apiVersion ?? ''))
    .map((object) => (lostService(object, services) === undefined ? object : unconverted(object)));
  const secrets = pair ? secretsFor(declared, pair) : [];
  const filled = new Set(secrets.map(({ metadata }) => keyOf(metadata)));
  const others = kept.filter((one) => !(isSecret(one) && filled.has(keyOf(one.metadata))));
  const objects = [
    ...structuredClone(aggregated(others)),
    ...missingNamespaces(kept),
    ...missingAccounts(kept),
  ];
  if (pair) {
    for (const config of clientConfigs(objects))
      if (config.service) config.caBundle = base64(pair.certificate);
    for (const secret of mountedSecrets(objects)) replacePair(secret, pair);
  }
  const stages = Map.groupBy([...objects, ...secrets], stageOf);
  return { objects: [0, 1, 2, 3].flatMap((stage) => [stages.get(stage) ?? []]), leftOut };
}

/** Why what the object calls cannot be called. An operator can create such a Service itself, when it runs. */
function lostService(object: Declared, services: ReadonlySet<string>): string | undefined {
  const service = calledServices([object]).find((one) => !services.has(one));
  if (service === API_SERVER) return 'it is called through an APIService, and nothing serves that here';
  return service && `no manifest has its Service ${service}`;
}

/** Without its webhook, a CRD can at least be used in the version in which its objects are stored. */
export function unconverted(crd: Declared): Declared {
  return { ...crd, spec: { ...(crd.spec as object), conversion: { strategy: 'None' } } };
}

/** `group Kind` of each CRD. */
function definedKinds(declared: readonly Declared[]): Set<string> {
  const crds = declared.filter(({ kind }) => kind === CRD) as {
    spec?: { group?: string; names?: { kind?: string } };
  }[];
  return new Set(crds.map(({ spec }) => `${spec?.group} ${spec?.names?.kind}`));
}

/** What others are in comes first, and webhooks when everything else exists. */
function stageOf(object: Declared): number {
  if (object.kind === 'Namespace') return 0;
  if (object.kind === CRD) return 1;
  return isWebhookConfiguration(object) ? 3 : 2;
}
