import { expect, test } from 'vitest';
import { controllerEnvironment } from '../../../src/local/environment.ts';

const PATHS = [{ from: '/certs', to: '/state/certs' }];

test('the Deployment wins over the shell, and what devloop decides over both', () => {
  const { env, notes } = controllerEnvironment({
    inherited: { A: 'shell', B: 'shell', GONE: undefined, TMPDIR: '/tmp', KUBECONFIG: '/home/me/config' },
    deployment: { B: 'deployment', CERTS: '/certs/tls.crt', TMPDIR: '/var/tmp' },
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
  expect(notes).toEqual([]);
});

test('what describes the container stays there', () => {
  const own = { PATH: '/bin', HOME: '/home/me', KUBECONFIG: '/home/me/config' };
  const container = {
    PATH: '/',
    HOME: '/nonexistent',
    KUBECONFIG: '/in/pod',
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
    KUBERNETES_SERVICE_PORT: '443',
  };
  expect(controllerEnvironment({ inherited: own, deployment: container, paths: [] }).env).toEqual(own);
});

test('webhooks that only the shell switches off are said', () => {
  const inherited = { ENABLE_WEBHOOKS: 'false' };
  const said = controllerEnvironment({ inherited, deployment: {}, paths: [] });
  expect(said.env).toEqual(inherited);
  expect(said.notes).toEqual([expect.stringContaining('ENABLE_WEBHOOKS=false comes from your shell')]);
  const decided = controllerEnvironment({ inherited, deployment: { ENABLE_WEBHOOKS: 'true' }, paths: [] });
  expect(decided).toEqual({ env: { ENABLE_WEBHOOKS: 'true' }, notes: [] });
});

test('the namespace of the Pod is said where only a file of the Pod would say it, and nobody else does', () => {
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
