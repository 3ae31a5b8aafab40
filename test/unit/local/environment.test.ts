import { expect, test } from 'vitest';
import { controllerEnvironment } from '../../../src/local/environment.ts';

const PATHS = [{ from: '/certs', to: '/state/certs' }];

test('the Deployment overrides the shell, and devloop overrides both', () => {
  const { env, warnings } = controllerEnvironment({
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
  expect(warnings).toEqual([]);
});

test('variables that describe the container are not taken over', () => {
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

test('a HOSTNAME that the Deployment sets, as that of its Pod, is taken over', () => {
  const deployment = { HOSTNAME: 'shop-devloop-s1' };
  const { env } = controllerEnvironment({ inherited: { HOSTNAME: 'desk' }, deployment, paths: [] });
  expect(env).toEqual(deployment);
});

test('a shell that turns webhooks off causes a warning', () => {
  const inherited = { ENABLE_WEBHOOKS: 'false' };
  const fromShell = controllerEnvironment({ inherited, deployment: {}, paths: [] });
  expect(fromShell.env).toEqual(inherited);
  expect(fromShell.warnings).toEqual([expect.stringContaining('ENABLE_WEBHOOKS=false')]);
  const decided = controllerEnvironment({ inherited, deployment: { ENABLE_WEBHOOKS: 'true' }, paths: [] });
  expect(decided).toEqual({ env: { ENABLE_WEBHOOKS: 'true' }, warnings: [], dropped: [] });
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

test.each(
  `LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GLIBC_TUNABLES OPENSSL_CONF BASH_ENV SHELLOPTS NODE_OPTIONS
  PYTHONPATH PYTHONSTARTUP PYTHON_PRESITE PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH DOTNET_STARTUP_HOOKS
  GOFLAGS GOENV GOROOT GOPATH GOTOOLCHAIN GOPROXY GONOSUMDB GOINSECURE GOWORK GOCACHEPROG GOTMPDIR GO111MODULE CC CGO_CFLAGS
  CGO_LDFLAGS RUSTC_WRAPPER RUSTFLAGS CARGO_HOME MAKEFLAGS npm_config_script_shell NPM_CONFIG_USERCONFIG
  GIT_SSH_COMMAND GIT_CONFIG_COUNT SSH_ASKPASS EDITOR PAGER LUA_INIT PIP_INDEX_URL AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE
  GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES ANSIBLE_CONFIG MVNW_REPOURL GOPACKAGESDRIVER IBM_JAVA_OPTIONS OPENJ9_JAVA_OPTIONS
  HELM_PLUGINS KUBECTL_EXTERNAL_DIFF KUSTOMIZE_PLUGIN_HOME DOCKER_CONFIG XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_HOME HELM_DATA_HOME
  NIX_LD NIX_LD_LIBRARY_PATH KRB5_CONFIG SASL_PATH ODBCINI ODBCSYSINI GIO_EXTRA_MODULES GTK_MODULES QT_PLUGIN_PATH CAML_LD_LIBRARY_PATH
  TCLLIBPATH FPATH COVERAGE_PROCESS_START R_PROFILE R_LIBS_USER KUBE_EDITOR KUBERC TF_CLI_CONFIG_FILE GNUPGHOME WGETRC CURL_HOME
  DBUS_SESSION_BUS_ADDRESS SYSTEMD_PAGER CLOUDSDK_PYTHON CLOUDSDK_PYTHON_ARGS CLOUDSDK_GSUTIL_PYTHON CLOUDSDK_CONFIG AZURE_EXTENSION_DIR
  NODE_TLS_REJECT_UNAUTHORIZED SSLKEYLOGFILE`.split(/\s+/),
)('%s of the Deployment does not reach the controller, unless devloop.yaml names it', (name) => {
  const inherited = { [name]: 'mine' };
  const deployment = { [name]: 'theirs', LEVEL: 'info' };
  expect(controllerEnvironment({ inherited, deployment, paths: [] })).toEqual({
    env: { [name]: 'mine', LEVEL: 'info' },
    warnings: [],
    dropped: [name],
  });
  const named = { [name]: 'named' };
  expect(controllerEnvironment({ inherited, deployment, named, paths: [] })).toMatchObject({
    env: { [name]: 'named' },
    dropped: [],
  });
});

test('variables that only tune a program, or that merely look like others, are taken over', () => {
  const deployment = Object.fromEntries(
    `GOMEMLIMIT GOMAXPROCS GOGC GODEBUG GOTRACEBACK GOOGLE_APPLICATION_CREDENTIALS GOVERNOR RUST_LOG RUST_BACKTRACE
    PYTHONUNBUFFERED PYTHON_RUNNER_IMAGE NODE_ENV NODE_NAME NODE_EXTRA_CA_CERTS XDG_CACHE_HOME CLOUDSDK_CORE_PROJECT AZURE_CLIENT_ID R_VERSION HELM_CACHE_HOME ENV LDAP_URL JAVA_OPTIONS_FILE DOTNET_ENVIRONMENT ACCOUNT CACHE
    MAKER LOG_LEVEL HTTPS_PROXY SSL_CERT_FILE`
      .split(/\s+/)
      .map((name) => [name, 'x']),
  );
  expect(controllerEnvironment({ inherited: {}, deployment, paths: [] })).toEqual({
    env: deployment,
    warnings: [],
    dropped: [],
  });
});
