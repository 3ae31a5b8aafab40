import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { GO } from '../../../src/checkout/go/go.ts';
import { isOfTheMachine } from '../../../src/local/machine-variables.ts';
import { MOST_VARIABLES, takenVariables } from '../../../src/local/taken-variables.ts';
import { directoryWith, put } from '../controller/support/places.ts';

/** Variables with which programs load code, run commands, or say where they send what they know. */
const PROBED =
  `LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GLIBC_TUNABLES GCONV_PATH OPENSSL_CONF
  PATH HOME SHELL BASH_ENV ENV SHELLOPTS PS4 IFS PROMPT_COMMAND
  MAKEFLAGS MAKEFILES GNUMAKEFLAGS MFLAGS CONTROLLER_GEN KUSTOMIZE ENVTEST GOLANGCI_LINT GO LOCALBIN IMG CONTAINER_TOOL KUBECTL
  GOFLAGS GOENV GOROOT GOPATH GOTOOLCHAIN GOPROXY GOSUMDB GOWORK GOCACHEPROG GOTMPDIR GOPACKAGESDRIVER GODEBUG CC CXX CGO_CFLAGS CGO_LDFLAGS PKG_CONFIG
  NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS npm_config_script_shell NPM_CONFIG_USERCONFIG YARN_IGNORE_PATH
  PYTHONPATH PYTHONSTARTUP PYTHONHOME PIP_INDEX_URL PERL5OPT PERL5LIB RUBYOPT RUBYLIB GEM_HOME BUNDLE_GEMFILE LUA_INIT PHPRC
  JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH MAVEN_OPTS GRADLE_OPTS DOTNET_STARTUP_HOOKS CORECLR_PROFILER_PATH
  RUSTC_WRAPPER RUSTFLAGS CARGO_HOME CARGO_BUILD_RUSTC
  GIT_SSH_COMMAND GIT_CONFIG_COUNT GIT_EXTERNAL_DIFF SSH_ASKPASS SSH_AUTH_SOCK GNUPGHOME EDITOR VISUAL PAGER BROWSER
  KUBECONFIG KUBE_EDITOR KUBECTL_EXTERNAL_DIFF HELM_PLUGINS HELM_CONFIG_HOME KUSTOMIZE_PLUGIN_HOME DOCKER_CONFIG DOCKER_HOST
  XDG_CONFIG_HOME XDG_DATA_HOME AWS_CONFIG_FILE GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES CLOUDSDK_PYTHON TF_CLI_CONFIG_FILE
  HTTPS_PROXY https_proxy NO_PROXY SSL_CERT_FILE SSLKEYLOGFILE NODE_TLS_REJECT_UNAUTHORIZED ANSIBLE_CONFIG DBUS_SESSION_BUS_ADDRESS`.split(
    /\s+/,
  );

const kubebuilder = () =>
  directoryWith({
    'go.mod': 'module example.com/shop\n',
    'main.go': 'package main\n\nimport "os"\n\nvar mode = os.Getenv("SHOP_MODE")\n',
    'main_test.go': PROBED.map((name) => `os.Getenv("${name}")\n`).join(''),
    Makefile: PROBED.map((name) => `${name} ?= x\n\t$(${name})\n`).join(''),
    'run.sh': PROBED.map((name) => `"$${name}"\n`).join(''),
    'hack/tool.go': PROBED.map((name) => `os.Getenv("${name}")\n`).join(''),
  });

const valued = (names: string[], value = 'x') => Object.fromEntries(names.map((name) => [name, value]));

test('no variable that runs something somewhere reaches `make run`, unless a program source names it', async () => {
  const root = await kubebuilder();
  const command = {
    checkout: new Checkout(root),
    run: ['make', 'run'],
    keptProgram: join(root, '..', 'unused'),
  };
  expect(PROBED.length).toBeGreaterThan(100);
  const variables = valued([...PROBED, 'SHOP_MODE']);
  expect([...(await takenVariables(variables, command))]).toEqual(['SHOP_MODE']);
  await writeFile(join(root, 'more.py'), 'os.environ["CONTROLLER_GEN"], os.environ["MAKEFLAGS"]\n');
  command.checkout.forget();
  expect([...(await takenVariables(variables, command))].sort()).toEqual(['CONTROLLER_GEN', 'SHOP_MODE']);
});

