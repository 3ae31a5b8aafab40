import type { Language } from './language.ts';
import type { SourceFacts } from './source-facts.ts';

/** What the files of a checkout reveal about their operator. */
export interface CheckoutFacts extends SourceFacts {
  /** The language of its program; undefined if devloop knows none for it. */
  language: Language | undefined;
  /** API groups that the checkout defines. */
  groups: Set<string>;
  /** HTTP paths in its manifests, which may belong to another operator that is merely bundled. */
  manifestPaths: Set<string>;
  /** Paths of the webhooks that kubebuilder's markers declare. */
  markerPaths: Set<string>;
  /** Names that the operator may have: project, module, directory. */
  names: Set<string>;
  /** Names of the images that its Dockerfiles and Makefiles build, without registry and tag. */
  images: Set<string>;
  /** Whether devloop has read any of its sources: it reads only some languages. */
  hasSources: boolean;
  /** The directory in which devloop was started, if it is below the root. */
  startedIn?: string;
}

/** The facts if there is no checkout. */
export function noCheckoutFacts(): CheckoutFacts {
  return {
    language: undefined,
    groups: new Set(),
    manifestPaths: new Set(),
    markerPaths: new Set(),
    names: new Set(),
    images: new Set(),
    hasSources: false,
    paths: new Set(),
    quoted: new Set(),
    besideProgram: new Set(),
    flags: [],
    commands: [],
    electionVariables: new Set(),
    commandNames: new Set(),
    kubeconfigVariable: false,
    connectsFromPod: false,
    clientCertificates: undefined,
    declaresWebhooks: false,
  };
}
