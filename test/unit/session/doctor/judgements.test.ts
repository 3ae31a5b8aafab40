import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/cluster/api/errors.ts';
import type { ObjectRef } from '../../../../src/cluster/api/kinds.ts';
import type { EndpointSlice, Service } from '../../../../src/cluster/api/objects.ts';
import type { Permission } from '../../../../src/cluster/api/permissions.ts';
import type { Pod, Workload } from '../../../../src/cluster/api/workloads.ts';
import type { Manager } from '../../../../src/cluster/takeover/pause/pause.ts';
import type { TargetService } from '../../../../src/operator/target.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { notice } from '../../../../src/report/notices/catalogue.ts';
import { envtestVersion } from '../../../../src/session/context/envtest-assets.ts';
import { certificateFinding } from '../../../../src/session/doctor/certificate.ts';
import { type DoctorRun, type Finding, NotChecked } from '../../../../src/session/doctor/check.ts';
import { endpointRoutingFinding, routingOf } from '../../../../src/session/doctor/endpoint-routing.ts';
import { type Envtest, envtestFinding } from '../../../../src/session/doctor/envtest.ts';
import { finalizersFinding } from '../../../../src/session/doctor/finalizers.ts';
import { permissionsFinding } from '../../../../src/session/doctor/permissions.ts';
import { podsFinding } from '../../../../src/session/doctor/pods.ts';
import { oneOfSeveral, routeFinding } from '../../../../src/session/doctor/routes.ts';
import {
  serviceFinding,
  sessionFinding,
  targetCheck,
  targetFinding,
} from '../../../../src/session/doctor/target.ts';
import type { AllowedParts } from '../../../../src/session/start/permissions.ts';
import { partly } from '../../../support/partly.ts';
import { issue, NAME } from '../../certificates/openssl.ts';

const service = (spec: Service['spec'] = {}, labels: Record<string, string> = {}): Service => ({
  metadata: { name: 'hook', namespace: 'shop', labels },
  spec: { selector: { app: 'shop' }, ports: [{ port: 443, targetPort: 'webhook' }], ...spec },
});
const called = (rest: Partial<TargetService> = {}): TargetService => ({
  service: service(),
  serverName: NAME,
  calls: [],
  ports: [{ name: '', port: 443, targetPort: 9443 }],
  source: '',
  ...rest,
});

/** Lines of an answer that end in the middle of a sentence: only the width of the terminal may break a sentence. */
const brokenSentences = ({ answer }: Finding): string[] => answer.split('\n').slice(0, -1);

describe('the target', () => {
  const nothing = { services: [], namespace: 'shop' };
  const operator = (events: DevloopEvent[], services = [called()]) =>
    targetFinding({ target: { ...nothing, services }, events });

  it('is named with where it was found', () => {
    const told: DevloopEvent[] = [
      { type: 'discovered', what: 'service', value: 'shop/hook', source: 'a path' },
    ];
    expect(operator(told)).toEqual({
      verdict: 'ok',
      answer: 'Service shop/hook',
      proof: ['service: a path'],
    });
  });

  it('is not checked where the list of missing permissions says more than the first refusal', async () => {
    const look = (lacking: Permission[]) =>
      targetCheck.run(
        partly<DoctorRun>({
          operator: Promise.reject(new ApiError('services is forbidden', 403, 'Forbidden')),
          permissions: Promise.resolve<AllowedParts>({ asked: lacking, lacking, routes: [] }),
        }),
        AbortSignal.timeout(1000),
      );
    await expect(look([{ kind: 'Service', verb: 'list', why: '' }])).rejects.toThrow(NotChecked);
    await expect(look([])).rejects.toThrow(ApiError);
  });

  it('is a warning if discovery warns, and if there is none', () => {
    expect(operator([notice('error.further', { cause: 'Other ports.' })])).toMatchObject({
      verdict: 'warn',
      answer: 'Service shop/hook\nOther ports.',
    });
    expect(operator([], []).verdict).toBe('warn');
  });
});

