import { type MountedPath, rewritePaths } from './mounts.ts';

export interface EnvironmentParts {
  inherited: Record<string, string | undefined>;
  /** The variables of the Deployment's container, with every valueFrom resolved. */
  deployment: Record<string, string>;
  /** The variables that devloop.yaml names. */
  named?: Record<string, string>;
  kubeconfig?: string;
  /** The controller's TMPDIR: controller-runtime looks for its certificate below it. */
  temporary?: string;
  paths: MountedPath[];
  /** The variables by which a program in a Pod finds the API server. */
  connection?: Record<string, string> | undefined;
  /** The Pod's namespace, set if the program would read it from a file that only Pods have. */
  namespace?: string | undefined;
}

/** Kubernetes' own libraries and many operators read these variables before they read NAMESPACE_FILE. */
const OWN_NAMESPACE = ['OPERATOR_NAMESPACE', 'POD_NAMESPACE'];

/** The file in a Pod that contains its namespace. */
export const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/**
 * Variables that describe the container, not the operator. HOSTNAME is not one of them, because a Deployment usually sets it to pass the
 * Pod's name to the manager.
 */
const OF_THE_CONTAINER = new Set([
  'PATH',
  'HOME',
  'PWD',
  'KUBECONFIG',
  'KUBERNETES_SERVICE_HOST',
  'KUBERNETES_SERVICE_PORT',
]);

export interface LocalEnvironment {
  env: Record<string, string>;
  warnings: string[];
  /** Variables of the Deployment that the controller does not get, because they could run other code on this machine. */
  dropped: string[];
}

/**
 * The Deployment's variables override the inherited ones, those of devloop.yaml override both, and devloop's own override all, except those
 * with the namespace, which are only defaults. Variables that can run other code are taken from the user (the shell, devloop.yaml), but not
 * from the cluster.
 *
 * A variable that only the user's shell sets is kept, because it may be intended. ENABLE_WEBHOOKS=false, from `make run` in a kubebuilder
 * project, makes a take-over pointless, so it causes a warning.
 */
export function controllerEnvironment(parts: EnvironmentParts): LocalEnvironment {
  const { inherited, deployment, named = {}, paths } = parts;
  const env: Record<string, string> = {};
  if (parts.namespace !== undefined) for (const name of OWN_NAMESPACE) env[name] = parts.namespace;
  for (const [name, value] of Object.entries(inherited)) if (value !== undefined) env[name] = value;
  for (const [name, value] of Object.entries(deployment)) {
    if (isSetting(name)) env[name] = rewritePaths(value, paths);
  }
  for (const [name, value] of Object.entries(named)) env[name] = rewritePaths(value, paths);
  if (parts.kubeconfig !== undefined) env.KUBECONFIG = parts.kubeconfig;
  Object.assign(env, parts.connection);
  if (parts.temporary !== undefined) env.TMPDIR = parts.temporary;
  return { env, warnings: warningsFor(parts), dropped: droppedFrom(parts) };
}

function droppedFrom({ deployment, named = {} }: EnvironmentParts): string[] {
  return Object.keys(deployment).filter(
    (name) => isUnsafe(name) && !OF_THE_CONTAINER.has(name) && !(name in named),
  );
}

function warningsFor({ inherited, deployment, named = {} }: EnvironmentParts): string[] {
  if (inherited.ENABLE_WEBHOOKS !== 'false' || 'ENABLE_WEBHOOKS' in { ...deployment, ...named }) return [];
  return [
    'Your shell sets ENABLE_WEBHOOKS=false and the Deployment does not, so the controller will probably serve no webhooks. Unset it to serve them.',
  ];
}

/**
 * Variables with which a loader, an interpreter or a toolchain loads code or runs programs. In the Deployment they belong to the image; on
 * this machine they would decide what the controller's command does (`go run`, `cargo run`, `make run`, a script), so the controller does
 * not get them. Variables that only tune a program are kept: GOMEMLIMIT, GODEBUG, RUST_LOG, PYTHONUNBUFFERED and the like.
 */
