import { DevloopError } from '../errors.ts';
import type { SecretCandidate } from '../operator/mounts.ts';
import type { Target, TargetManager, TargetService } from '../operator/target.ts';
import { shellWord } from '../phrases.ts';
import { trustedCas } from './trust.ts';

const OWN_PAIR =
  'If the manager makes its own key pair and keeps it in its Pod, configure it to read one from';

export function missingSecret({
  namespace,
  name,
  directories: [directory],
  optional,
}: SecretCandidate): DevloopError {
  const mounted = directory ? `, but the manager mounts it at ${directory}` : '';
  const mountedIf = optional ? '. The manager can start without it' : mounted;
  const next = `Check whether its certificate was issued: kubectl -n ${shellWord(namespace)} get certificates,secrets`;
  return new DevloopError(
    'certificate.not-found',
    `Secret ${namespace}/${name} does not exist${mountedIf}.`,
    {
      hint: optional ? `${next}\n${OWN_PAIR} that Secret.` : next,
    },
  );
}

export function noKeyPair({ manager }: Target, service: TargetService): DevloopError {
  const mounts = manager
    ? `${manager.ref.kind} ${manager.ref.name} mounts no Secret`
    : 'no Deployment was found that could mount it';
  const { serverName } = service;
  const { namespace } = service.service.metadata;
  return new DevloopError(
    'certificate.not-found',
    `No Secret with a key pair for ${serverName} was found: ${mounts}, and no TLS Secret in namespace ${namespace} is for that name.${trustedCas(service)}`,
    {
      hint: [
        `kubectl -n ${shellWord(namespace)} get secrets`,
        'Then name it in devloop.yaml: certificates: {secret: …}',
        ...(manager && !hasReadyPod(manager) ? [notStarted(manager)] : []),
        `${OWN_PAIR} a Secret.`,
      ].join('\n'),
    },
  );
}

function hasReadyPod({ object: { status } }: TargetManager): boolean {
  return (status?.numberReady ?? status?.readyReplicas ?? 0) > 0;
}

/** Many managers create their Secret when they start for the first time. */
function notStarted({ ref: { kind, namespace, name } }: TargetManager): string {
  return `No Pod of ${kind} ${name} is ready. If the manager creates the Secret when it starts, find out why it did not start: kubectl -n ${shellWord(namespace)} get pods`;
}