describe('the Service', () => {
  it('can be led here, and shows its ports', () => {
    expect(brokenSentences(serviceFinding(called()))).toEqual([]);
    expect(serviceFinding(called())).toMatchObject({
      verdict: 'ok',
      answer: expect.stringContaining('port 443 -> webhook (9443)'),
    });
  });

  it('cannot', () => {
    expect(serviceFinding(called({ service: service({ clusterIP: 'None' }) }))).toMatchObject({
      verdict: 'fail',
      code: 'service.unsupported',
      hint: expect.stringContaining('cluster IP'),
    });
  });
});

describe('the Pods behind it', () => {
  const metadata = { name: 'manager', namespace: 'shop' };
  const object: Workload = { metadata, spec: { selector: {}, template: { spec: { containers: [] } } } };
  const manager: Manager = { ref: { kind: 'Deployment', ...metadata }, object };
  const pod = (owner: string, hash: string): Pod => ({
    metadata: {
      name: `${owner}-${hash}-x`,
      labels: { 'pod-template-hash': hash },
      ownerReferences: [{ kind: 'ReplicaSet', name: `${owner}-${hash}`, uid: '1' }],
    },
  });
  const slice = (ready: boolean, by = 'endpointslice-controller.k8s.io'): EndpointSlice => ({
    metadata: { name: 's', labels: { 'endpointslice.kubernetes.io/managed-by': by } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready } }],
  });
  const judge = (pods: Pod[], slices: EndpointSlice[], labels = {}) =>
    podsFinding({ service: service({}, labels), manager, pods, slices }).verdict;

  it('are all of the Deployment, and ready', () => {
    expect(judge([pod('manager', 'abc')], [slice(true)])).toBe('ok');
  });

  it("are another operator's too, also of one that is named alike", () => {
    expect(judge([pod('manager', 'abc'), pod('other', 'def')], [slice(true)])).toBe('warn');
    expect(judge([pod('manager-two', 'abc')], [slice(true)])).toBe('warn');
  });

  it('are not ready, or not there', () => {
    expect(judge([pod('manager', 'abc')], [slice(false)])).toBe('warn');
    expect(judge([], [])).toBe('warn');
    expect(judge([pod('manager', 'abc')], [slice(true, 'somebody')])).toBe('warn');
  });

  it('cannot be judged while somebody holds the Service', () => {
    expect(judge([], [], { 'devloop.dev/session': 'a' })).toBe('unknown');
  });
});

