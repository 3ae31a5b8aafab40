/**
 * Variables with which a loader, an interpreter or a toolchain loads code or runs programs. In the Deployment they are about the image;
 * here they would decide what the controller's command does (`go run`, `cargo run`, `make run`, a script), so they are not taken over.
 * What only tunes a program stays: GOMEMLIMIT, GODEBUG, RUST_LOG, PYTHONUNBUFFERED and the like.
 */
const FAMILIES = [
  // The dynamic loader, and what the C library and OpenSSL load.
  /^(LD|DYLD|_RLD)_/,
  /^(GCONV_PATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|OPENSSL_(CONF|ENGINES|MODULES))$/,
  // Shells.
  /^(PATH|BASH_ENV|BASHOPTS|SHELLOPTS|CDPATH|IFS|PS4|PROMPT_COMMAND|ZDOTDIR|SHELL)$/,
  /^BASH_FUNC_/,
  // Interpreters and virtual machines.
  /^NODE_(OPTIONS|PATH|REPL_)/,
  /^PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$)/,
  /^(PERL|RUBY|LUA|GUILE)\w*(LIB|OPT|DB|PATH|INIT)/,
  /^(GEM|BUNDLE|COMPOSER|PHP)_|^PHPRC$/,
  /^(JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|JAVA_OPTS|(IBM|OPENJ9)_JAVA_OPTIONS|JAVA_HOME|CLASSPATH|CATALINA_OPTS)$/,
  /^(MAVEN|MVNW|GRADLE|SBT|JVM)_/,
  /^(DOTNET_(STARTUP_HOOKS|ADDITIONAL_DEPS|SHARED_STORE|ROOT)|CORECLR_|COR_|COMPlus_)/,
  /^ERL_(FLAGS|AFLAGS|ZFLAGS|LIBS)$|^ELIXIR_ERL_OPTIONS$/,
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
  /^(HELM_PLUGINS|KUBECTL_EXTERNAL_DIFF|KUSTOMIZE_PLUGIN_HOME)$/,
  // Files and settings with which a client library of a cloud or registry runs a credential program.
  /^(AWS_(CONFIG_FILE|SHARED_CREDENTIALS_FILE)|GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES|DOCKER_CONFIG)$/,
  /^(EDITOR|VISUAL|PAGER|BROWSER|LESSOPEN|LESSCLOSE|MANPAGER)$/,
];

/** Whether a variable can make a program of this machine run other code. */
export function isUnsafe(name: string): boolean {
  return FAMILIES.some((family) => family.test(name));
}
