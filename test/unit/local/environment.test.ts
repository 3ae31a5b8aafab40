import { expect, test } from 'vitest';
import { controllerEnvironment } from '../../../src/local/environment.ts';

const PATHS = [{ from: '/certs', to: '/state/certs' }];

test('the Deployment overrides the shell, and devloop overrides both', () => {
  const { env, noWebhooks } = controllerEnvironment({
    inherited: { A: 'shell', B: 'shell', GONE: undefined, TMPDIR: '/tmp', KUBECONFIG: '/home/me/config' },
    deployment: { B: 'deployment', TMPDIR: '/var/tmp' },
    named: { CERTS: '/certs/tls.crt' },
    kubeconfig: '/state/kubeconfig',
    temporary: '/state/tmp',
    paths: PATHS,
  });
  expect(env).toEqual({
    A: 'shell',
    B: 'deployment',
    CERTS: '/state/certs/tls.crt',
    TMPDIR: '/state/tmp',
    KUBECONFIG: '/state/kubeconfig',
  });
  expect(noWebhooks).toEqual({});
});

test('a HOSTNAME that the Deployment sets, as that of its Pod, is taken over', () => {
  const deployment = { HOSTNAME: 'shop-devloop-s1' };
  const { env } = controllerEnvironment({ inherited: { HOSTNAME: 'desk' }, deployment, paths: [] });
  expect(env).toEqual(deployment);
});

test('a shell that turns webhooks off causes a warning', () => {
  const inherited = { ENABLE_WEBHOOKS: 'false' };
  const fromShell = controllerEnvironment({ inherited, deployment: {}, paths: [] });
  expect(fromShell.env).toEqual(inherited);
  expect(fromShell.noWebhooks).toEqual(inherited);
  const decided = controllerEnvironment({ inherited, deployment: { ENABLE_WEBHOOKS: 'true' }, paths: [] });
  expect(decided).toEqual({ env: { ENABLE_WEBHOOKS: 'true' }, noWebhooks: {} });
});

test('the namespace of the Pod is set where the program would read it from a file, unless another variable sets it', () => {
  const parts = { inherited: {}, deployment: {}, paths: [], namespace: 'operators' };
  expect(controllerEnvironment(parts).env).toEqual({
    OPERATOR_NAMESPACE: 'operators',
    POD_NAMESPACE: 'operators',
  });
  const { env } = controllerEnvironment({
    ...parts,
    inherited: { OPERATOR_NAMESPACE: 'mine' },
    deployment: { POD_NAMESPACE: 'theirs' },
  });
  expect(env).toEqual({ OPERATOR_NAMESPACE: 'mine', POD_NAMESPACE: 'theirs' });
});