describe('the certificate', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const ca = issue({ ca: true, subject: '/CN=ca' });
  const other = issue({ ca: true, subject: '/CN=other' });
  const pair = issue({ issuer: ca, names: [NAME] });
  const bundle = (one: { certificate: string }) => Buffer.from(one.certificate).toString('base64');
  const validating: ObjectRef = { kind: 'ValidatingWebhookConfiguration', name: 'a' };
  const mutating: ObjectRef = { kind: 'MutatingWebhookConfiguration', name: 'b' };
  const call = (from: ObjectRef, caBundle: string) => ({
    from,
    name: 'hook.example.com',
    caBundle,
    path: '/',
    port: 443,
    groups: [],
  });
  const facts = {
    names: [NAME],
    notBefore: now,
    notAfter: new Date('2027-01-01T00:00:00Z'),
    issuer: 'CN=ca',
  };
  const secret = {
    namespace: 'shop',
    name: 'cert',
    files: {},
    directories: [],
    exists: true,
    certificate: 'serving',
  };
  const judge = (calls: TargetService['calls'], renewal?: Date, warnings: string[] = []) =>
    certificateFinding(called({ calls }), { pair, facts, secret }, { renewal, warnings, now });

  it('is ok if every caBundle trusts it', () => {
    const found = judge([call(validating, bundle(ca)), call(mutating, bundle(ca))]);
    expect(brokenSentences(found)).toEqual([]);
    expect(found).toMatchObject({
      verdict: 'ok',
      answer: expect.stringContaining('trusts it'),
    });
  });

  it('is a warning if one caBundle does not', () => {
    const found = judge([call(validating, bundle(ca)), call(mutating, bundle(other))]);
    expect(found).toMatchObject({
      verdict: 'warn',
      answer: expect.stringMatching(/ MutatingWebhookConfiguration b: /),
      hint: expect.stringMatching(
        /\nkubectl annotate --overwrite mutatingwebhookconfiguration b cert-manager.io\/inject-ca-from=shop\/serving$/,
      ),
    });
  });

  it('tells which field of which CRD needs which CA', () => {
    const crd: ObjectRef = { kind: 'CustomResourceDefinition', name: 'orders.example.com' };
    const calls = [call(validating, bundle(ca)), call(crd, bundle(other))];
    const { certificate: _, ...own } = secret;
    const found = (of: typeof own) =>
      certificateFinding(
        called({ calls }),
        { pair, facts, secret: of },
        { renewal: undefined, warnings: [], now },
      );
    expect(found(secret).hint).toContain('customresourcedefinition orders.example.com cert-manager.io/');
    expect(found(own).hint).toContain(
      'spec.conversion.webhook.clientConfig.caBundle of CustomResourceDefinition orders.example.com',
    );
    expect(found(own).hint).toContain("kubectl -n shop get secret cert -o jsonpath='{.data.ca\\.crt}'");
  });

  it('is doubtful where one caBundle is empty and others are not', () => {
    const found = judge([call(validating, bundle(ca)), call(mutating, '')]);
    expect(found).toMatchObject({
      verdict: 'warn',
      answer: expect.stringContaining('MutatingWebhookConfiguration b'),
    });
    expect(judge([call(mutating, '')]).verdict).toBe('ok');
  });

  it('is doubtful where its renewal is overdue, or something was warned of', () => {
    const calls = [call(validating, bundle(ca))];
    expect(judge(calls, new Date('2026-05-31T00:00:00Z'))).toMatchObject({
      answer: expect.stringContaining('should have renewed it'),
      hint: 'kubectl -n shop describe certificate serving',
    });
    expect(judge(calls, new Date('2026-06-02T00:00:00Z')).verdict).toBe('ok');
    expect(judge(calls, undefined, ['soon']).verdict).toBe('warn');
  });
});

describe('endpoint routing', () => {
  it('is told by the words of the resolver that kube-apiserver uses', () => {
    expect(routingOf('cannot route to service with ClusterIP "None"')).toBe('clusterIP');
    expect(routingOf('no endpoints available for service "x"')).toBe('endpoints');
    expect(routingOf('endpoints "x" not found')).toBe('endpoints');
    expect(routingOf('service "x" not found')).toBeUndefined();
  });

  it('is unknown where they say neither', () => {
    expect(endpointRoutingFinding('context deadline exceeded').verdict).toBe('unknown');
    expect(brokenSentences(endpointRoutingFinding('no endpoints available for service'))).toEqual([]);
  });
});

describe('objects on a finalizer', () => {
  const base = {
    kinds: ['a.example.com'],
    waiting: ['A x/y (f)'],
    truncated: false,
    controller: undefined,
    resume: 'kubectl scale',
  };

  it('are doubtful only while no controller runs', () => {
    expect(finalizersFinding(base)).toMatchObject({
      verdict: 'warn',
      hint: expect.stringContaining('kubectl scale'),
    });
    expect(finalizersFinding({ ...base, controller: 'the manager' }).verdict).toBe('ok');
    expect(finalizersFinding({ ...base, waiting: [] }).verdict).toBe('ok');
    expect(finalizersFinding({ ...base, kinds: [], waiting: [] }).verdict).toBe('unknown');
  });

  it('are counted beyond the fifth', () => {
    const waiting = Array.from({ length: 7 }, (_, index) => `A ${index} (f)`);
    expect(finalizersFinding({ ...base, waiting, truncated: true })).toMatchObject({
      answer: expect.stringMatching(/A 4 \(f\) and 2 more$/),
      proof: expect.arrayContaining([expect.stringContaining('the first 500 objects')]),
    });
  });
});

