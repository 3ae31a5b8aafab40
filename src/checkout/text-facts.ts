import { basename } from 'node:path';
import { electionVariablesOnLines } from './election-switch.ts';
import type { CheckoutFacts } from './facts.ts';
import type { SourceText } from './files.ts';
import { isName } from './names.ts';

/** Only the marker in a package that defines types counts: an operator's sources also name the groups of many others. */
const GROUP_MARKER = /\+groupName=([\w.-]+)/g;
const MARKER_PATH = /\+kubebuilder:webhook:[^\n]*\bpath="?([^",\s]+)/g;
const SOURCE_PATH = /(["'`])(\/[A-Za-z0-9][A-Za-z0-9._/-]{2,150})\1/g;
const QUOTED_NAME = /(["'`])([a-z0-9]+(?:[.-][a-z0-9]+){1,20})\1/g;
const MANIFEST_PATH = /^\s*path:\s*["']?(\/[A-Za-z0-9][A-Za-z0-9._/-]*)/gm;
/** The objects that kube-apiserver sends, as kube-rs, fabric8 and plain HTTP servers name them. */
const REVIEWS = /\b(?:Admission|Conversion)Review\b/;

export const MANIFEST_OR_TEMPLATE = /\.(?:ya?ml|tpl)$/;
export const RECIPE = /^(?:(?:.+\.)?(?:Docker|Container)file(?:\..+)?|(?:GNUm|m|M)akefile)$/;
/** The variable of the project's own image: other variables name images that it deploys or builds on. */
const IMAGE_VARIABLE =
  /^\s*(?:export\s+)?(?:(?:DOCKER|CONTAINER|OPERATOR|CONTROLLER|MANAGER|WEBHOOK|SERVER)_)?(?:IMG|IMAGE)(?:_(?:NAME|URL|REPO|REPOSITORY))?\s*[:?]{0,2}=\s*(\S+)\s*$/gm;

/** Finds `intel-webhook` in the file name intel-webhook.Dockerfile, and in `IMG ?= registry.example.com/intel-webhook:latest`. */
export function collectImages({ path, text }: SourceText, { images }: CheckoutFacts): void {
  const [, before, after] =
    /^(.+)\.(?:Docker|Container)file$|^(?:Docker|Container)file\.(.+)$/.exec(basename(path)) ?? [];
  const values = [...text.matchAll(IMAGE_VARIABLE)].map(
    ([, value]) => value!.split('/').pop()!.split(':')[0]!,
  );
  for (const image of [before ?? after ?? '', ...values])
    if (isName(image) && /^[\w.-]+$/.test(image)) images.add(image);
}

/** The paths in a manifest, or in the template of one, with webhook configurations. */
export function collectManifest({ text }: SourceText, { manifestPaths }: CheckoutFacts): void {
  if (!/kind:\s*(Validating|Mutating)WebhookConfiguration/.test(text)) return;
  for (const [, path] of text.matchAll(MANIFEST_PATH)) manifestPaths.add(path!);
}

/** What kubebuilder's markers declare, in comments of any language. */
export function collectMarkers({ text }: SourceText, { groups, markerPaths }: CheckoutFacts): void {
  for (const [, group] of text.matchAll(GROUP_MARKER)) groups.add(group!);
  for (const path of markedPaths(text)) markerPaths.add(path);
}

/** The paths in kubebuilder's markers: controller-runtime makes them from kinds, so that no other text has them. */
export function markedPaths(text: string): string[] {
  return [...text.matchAll(MARKER_PATH)].map(([, path]) => path!);
}

/** What can be recognised in a source without knowing its language. */
export function collectTexts({ text }: SourceText, facts: CheckoutFacts): void {
  for (const name of electionVariablesOnLines(text)) facts.electionVariables.add(name);
  for (const [, , path] of text.matchAll(SOURCE_PATH)) facts.paths.add(path!);
  for (const [, , name] of text.matchAll(QUOTED_NAME)) facts.quoted.add(name!);
  if (REVIEWS.test(text)) facts.declaresWebhooks = true;
}
