import { shellWord } from '../../phrases.ts';

/** What refused a call during admission, as kube-apiserver names it. */
export interface Denier {
  kind: 'webhook' | 'ValidatingAdmissionPolicy' | 'MutatingAdmissionPolicy';
  name: string;
}

/** The parts of a Status that name a denier. */
export interface Refusal {
  message: string;
  /** The messages of its causes. */
  causes?: string[];
}

/** The webhook's author chooses the status, such as 500 if the webhook itself has failed, and what follows these words. */
const WEBHOOK = /^admission webhook "(.*)" denied the request/;
/** A policy chooses the status, too. Its name is in a cause; the message can begin with the object. */
const POLICY =
  /^(ValidatingAdmissionPolicy|policy) ['"]([^'"]+)['"] (?:with binding '[^']+' )?denied request/;

/** A webhook can make up causes, so its own words come first. */
export function denierOf({ message, causes = [] }: Refusal): Denier | undefined {
  const webhook = WEBHOOK.exec(message)?.[1];
  if (webhook !== undefined) return { kind: 'webhook', name: webhook };
  for (const cause of causes) {
    const [, kind, name = ''] = POLICY.exec(cause) ?? [];
    if (kind === 'policy') return { kind: 'MutatingAdmissionPolicy', name };
    if (kind !== undefined) return { kind: 'ValidatingAdmissionPolicy', name };
  }
  return undefined;
}

/** The command that shows what a denier is there for. */
export function denierHint({ kind, name }: Denier): string {
  const quoted = shellWord(name);
  if (kind === 'webhook') return `The configuration that has the webhook ${quoted}: ${CONFIGURATIONS}`;
  return `${kind} ${quoted} refuses it: kubectl get ${kind.toLowerCase()} ${quoted} -o yaml`;
}

const CONFIGURATIONS =
  "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o custom-columns='KIND:.kind,NAME:.metadata.name,WEBHOOKS:.webhooks[*].name'";
