/**
 * Variables of the machine, not of the operator. Something below the program's own code interprets them: the loader, the shell and the
 * runtime that start it, or the toolchain that builds it. So the machine's own values stay, even if the program's sources name such a
 * variable. A row is what one of these programs reserves for itself.
 */
const OF_THE_MACHINE = [
  // The dynamic loader and the C library.
  /^(LD|DYLD|GCONV|GLIBC|MALLOC|NIS|RES|RESOLV)_|^(GETCONF_DIR|GMON_OUTPUT_PREFIX|HESIOD_CONFIG|HES_DOMAIN|HOSTALIASES|I18NPATH)$/,
  /^(LANG|LOCALDOMAIN|LOCPATH|MSGVERB|NLSPATH|POSIXLY_CORRECT|SEV_LEVEL|TMPDIR|TZ|TZDIR)$/,
  // Shells, and what a login sets.
  /^(BASH\w*|SHELL|SHELLOPTS|IFS|CDPATH|PS\d|PATH|HOME|USER|LOGNAME|PWD|OLDPWD|EDITOR|VISUAL|PAGER)$|^XDG_/,
  // Go's runtime, standard library and toolchain. A name like GOOGLE_PROJECT is not Go's.
  /^(GO[A-Z\d]+|GCCGO|CGO_\w+|ZONEINFO)$/,
  // TLS and proxies: a client reads `<scheme>_proxy`.
  /^(OPENSSL_\w+|SSL_CERT_\w+|SSLKEYLOG\w*|CURL_\w+)$|^[a-z\d]+_proxy$/i,
  // git and ssh, and what holds the user's keys and tickets.
  /^(GIT|SSH|DBUS)_|^(GNUPGHOME|GPG_\w+|KRB5\w+)$/,
  // make and compilers.
  /^(MAKE|MAKEFILES|MAKEOVERRIDES|CC|CXX|CPP|AR|AS|FC|LD|NM|(C|CXX|CPP|F|LD|M|MAKE|GNUMAKE)FLAGS|PKG_CONFIG\w*|CPATH|\w*INCLUDE_PATH|LIBRARY_PATH)$/,
  // The runtimes and package managers of other languages.
  /^(NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED|REPL_\w+)|(npm|yarn|pnpm|bun|deno)_\w+)$/i,
  /^(PYTHON(?!_)\w+|PIP_\w+|UV_\w+|PERL\w*|RUBY(OPT|LIB)|GEM_\w+|BUNDLE_\w+|PHPRC|PHP_INI_\w+|LUA_\w+)$/,
  /^(\w*JAVA_(TOOL_)?OPT(ION)?S|JAVA_HOME|CLASSPATH|DOTNET_STARTUP_HOOKS|CORECLR_\w+|RUST(C|DOC|UP|FLAGS)\w*|CARGO\w*)$/,
  // The cluster that the program uses.
  /^(KUBECONFIG|KUBERNETES_SERVICE_(HOST|PORT))$/,
];

/** Whether the machine interprets this variable, so that its own value stays. */
export function isOfTheMachine(name: string): boolean {
  return OF_THE_MACHINE.some((row) => row.test(name));
}