test('the user names a variable in the command, or in a file that the command names', async () => {
  const root = await directoryWith({});
  const file = await put(await directoryWith({}), 'server.mjs', 'console.log(process.env.FROM_FILE)\n');
  const run = ['node', '-e', 'console.log(process.env.FROM_COMMAND)', file, 'AS_WORD', '--port=$IN_WORD'];
  const variables = valued(['FROM_FILE', 'FROM_COMMAND', 'OTHER', 'AS_WORD', 'IN_WORD', 'WORD']);
  expect(
    [...(await takenVariables(variables, { checkout: new Checkout(root), run, keptProgram: root }))].sort(),
  ).toEqual(['AS_WORD', 'FROM_COMMAND', 'FROM_FILE', 'IN_WORD']);
});

test.each(
  `LD_PRELOAD PATH HOME SHELL BASH_ENV IFS MAKEFLAGS GOFLAGS GODEBUG GOPACKAGESDRIVER CC NODE_OPTIONS PYTHONPATH PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS
  CLASSPATH DOTNET_STARTUP_HOOKS RUSTC_WRAPPER CARGO_HOME KUBECONFIG XDG_CONFIG_HOME HTTPS_PROXY SSL_CERT_FILE TMPDIR
  ALL_PROXY all_proxy ftp_proxy socks5_proxy OPENSSL_CONF OPENSSL_ENGINES SSLKEYLOGFILE CURL_CA_BUNDLE GIT_SSH_COMMAND GIT_CONFIG_COUNT SSH_ASKPASS SSH_AUTH_SOCK
  GNUPGHOME KRB5_CONFIG KRB5CCNAME DBUS_SESSION_BUS_ADDRESS`.split(/\s+/),
)('the machine keeps its own %s, even if the sources name it', async (name) => {
  const root = await directoryWith({ 'main.go': `package main\n\nvar _ = os.Getenv("${name}")\n` });
  const linked = async () => new Map([['example.com/shop', root]]);
  for (const more of [{}, { linked }])
    expect([
      ...(await takenVariables(
        { [name]: 'x' },
        { checkout: new Checkout(root), run: ['make'], keptProgram: join(root, 'kept'), ...more },
      )),
    ]).toEqual([]);
});

test('of thousands of variables, only the first are looked for', async () => {
  const names = Array.from({ length: 2 * MOST_VARIABLES }, (_, at) => `SHOP_${at}`);
  const text = names.map((name) => `var _ = os.Getenv("${name}")\n`).join('');
  const root = await directoryWith({ 'main.go': `package main\n\n${text}` });
  const linked = async () => new Map([['example.com/shop', root]]);
  const taken = await takenVariables(valued(['LD_PRELOAD', ...names]), {
    ...{ checkout: new Checkout(root), run: ['make'], keptProgram: join(root, 'kept') },
    linked,
  });
  expect([...taken]).toEqual(names.slice(0, MOST_VARIABLES));
});

/** A program with a library of each kind, and a package of the standard library. */
async function withLibraries() {
  const root = await directoryWith({ 'main.go': 'package main\n' });
  const modules = await directoryWith({
    'pkg@v1.0.0/system/names.go': 'package system\n\nconst NamespaceEnvKey = "SYSTEM_NAMESPACE"\n',
    'operator-lib@v1.0.0/conditions/factory.go':
      'package conditions\n\nconst operatorCondEnvVar = "OPERATOR_CONDITION_NAME"\n',
    'otel@v1.0.0/otlpconfig/envconfig.go':
      'package otlpconfig\n\nvar _ = Reader{Namespace: "OTEL_EXPORTER_OTLP"}\n',
    'otel@v1.0.0/otlpconfig/options.go': 'package otlpconfig\n\nvar _ = envconfig.WithURL("ENDPOINT", f)\n',
    'aws@v1.0.0/config/env_config.go':
      'package config\n\nconst (\n\ta = "AWS_REGION"\n\tb = "AWS_CONFIG_FILE"\n\tc = "AWS_SECRET_ACCESS_KEY"\n\td = "AWS_SESSION_TOKEN"\n)\n',
    'azure@v1.0.0/azidentity/env.go': 'package azidentity\n\nconst secret = "AZURE_CLIENT_SECRET"\n',
    'editor@v1.0.0/editor.go': 'package editor\n\nvar _ = os.Getenv("KUBE_EDITOR")\n',
    'editor@v1.0.0/editor_test.go': 'package editor\n\nvar _ = os.Getenv("ONLY_TESTED")\n',
  });
  const paths = [
    'pkg@v1.0.0/system',
    'operator-lib@v1.0.0/conditions',
    'otel@v1.0.0/otlpconfig',
    'aws@v1.0.0/config',
    'azure@v1.0.0/azidentity',
    'editor@v1.0.0',
  ];
  const packages = new Map(paths.map((path) => [`example.com/${path}`, join(modules, path)]));
  const standard = join(
    execFileSync('go', ['env', 'GOROOT'], { encoding: 'utf8' }).trim(),
    'src',
    'mime',
    'multipart',
  );
  packages.set('mime/multipart', standard).set('example.com/shop', root);
  return {
    checkout: new Checkout(root),
    run: ['/controller'],
    modules,
    language: GO,
    linked: async () => packages,
    keptProgram: join(root, 'cache', 'kept'),
  };
}

