import { isBuiltin } from 'node:module';
import type { Metafile, OnResolveResult, Plugin } from 'esbuild';

const CLIENT = '@kubernetes/client-node';
const STAND_IN = 'stand-in';
const BUILTIN = 'builtin';
const ASKED = 'asked by us';

const SOCKS = new Set(['socks', 'socks-proxy-agent']);
const SOCKS_FILE = './socks-proxy-agent.js';
/** Called with `new`; a constructor that returns an object gives that. */
const LATE_AGENT = `export function SocksProxyAgent(...all) { return new (require('${SOCKS_FILE}').SocksProxyAgent)(...all); }`;

/**
 * Of the Kubernetes client we need KubeConfig only, but its index pulls in the whole generated API and undici: 16 MB to
 * ship, and 137 ms of loading in every command that talks to a cluster. Neither is ever called, because our transport is
 * node:https with the options that KubeConfig.applyToHTTPSOptions gives. So
 *
 * - `import('@kubernetes/client-node')` gives KubeConfig alone, since a dynamic import would keep every export alive,
 * - the modules of the client and of its dependencies count as free of side effects, so that tree shaking drops the rest,
 * - `undici`, and `socks` where it is for undici, are empty CommonJS modules: whatever name is imported from them is undefined, and
 *   would throw if it were called,
 * - what goes through a SOCKS proxy is a file of its own, which is half of all that is left, and is loaded where there is such a proxy.
 */
export function slimKubernetesClient(): Plugin {
  return {
    name: 'slim-kubernetes-client',
    setup(build) {
      const ofClient = new Set<string>();
      build.onLoad({ filter: /^(undici|socks)$/, namespace: STAND_IN }, () => ({
        contents: 'module.exports = {};',
      }));
      build.onLoad({ filter: /^socks-proxy-agent$/, namespace: STAND_IN }, () => ({ contents: LATE_AGENT }));
      build.onLoad({ filter: /^@/, namespace: STAND_IN }, ({ pluginData }) => ({
        contents: `export { KubeConfig } from '${CLIENT}';`,
        resolveDir: pluginData,
      }));
      build.onResolve({ filter: /^\.\/socks-proxy-agent\.js$/ }, ({ path }) => ({ path, external: true }));
      build.onResolve(
        { filter: /.*/ },
        async ({ path, pluginData, ...from }): Promise<OnResolveResult | undefined> => {
          // build.resolve comes back here; the mark ends the circle.
          if (pluginData === ASKED || !(path === CLIENT || ofClient.has(from.importer))) return undefined;
          if (isStoodIn(path, from.importer)) return { path, namespace: STAND_IN, sideEffects: false };
          if (from.kind === 'dynamic-import' && path === CLIENT) {
            return { path, namespace: STAND_IN, pluginData: from.resolveDir };
          }
          const found = await build.resolve(path, { ...from, pluginData: ASKED });
          // Optional packages, required inside try/catch, may be absent: esbuild itself knows how to deal with those.
          if (found.errors.length > 0) return undefined;
          ofClient.add(found.path);
          return { ...found, sideEffects: false };
        },
      );
    },
  };
}

function isStoodIn(path: string, importer: string): boolean {
  return path === 'undici' || (SOCKS.has(path) && importer.includes(`/${CLIENT}/`));
}

/** Commander loads node:child_process for commands that are programs of their own. We have none, and it is a tenth of `--help`. */
export function slimCommander(): Plugin {
  return {
    name: 'slim-commander',
    setup(build) {
      build.onLoad({ filter: /^node:child_process$/, namespace: STAND_IN }, () => ({
        contents: 'module.exports = {};',
      }));
      build.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) =>
        importer.includes('/node_modules/commander/') ? { path, namespace: STAND_IN } : undefined,
      );
    },
  };
}

/**
 * An ES module that imports one of Node's own reads every export of it, and behind `WebSocket` of node:http lies all of undici, behind
 * others much else that no command needs: a third of the processor time of a short command. So each is fetched without an import,
 * and only the names that are used are read.
 */
export function plainBuiltins(): Plugin {
  return {
    name: 'plain-builtins',
    setup(build) {
      // One for each importer: what several chunks share would become a file of its own, and that costs more than a few lines twice.
      build.onResolve({ filter: /.*/ }, ({ path, kind, importer }) =>
        kind === 'import-statement' && isBuiltin(path)
          ? { path, suffix: `?${importer}`, namespace: BUILTIN, sideEffects: false }
          : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: BUILTIN }, ({ path }) => ({ contents: exportsOf(path) }));
    },
  };
}

function exportsOf(path: string): string {
  const names = Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => name !== 'default');
  return [
    `const all = process.getBuiltinModule('${path}');`,
    'const named = (name) => all[name];',
    'export default all;',
    // Pure: so that a name that nobody imports is not read.
    ...names.map((name) => `export const ${name} = /* @__PURE__ */ named('${name}');`),
  ].join('\n');
}

/** Throws when code that the plugin above has to keep out came in by another way. */
export function assertSlim({ outputs }: Metafile): void {
  const inputs = Object.values(outputs).flatMap((output) => Object.keys(output.inputs));
  const found = inputs.filter((input) => input.includes('node_modules/undici/'));
  if (found.length > 0) throw new Error(`undici is in the bundle again: ${found.slice(0, 3).join(', ')}`);
}
