import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE, type ErrorCode } from '../../src/errors.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { run } from '../cluster/run.ts';
import { account } from '../support/account.ts';
import { BIN, type DevloopRun, runDevloop, startDevloop, YES } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { freezer } from '../support/freezer.ts';
import { hookServer } from '../support/hook-server.ts';
import { createReviewer } from '../support/reviews.ts';
import { type RoutedSample, sharedRoutedSample } from '../support/routed-sample.ts';
import { type Checkout, NAMESPACE } from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';
import { makeKey, type TestSshd } from '../support/sshd/sshd.ts';
import { CTRL_C, openTerminal, type Terminal } from '../support/terminal.ts';

/** Nothing is built, since these tests do not depend on the controller. */
const SERVER = hookServer('local', '9443');

describe('a route that cannot be taken is one clear error, and leaves the cluster as it was:', () => {
  let cluster: TestCluster;
  let sshd: TestSshd;
  let checkout: Checkout;
  let before: RoutedSample['before'];
  let sample: RoutedSample;

  beforeAll(async () => {
    sample = await sharedRoutedSample();
    ({ cluster, sshd, checkout, before } = sample);
  });

  const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig, ...sshd.env });

  interface Refusal {
    code: ErrorCode;
    message: RegExp;
    hint: RegExp;
  }

  async function refuses(
    args: string[],
    refusal: Refusal,
    variables: Record<string, string> = {},
  ): Promise<void> {
    const { code, events, log } = await runDevloop(['up', ...args, ...SERVER], {
      cwd: checkout.directory,
      env: { ...env(), ...variables },
    });
    const errors = events.filter((event) => event.type === 'error');
    expect(errors, log).toMatchObject([
      {
        code: refusal.code,
        message: expect.stringMatching(refusal.message),
        hint: expect.stringMatching(refusal.hint),
      },
    ]);
    expect(code).toBe(CATALOGUE[refusal.code].exit);
    // A terminating Pod stays for some seconds.
    await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
  }

  describe('ssh', () => {
    const viaSsh = (...more: string[]): string[] => ['--route', `ssh:${sshd.to}`, ...more];

    it('to a host that nobody knows', async () => {
      await refuses(['--route', 'ssh:dev@no-such-host.invalid'], {
        code: 'ssh.unreachable',
        message: /no-such-host\.invalid/,
        hint: /./,
      });
    });

    it('to a host where nothing listens', async () => {
      await refuses(['--route', `ssh:${sshd.to}:2`], {
        code: 'ssh.unreachable',
        message: new RegExp(`${sshd.address}.*refuse`),
        hint: /./,
      });
    });

    it('with a key that the host does not take', async () => {
      const key = join(sshd.dir, 'other');
      await makeKey(key);
      const config = join(sshd.dir, 'home/.ssh/config');
      await writeFile(config, `IdentityFile ${key}\nIdentitiesOnly yes\n`, { mode: 0o600 });
      await refuses(viaSsh(), { code: 'ssh.auth', message: /other/, hint: /./ });
      await rm(config);
    });

    it('with a key whose passphrase nobody can be asked for', async () => {
      const key = join(sshd.dir, 'locked');
      await makeKey(key, ['-t', 'ed25519', '-N', 'secret']);
      const config = join(sshd.dir, 'home/.ssh/config');
      await writeFile(config, `IdentityFile ${key}\nIdentitiesOnly yes\n`, { mode: 0o600 });
      await refuses(viaSsh(), { code: 'ssh.auth', message: /locked/, hint: /./ });
      await rm(config);
    });

    it('to a host that shows another key than known_hosts holds', async () => {
      const known = join(sshd.dir, 'home/.ssh/known_hosts');
      const own = await run('cat', [known]);
      await makeKey(join(sshd.dir, 'stranger'));
      const [type, key] = (await run('cat', [join(sshd.dir, 'stranger.pub')])).split(' ');
      await writeFile(known, `${sshd.address} ${type} ${key}\n`);
      await refuses(viaSsh(), {
        code: 'ssh.host-key',
        message: /known_hosts/,
        hint: new RegExp(`ssh-keygen .*-R.*${sshd.address.replaceAll('.', '\\.')}`),
      });
      await writeFile(known, own);
    });

    describe('whose key a person is asked about, who answers with Ctrl-C:', () => {
      const known = (): string => join(sshd.dir, 'home/.ssh/known_hosts');
      /** The terminal's settings before and after, and devloop's exit code, are printed around its output. */
      const asked = async (variables: Record<string, string>): Promise<Terminal> => {
        const program = [process.execPath, BIN, 'up', YES, ...viaSsh(), ...SERVER]
          .map((word) => `'${word}'`)
          .join(' ');
        const line = `trap : INT; stty -g; ${program}; echo "ended with $?"; stty -g`;
        const terminal = openTerminal(line, { cwd: checkout.directory, env: { ...env(), ...variables } });
        await expect.poll(terminal.shown, { timeout: 60_000 }).toContain('(yes/no)');
        return terminal;
      };
      const settings = (shown: string): string[] => shown.match(/^[0-9a-f]+(:[0-9a-f]+){10,}/gm) ?? [];
      let own: string;

      beforeAll(async () => {
        own = await readFile(known(), 'utf8');
        await writeFile(known(), '');
      });
      afterAll(() => writeFile(known(), own));

      it('everything is put back', async () => {
        await using terminal = await asked({});
        terminal.type(CTRL_C);
        await terminal.closed;
        expect(terminal.shown()).toContain('ended with 130');
        expect(terminal.shown().match(/A second Ctrl-C/g)).toHaveLength(1);
        const [first, last] = settings(terminal.shown());
        expect(last).toBe(first);
        expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
      });

      it('a second one ends at once', async () => {
        await using way = await freezer(cluster.kubeconfig);
        await using terminal = await asked({ KUBECONFIG: way.kubeconfig });
        way.freeze();
        terminal.type(CTRL_C);
        await expect.poll(terminal.shown).toContain('second Ctrl-C');
        // If it came sooner, it would count as the same Ctrl-C, passed on by npm.
        await new Promise((resolve) => setTimeout(resolve, 400));
        terminal.type(CTRL_C);
        await expect.poll(terminal.shown).toContain('ended with 130');
        await terminal.closed;
        const [first, last] = settings(terminal.shown());
        expect(last).toBe(first);
        const { code, log } = await runDevloop(['down'], { cwd: checkout.directory, env: env() });
        expect(code, log).toBe(0);
        expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
      });
    });

    it('to a host that forwards nothing', async () => {
      await sshd.restart(['AllowTcpForwarding no']);
      await refuses(viaSsh(), { code: 'ssh.forwarding', message: /./, hint: /AllowTcpForwarding/ });
      await sshd.restart();
    });

    it('at a port that is taken', async () => {
      await refuses(viaSsh('--port', '22'), { code: 'ssh.forwarding', message: /22/, hint: /./ });
    });

    it('whose sshd goes in the middle: reviews fail in their time, and Ctrl-C still puts everything back', async () => {
      await using up: DevloopRun = startDevloop(['up', ...viaSsh(), ...SERVER], {
        cwd: checkout.directory,
        env: env(),
      });
      await up.waitFor('session.ready', undefined, 120_000);
      await sshd.stop();
      await up.waitFor('route.lost');
      await using reviewer = await createReviewer(cluster.kubeconfig);
      expect(await reviewer.ask()).toMatch(/failed calling webhook/);
      await sshd.restart(['GatewayPorts no']);
      await up.waitFor('route.reconnected');
      const warning = await up.waitFor('warning', ({ code }) => code === 'route.reconnected-unreached');
      expect(warning.hint).toContain('GatewayPorts clientspecified');
      up.signal('SIGINT');
      expect(await up.exited, up.log()).toBe(130);
      expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
      await sshd.restart();
    });
  });

  describe('relay', () => {
    it('not for an address that it does not use', async () => {
      const { code, log } = await runDevloop(
        ['up', '--dry-run', '--route', 'relay', '--address', '127.0.0.1', ...SERVER],
        { cwd: checkout.directory, env: env() },
      );
      expect(code, log).toBe(0);
    });

    it('with an image that cannot be pulled', async () => {
      await refuses(['--route', 'relay', '--relay-image', 'registry.invalid/node:1'], {
        code: 'relay.failed',
        message: /ErrImagePull|ImagePullBackOff/,
        hint: /--relay-image/,
      });
    });

    it('where a quota has no room for its Pod', async () => {
      const quotas = `/api/v1/namespaces/${NAMESPACE}/resourcequotas`;
      await cluster.call('POST', quotas, { metadata: { name: 'full' }, spec: { hard: { pods: '0' } } });
      await refuses(['--route', 'relay'], {
        code: 'relay.failed',
        message: /exceeded quota/,
        hint: /resourcequota/,
      });
      await cluster.call('DELETE', `${quotas}/full`);
    });

    it('for an account that may not forward ports', async () => {
      const rules = [
        { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] },
        { apiGroups: [''], resources: ['services', 'configmaps', 'pods', 'secrets'], verbs: ['*'] },
        {
          apiGroups: ['apps', 'admissionregistration.k8s.io', 'coordination.k8s.io'],
          resources: ['*'],
          verbs: ['*'],
        },
      ];
      const KUBECONFIG = await account(cluster, 'no-forward', rules);
      await refuses(
        ['--route', 'relay'],
        {
          code: 'cluster.forbidden',
          message: /create {2}pods\/portforward/,
          hint: /auth can-i create pods\/portforward/,
        },
        { KUBECONFIG },
      );
      const cwd = checkout.directory;
      const dryRun = ['up', '--dry-run', '--route', 'relay', ...SERVER];
      const { events, log } = await runDevloop(dryRun, { cwd, env: { ...env(), KUBECONFIG } });
      const errors = events.filter(({ type }) => type === 'error');
      const message = expect.stringMatching(/create {2}pods\/portforward/);
      expect(errors, log).toMatchObject([{ code: 'cluster.forbidden', message }]);
    });
  });

  it('direct, where --allow-from keeps kube-apiserver out', async () => {
    await refuses(['--route', 'direct', '--allow-from', '192.0.2.0/24'], {
      code: 'route.none',
      message: /--allow-from does not allow connections from 10\.99\./,
      hint: /./,
    });
  });

  it('direct, where a policy refuses endpoints that no Pod has', async () => {
    await using _policy = await podsOnly(cluster);
    await refuses(['--route', 'direct'], {
      code: 'cluster.forbidden',
      message: /endpoints without a Pod/,
      hint: /--route relay/,
    });
  });

  it('any way: what was tried is told, each with its cause', async () => {
    await refuses(['--address', '192.0.2.7', '--port', '17443', '--relay-image', 'registry.invalid/node:1'], {
      code: 'route.none',
      message: /direct: [\s\S]*192\.0\.2\.7[\s\S]*relay: .*(ErrImagePull|ImagePullBackOff)/,
      hint: /--route ssh:/,
    });
  });
});