const OF_LIBRARIES = {
  SYSTEM_NAMESPACE: 'shop',
  OPERATOR_CONDITION_NAME: 'shop.v1',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.observability:4317',
  AWS_REGION: 'eu-west-1',
  AWS_SECRET_ACCESS_KEY: 'abcdef+ghi=',
};

test('a built program gets the variables that a linked package names', async () => {
  const program = await withLibraries();
  const variables = { ...OF_LIBRARIES, ONLY_TESTED: 'x', UNNAMED: 'x', multipartmaxparts: 'x' };
  expect([...(await takenVariables(variables, program))].sort()).toEqual(Object.keys(OF_LIBRARIES).sort());
  // What was found is kept for as long as the packages are the same.
  await rm(program.modules, { recursive: true });
  expect([...(await takenVariables(variables, program))].sort()).toEqual(Object.keys(OF_LIBRARIES).sort());
  const others = async () => new Map([...(await program.linked())].slice(1));
  expect([...(await takenVariables(variables, { ...program, linked: others }))]).toEqual([]);
});

test.each([
  '/etc/shop/config',
  '~/config',
  './config',
  'sh -c x',
  'sh;x',
  'x$(y)',
  'a:/b',
  'a=/b',
  'file:///x',
  'x|y',
  '`x`',
  "'x'",
  'x\ny',
  '../x',
  'api/../../../../../../etc/shop/config.yaml',
  'api/config.yaml',
  'a/..',
  '..',
  'x:..',
  'x:////tmp/evil',
  ',//x',
  '=//x',
  'a@/x',
  'a?/x',
  'http:/etc/x',
  'http:etc/x',
  'http:////etc/x',
  'http://h//etc/x',
  'http://h,/etc/x',
  'http://h:/etc/x',
  'http://h@/etc/x',
  'http://h?/etc/x',
  'http://h/x:/etc/x',
  'http://h/x=/etc/x',
  'http://h/../../etc/x',
  'http://h:99999/x',
  'http://h\\x/y',
  'unix:///run/x.sock',
  'git+ssh://h/x',
  '//h/x',
])('a variable that only a library names has no value like %j: it could be loaded or run', async (value) => {
  const program = await withLibraries();
  expect([...(await takenVariables({ AWS_CONFIG_FILE: value, KUBE_EDITOR: value }, program))]).toEqual([]);
  await put(program.checkout.root, 'own.go', 'package main\n\nvar _ = os.Getenv("AWS_CONFIG_FILE")\n');
  program.checkout.forget();
  expect([...(await takenVariables({ AWS_CONFIG_FILE: value }, program))]).toEqual(['AWS_CONFIG_FILE']);
});

test.each([
  '',
  'true',
  '5s',
  'https://shop.example:8443/a/b',
  'a=b,c=d',
  'http://a:2379,HTTPS://b.example/,grpc://[::1]:80/x',
  'https://key@errors.example/1',
  '[::1]:80',
  '50%',
  'a@b.example',
])('it can have the value %j', async (value) => {
  expect([...(await takenVariables({ AWS_REGION: value }, await withLibraries()))]).toEqual(['AWS_REGION']);
});