describe('envtest', () => {
  const base: Envtest = {
    ...{
      named: undefined,
      directory: '/k8s',
      problems: [],
      version: 'v1.36.0',
      install: 'make setup-envtest',
    },
    ...{ existingCluster: undefined, wanted: undefined, cluster: 'v1.36.3' },
  };
  const nothing = { directory: undefined, version: undefined };

  it.each<[string, Partial<Envtest>, string]>([
    ['nothing installed', nothing, 'warn'],
    ['nothing installed, though the Makefile names a version', { ...nothing, wanted: '1.36' }, 'warn'],
    ['the cluster version', {}, 'ok'],
    ['a program missing', { ...nothing, problems: ['/k8s/etcd is missing'] }, 'warn'],
    ['another version', { version: 'v1.31.0' }, 'warn'],
    ['the existing cluster', { existingCluster: 'true' }, 'warn'],
    ['no cluster to compare with', { cluster: undefined }, 'ok'],
  ])('with %s', (_, rest, verdict) => {
    expect(envtestFinding({ ...base, ...rest }).verdict).toBe(verdict);
  });

  const KUBEBUILDER = `ENVTEST_K8S_VERSION ?= $(shell v='$(call gomodver,k8s.io/api)'; \\
  printf '%s\\n' "$$v" | sed -E 's/^v?[0-9]+\\.([0-9]+).*/1.\\1/')\n`;
  const SHELL = `ENVTEST_K8S_VERSION ?= $(shell go list -m -f "{{ .Version }}" k8s.io/api | awk '{print}')\n`;

  it.each([
    ['a number', 'ENVTEST_K8S_VERSION = 1.31.0\n', '', '1.31.0'],
    ["kubebuilder's Makefile", KUBEBUILDER, 'require (\n\tk8s.io/api v0.36.2\n)\n', '1.36'],
    ["an older kubebuilder's", SHELL, 'require k8s.io/api v0.32.1 // indirect\n', '1.32'],
    ['a replacement', SHELL, 'k8s.io/api v0.32.1\nreplace k8s.io/api => k8s.io/api v0.30.4\n', '1.30'],
    ['no such module', KUBEBUILDER, 'module x\n', undefined],
    ['no setting', 'test:\n\tgo test\n', 'k8s.io/api v0.36.2\n', undefined],
  ])('reads the version from %s', (_, makefile, mod, version) => {
    expect(envtestVersion(makefile, mod)).toBe(version);
  });
});

it('a dead session is a warning that names it', () => {
  expect(sessionFinding([]).verdict).toBe('ok');
  expect(sessionFinding(['a1'])).toMatchObject({ verdict: 'warn', answer: expect.stringContaining('a1') });
});

it('missing permissions on Leases are a warning', () => {
  const lease = { kind: 'Lease' as const, verb: 'create', namespace: 'shop', why: '' };
  expect(permissionsFinding([], [], []).verdict).toBe('ok');
  expect(brokenSentences(permissionsFinding([], [], [lease]))).toEqual([]);
  expect(permissionsFinding([], [], [lease])).toMatchObject({
    verdict: 'warn',
    proof: expect.arrayContaining([expect.stringContaining('create leases')]),
  });
});

it('a route that works is shown with its address, proof and latency', () => {
  const told: DevloopEvent[] = [
    { type: 'route.verified', route: 'direct', address: '10.0.0.1:1', service: 's', latencyMs: 7 },
    { type: 'discovered', what: 'address', value: '10.0.0.1:1', source: 'faces node 10.0.0.2' },
  ];
  expect(routeFinding(told)).toMatchObject({
    verdict: 'ok',
    answer: expect.stringContaining('10.0.0.1:1'),
    latencyMs: 7,
  });
});

describe('a route that fails', () => {
  const failed: Finding = { verdict: 'fail', answer: 'no Pod', hint: 'name an image', code: 'relay.failed' };
  const settled = (value: Finding): PromiseSettledResult<Finding> => ({ status: 'fulfilled', value });

  it('is information with its hint if another route works', () => {
    expect(oneOfSeveral(failed, [settled({ verdict: 'ok', answer: '' }), settled(failed)])).toEqual({
      verdict: 'info',
      answer: expect.stringMatching(/\nno Pod$/),
      hint: 'name an image',
    });
  });

  it('is a failure if none works', () => {
    const all = [settled({ verdict: 'unknown', answer: '' }), settled(failed)];
    expect(oneOfSeveral(failed, all)).toBe(failed);
  });
});
