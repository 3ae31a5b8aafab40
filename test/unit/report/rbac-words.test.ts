import { expect, test } from 'vitest';
import { renderRbac } from '../../../src/report/render-rbac.ts';

const paint = (_: unknown, text: string): string => text;
const MARKER = '// +kubebuilder:rbac:groups="",resources=pods,verbs=get';

test('a rule that only the checkout lacks is to be added there, and not to be applied', () => {
  const missing = (cluster: 'granted' | 'missing') =>
    renderRbac(
      {
        ...{
          type: 'rbac.missing',
          group: '',
          resource: 'pods',
          verbs: ['get'],
          cluster,
          calls: 3,
          refused: 0,
        },
        cure: { yaml: '', marker: MARKER },
      },
      paint,
    );
  expect(missing('granted')).toContain(
    'the checkout lacks it; the cluster allows it only until the next deployment',
  );
  expect(missing('granted')).not.toContain('apply the role');
  expect(missing('missing')).toContain('apply the role');
});

test('a rule for everything of which nothing was used says so', () => {
  const rule = { apiGroups: [''], resources: ['*'], verbs: ['*'] };
  const roles = [{ kind: 'ClusterRole', name: 'manager' }];
  expect(renderRbac({ type: 'rbac.broad', what: 'wildcard', rule, seen: [], roles }, paint)).toContain(
    '* * ((core))  seen: nothing',
  );
});