test.each([
  ['AWS_SECRET_ACCESS_KEY', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'],
  ['AWS_SESSION_TOKEN', 'IQoJb3JpZ2luX2VjE//a/b+c=='],
  ['AZURE_CLIENT_SECRET', 'abc8Q~Ab.c_d-e~f'],
])('a secret that only its SDK names can have what base64 and secrets contain: %s', async (name, value) => {
  const program = await withLibraries();
  expect([
    ...(await takenVariables({ [name]: value, AWS_REGION: value, KUBE_EDITOR: value }, program)),
  ]).toEqual([name]);
});

test.each([
  '/etc/shop',
  '//h/x',
  '~/x',
  './x',
  '../x',
  'a/../../x',
  '.x/y',
  'sh -c x',
  'x$(y)',
  'file:///x',
  'x:/y',
  'x\ny/z',
])('a secret that only its SDK names has no value like %j', async (value) => {
  const variables = { AWS_SECRET_ACCESS_KEY: value, AZURE_CLIENT_SECRET: value };
  expect([...(await takenVariables(variables, await withLibraries()))]).toEqual([]);
});

test("the machine keeps whatever Go's runtime, standard library and toolchain read", () => {
  const root = execFileSync('go', ['env', 'GOROOT'], { encoding: 'utf8' }).trim();
  const toolchain = Object.keys(JSON.parse(execFileSync('go', ['env', '-json'], { encoding: 'utf8' })));
  const files = globSync(
    ['os', 'net', 'time', 'runtime', 'crypto', 'syscall', 'go/build', 'vendor'].map(
      (one) => `${one}/**/*.go`,
    ),
    {
      cwd: join(root, 'src'),
    },
  ).filter(
    (file) => !/_test\.go$|_(?:windows|plan9|wasip1)\.go$|testdata|testenv|^os\/signal|cgi/.test(file),
  );
  const read = files.flatMap((file) =>
    [
      ...readFileSync(join(root, 'src', file), 'utf8').matchAll(
        /(?:[gG]etenv|LookupEnv|getEnvAny)\(((?:\s*"\w+",?)+)\)/g,
      ),
    ].flatMap(([, names]) => [...names!.matchAll(/"(\w+)"/g)].map(([, name]) => name!)),
  );
  expect(read).toEqual(expect.arrayContaining(['HOME', 'ZONEINFO', 'HTTPS_PROXY', 'GODEBUG']));
  // Other systems, CGI, and debug output.
  const harmless = [
    'AppData',
    'LocalAppData',
    'SYSTEMROOT',
    'home',
    'REQUEST_METHOD',
    'ASR_CONFIG',
    'DEBUG_HTTP2_GOROUTINES',
  ];
  const others = [...toolchain, ...read].filter((name) => !isOfTheMachine(name) && !harmless.includes(name));
  expect([...new Set(others)].sort()).toEqual([]);
});

test.runIf(process.platform === 'linux')(
  'the machine keeps whatever its loader removes for other users',
  () => {
    const [loader] = globSync(['/lib64/ld-linux*.so*', '/lib/ld-linux*.so*', '/lib/ld-musl*.so*']);
    const text = readFileSync(loader!, 'latin1');
    const names = text.slice(text.indexOf('GCONV_PATH\0')).split('\0');
    const unsafe = names.slice(0, names.indexOf('')).filter((name) => /^[A-Z_]+$/.test(name));
    expect(unsafe).toContain('GLIBC_TUNABLES');
    expect(unsafe.filter((name) => !isOfTheMachine(name))).toEqual([]);
  },
);

test.each(
  'FEATURE_FLAGS RELATED_IMAGE_KUBE_RBAC_PROXY SHOP_HTTPS_PROXY SSL_MODE GOOGLE_PROJECT PYTHON_RUNNER_IMAGE NODE_NAME NODE_ENV ENV RUST_LOG HOSTNAME LDAP_URL POD_NAMESPACE KUBERNETES_CLUSTER_DOMAIN'.split(
    ' ',
  ),
)('%s is not of the machine', (name) => {
  expect(isOfTheMachine(name)).toBe(false);
});
