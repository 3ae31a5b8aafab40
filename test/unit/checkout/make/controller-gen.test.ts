import { expect, test } from 'vitest';
import { manifestGeneration } from '../../../../src/checkout/make/controller-gen.ts';

const VARIABLES = `LOCALBIN ?= $(shell pwd)/bin
CONTROLLER_GEN ?= $(LOCALBIN)/controller-gen
CONTROLLER_TOOLS_VERSION ?= v0.22.0
`;
const rule = (...commands: string[]) =>
  `manifests: controller-gen ## text\n${commands.map((one) => `\t${one}\n`).join('')}`;
const RUN = '"$(CONTROLLER_GEN)"';
const ALL =
  'rbac:roleName=manager-role crd webhook paths="./..." output:crd:artifacts:config=config/crd/bases';
const OUTPUTS = { crd: 'config/crd/bases', rbac: 'config/rbac', webhook: 'config/webhook' };

function read(...commands: string[]) {
  const found = manifestGeneration(`${VARIABLES}${rule(...commands)}`);
  return (
    found && {
      ...found,
      calls: found.calls.map(({ words, outputs }) => ({ words, outputs: Object.fromEntries(outputs) })),
    }
  );
}

test('the rule of kubebuilder is read with its arguments, its outputs and the version', () => {
  expect(read(`${RUN} ${ALL}`)).toEqual({
    target: 'manifests',
    program: { file: '$(shell pwd)/bin/controller-gen' },
    version: 'v0.22.0',
    calls: [{ words: ['rbac:roleName=manager-role', 'crd', 'webhook', 'paths=./...'], outputs: OUTPUTS }],
    isWhole: true,
  });
});

test.each([
  ['a tool of the module', 'go tool controller-gen', { go: ['tool', 'controller-gen'] }, 'v0.22.0'],
  [
    'go run with a version',
    'go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.19.0',
    { go: ['run', 'sigs.k8s.io/controller-tools/cmd/controller-gen@v0.19.0'] },
    'v0.19.0',
  ],
  [
    'what the shell finds',
    '$(shell which controller-gen)',
    { file: '$(shell which controller-gen)' },
    'v0.22.0',
  ],
])('the program can be %s', (_, command, program, version) => {
  expect(read(`${command} ${ALL}`)).toMatchObject({ program, version, isWhole: true });
});

test('a variable of an included file stands for the program, options can be quoted, and each call has outputs of its own', () => {
  const text = `CRD_OPTIONS ?= "crd:maxDescLen=0,headerFile=hack/boilerplate.yaml.txt,crdVersions={v1,v1beta1}"
crds: tools
\t@echo generating
\t@$(CONTROLLER_GEN) $(CRD_OPTIONS) \\
\t\toutput:crd:dir=./deploy/crds paths="./apis/..."
\t$(CONTROLLER_GEN) rbac:roleName=m output:dir=deploy/rbac paths="./a/...;./b/..."
`;
  const found = manifestGeneration(text)!;
  expect(found).toMatchObject({
    target: 'crds',
    program: { file: '$(CONTROLLER_GEN)' },
    version: undefined,
    isWhole: true,
  });
  expect(found.calls.map(({ words }) => words)).toEqual([
    ['crd:maxDescLen=0,headerFile=hack/boilerplate.yaml.txt,crdVersions={v1,v1beta1}', 'paths=./apis/...'],
    ['rbac:roleName=m', 'paths=./a/...;./b/...'],
  ]);
  expect(found.calls.map(({ outputs }) => Object.fromEntries(outputs))).toEqual([
    { crd: 'deploy/crds' },
    { rbac: 'deploy/rbac' },
  ]);
});

test('DeepCopy methods are left to the checkout, and a rule that does more is known to', () => {
  const call = read(`${RUN} object:headerFile="h.txt" ${ALL}`, 'sed -i s/a/b/ config/crd/bases/*.yaml');
  expect(call).toMatchObject({ isWhole: false });
  expect(call!.calls[0]!.words).not.toContain('object:headerFile=h.txt');
});

test.each([
  ['another directory', `${RUN} crd paths=./... output:crd:dir=../elsewhere`],
  ['an absolute one', `${RUN} crd paths=./... output:crd:dir=/etc`],
  ['sources outside', `${RUN} crd paths=../...`],
  ['another generator', `${RUN} crd schemapatch:manifests=a paths=./...`],
  ['a second command in the line', `${RUN} crd paths=./... && rm -r config`],
  ['another file outside', `${RUN} crd rbac:roleName=x,fileName=../../../escaped.txt paths=./...`],
  ['an absolute file', `${RUN} crd rbac:fileName=/tmp/escaped.txt paths=./...`],
  ['a header from outside', `${RUN} crd:headerFile=hack/../../secret paths=./...`],
  ['an absolute header', `${RUN} crd:maxDescLen=0,headerFile=/etc/passwd paths=./...`],
  ['what only make knows', `${RUN} crd $(foreach a,b,$(a)) paths=./...`],
  ['no manifests', `${RUN} object paths=./...`],
])('nothing is generated for %s', (_, command) => {
  expect(read(command)).toBeUndefined();
});