/** Cloud providers have such a policy. Resolves when it is in force. */
async function podsOnly(cluster: TestCluster): Promise<AsyncDisposable> {
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const metadata = { name: 'pods-only' };
  const resourceRules = [
    {
      apiGroups: ['discovery.k8s.io'],
      apiVersions: ['v1'],
      resources: ['endpointslices'],
      operations: ['CREATE', 'UPDATE'],
    },
  ];
  await cluster.call('POST', `${admission}/validatingadmissionpolicies`, {
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules },
      validations: [
        {
          expression: '!has(object.endpoints) || object.endpoints.all(one, has(one.targetRef))',
          message: 'endpoints without a Pod',
          reason: 'Forbidden',
        },
      ],
    },
  });
  await cluster.call('POST', `${admission}/validatingadmissionpolicybindings`, {
    metadata,
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  });
  const slice = {
    metadata: { name: 'foreign' },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'] }],
  };
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices?dryRun=All`;
  const attempt = (): Promise<unknown> => cluster.call('POST', slices, slice);
  await eventually(() => expect(attempt()).rejects.toThrow('without a Pod'));
  return {
    async [Symbol.asyncDispose]() {
      await cluster.call('DELETE', `${admission}/validatingadmissionpolicybindings/${metadata.name}`);
      await cluster.call('DELETE', `${admission}/validatingadmissionpolicies/${metadata.name}`);
      await eventually(attempt);
    },
  };
}
