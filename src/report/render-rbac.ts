import { counted } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { cureText } from './notices/identity.ts';
import type { RbacTarget, RoleName } from './rbac.ts';
import { clock } from './review-words.ts';
import { oneLine, type Paint, paintedRow, withHint } from './text.ts';

const TYPES = ['rbac.compared', 'rbac.missing', 'rbac.unseen', 'rbac.broad'] as const;
const MOST_TARGETS = 10;
type RbacEvent = Extract<DevloopEvent, { type: (typeof TYPES)[number] }>;
type Of<Type extends RbacEvent['type']> = Extract<RbacEvent, { type: Type }>;

export function isAboutRbac(event: DevloopEvent): event is RbacEvent {
  return TYPES.some((type) => type === event.type);
}

export function renderRbac(event: RbacEvent, paint: Paint): string {
  switch (event.type) {
    case 'rbac.compared':
      return comparedText(event, paint);
    case 'rbac.missing':
      return withHint(
        paintedRow(paint, 'red', 'missing', oneLine(missingText(event))),
        cureText(event.cure, event.cluster === 'granted'),
        paint,
      );
    case 'rbac.unseen': {
      const text = `in this session: ${unseenText(event)}  ${paint('dim', rolesText(event.roles))}`;
      return paintedRow(paint, 'dim', 'not seen', oneLine(text));
    }
    case 'rbac.broad':
      return paintedRow(paint, 'yellow', 'broad', oneLine(broadText(event, paint)));
  }
}

function comparedText(event: Of<'rbac.compared'>, paint: Paint): string {
  const { calls, since, account, cluster, checkout, missing } = event;
  const of = account === undefined ? '' : `, of ServiceAccount ${account.namespace}/${account.name}`;
  const lines = [
    `${counted(calls, 'call')} of the controller since ${clock(since)}`,
    ...(cluster === undefined ? [] : [`with the cluster: ${rolesText(cluster)}${of}`]),
    ...(checkout.length === 0 ? [] : [`with the checkout: ${rolesText(checkout)}`]),
    missing === 0 ? 'All that was called is allowed.' : `Missing: ${counted(missing, 'rule')}.`,
  ];
  const colour = missing === 0 ? 'green' : 'red';
  return paintedRow(paint, colour, 'compared', lines.map(oneLine).join('\n'));
}

function missingText(event: Of<'rbac.missing'>): string {
  const { namespaces, names, calls, refused, cluster } = event;
  const what = names === undefined ? '' : ` ${names.join(', ')}`;
  const where = namespaces === undefined ? '' : ` in namespace ${namespaces.join(', ')}`;
  const often =
    refused > 0
      ? `refused ${refused} of ${calls} times`
      : calls > 0
        ? `called ${counted(calls, 'time')}`
        : 'caches need list and watch';
  const only =
    cluster === 'granted'
      ? '  the checkout lacks it; the cluster allows it only until the next deployment'
      : '';
  return `${ruleText(event)}${what}${where}  (${often})${only}`;
}

function broadText(
  { what, rule, seen, moreSeen, names = [], roles }: Of<'rbac.broad'>,
  paint: Paint,
): string {
  const { apiGroups, resources, verbs } = rule;
  const allowed = `${verbs.join(', ')} ${resources.join(', ')} (${apiGroups.map((one) => one || '(core)').join(', ')})`;
  const more = moreSeen === undefined ? '' : ` and ${moreSeen} more`;
  const used = `${seen.map(ruleText).join('; ') || 'nothing'}${more}`;
  const only =
    what === 'names' ? `seen: only ${names.join(', ')} (resourceNames can say so)` : `seen: ${used}`;
  return `${allowed}  ${only}  ${paint('dim', rolesText(roles))}`;
}

/** `get, list pods, deployments.apps` */
function unseenText({ verbs, targets, names = [] }: Of<'rbac.unseen'>): string {
  const shown = targets.slice(0, MOST_TARGETS).map(targetText).join(', ');
  const more = targets.length > MOST_TARGETS ? ` and ${targets.length - MOST_TARGETS} more` : '';
  return `${verbs.join(', ')} ${shown}${more} ${names.join(', ')}`.trimEnd();
}

/** `get, list deployments.apps` */
function ruleText({ verbs, ...target }: RbacTarget & { verbs: string[] }): string {
  return `${verbs.join(', ')} ${targetText(target)}`;
}

function targetText({ group, resource = '', path }: RbacTarget): string {
  return path ?? `${resource}${group ? `.${group}` : ''}`;
}

function rolesText(roles: RoleName[]): string {
  const names = roles.map(({ kind, namespace, name, file }) =>
    file === undefined ? `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}` : file,
  );
  return names.length === 0 ? 'no role' : [...new Set(names)].join(', ');
}