const FAMILIES = [
  // The dynamic loader, and what the C library and OpenSSL load.
  /^(LD|DYLD|_RLD)_/,
  /^(GCONV_PATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|OPENSSL_(CONF|ENGINES|MODULES))$/,
  /^(NIX_LD(_LIBRARY_PATH)?|KRB5_CONFIG|SASL_PATH|ODBC(SYS|INST)?INI|(GIO|GTK|QT)_(\w*_)?(PATH|DIR|MODULES))$/,
  // Shells.
  /^(PATH|BASH_ENV|BASHOPTS|SHELLOPTS|CDPATH|IFS|PS4|PROMPT_COMMAND|ZDOTDIR|SHELL)$/,
  /^BASH_FUNC_/,
  // Interpreters and virtual machines.
  /^NODE_(OPTIONS|PATH|REPL_)/,
  // Operators have settings of their own with names like PYTHON_RUNNER_IMAGE.
  /^PYTHON(?!_|UNBUFFERED$|DONTWRITEBYTECODE$)|^PYTHON_PRESITE$/,
  /^(PERL|RUBY|LUA|GUILE)\w*(LIB|OPT|DB|PATH|INIT)/,
  /^(GEM|BUNDLE|COMPOSER|PHP)_|^PHPRC$/,
  /^(JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|JAVA_OPTS|(IBM|OPENJ9)_JAVA_OPTIONS|JAVA_HOME|CLASSPATH|CATALINA_OPTS)$/,
  /^(MAVEN|MVNW|GRADLE|SBT|JVM)_/,
  /^(DOTNET_(STARTUP_HOOKS|ADDITIONAL_DEPS|SHARED_STORE|ROOT)|CORECLR_|COR_|COMPlus_)/,
  /^ERL_(FLAGS|AFLAGS|ZFLAGS|LIBS)$|^ELIXIR_ERL_OPTIONS$/,
  /^(CAML_LD_LIBRARY_PATH|TCLLIBPATH|FPATH|COVERAGE_PROCESS_START|R_(PROFILE|ENVIRON|LIBS|HOME)(_USER)?)$/,
  // Directories of settings, in which git and go find programs to run, and helm finds plug-ins.
  /^(XDG_(CONFIG|DATA)_(HOME|DIRS)|HELM_(CONFIG|DATA)_HOME)$/,
  // Toolchains and build tools.
  /^GO(FLAGS|ENV|ROOT|PATH|BIN|TMPDIR|CACHE|CACHEPROG|MODCACHE|WORK|TOOLCHAIN|TOOLDIR|EXE|EXPERIMENT|FIPS140)$|^GOPACKAGESDRIVER$/,
  /^GO(PROXY|NOPROXY|PRIVATE|SUMDB|NOSUMDB|INSECURE|VCS|AUTH|OS|ARCH|HOSTOS|HOSTARCH|111MODULE|COVERDIR)$/,
  /^GO(386|AMD64|ARM|ARM64|MIPS|MIPS64|PPC64|RISCV64|WASM|TELEMETRY\w*|GCCFLAGS)$|^GCCGO$/,
  /^(CC|CXX|CPP|AR|AS|FC|LD|NM|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|CPATH|LIBRARY_PATH|COMPILER_PATH)$/,
  /^(C|CPLUS|OBJC)_INCLUDE_PATH$|^(CGO|GCC|PKG_CONFIG|CCACHE|CMAKE)_|^PKG_CONFIG$/,
  /^RUST(C|DOC|UP|FLAGS|DOCFLAGS)(_|$)|^CARGO(_|$)/,
  /^(MAKEFLAGS|MAKEFILES|MAKEOVERRIDES|MFLAGS|GNUMAKEFLAGS|MAKE)$/,
  /^(npm|NPM|YARN|PNPM|COREPACK|BUN|DENO|PIP|UV|POETRY)_/i,
  // Programs that other programs start.
  /^(GIT|SSH|GPG|SUDO|ANSIBLE)_/,
  /^(HELM_PLUGINS|KUBECTL_EXTERNAL_DIFF|KUSTOMIZE_PLUGIN_HOME|KUBE_EDITOR|KUBERC|TF_CLI_CONFIG_FILE|TERRAFORM_CONFIG)$/,
  /^(GNUPGHOME|WGETRC|CURL_HOME|DBUS_(SESSION|SYSTEM)_BUS_ADDRESS|SYSTEMD_(PAGER|EDITOR))$/,
  // Files and settings with which a client library of a cloud or registry runs a credential program.
  /^(AWS_(CONFIG_FILE|SHARED_CREDENTIALS_FILE)|GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES|DOCKER_CONFIG)$/,
  /^(CLOUDSDK_(\w*PYTHON\w*|CONFIG|ROOT_DIR)|AZURE_(CONFIG|EXTENSION)_DIR)$/,
  // These run nothing, but expose what the controller sends, including the user's credentials.
  /^(NODE_TLS_REJECT_UNAUTHORIZED|SSLKEYLOGFILE)$/,
  /^(EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|MANPAGER)$/,
];

/** Whether the controller gets this variable of the container: only if it is about the operator and cannot make a program run other code. */
export function isSetting(name: string): boolean {
  return !OF_THE_CONTAINER.has(name) && !isUnsafe(name);
}

/** Whether a variable can make a program of this machine run other code. */
function isUnsafe(name: string): boolean {
  return FAMILIES.some((family) => family.test(name));
}
