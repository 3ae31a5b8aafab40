import { isBuiltin } from 'node:module';
import type { Metafile, OnResolveResult, Plugin } from 'esbuild';

const CLIENT = '@kubernetes/client-node';
const STAND_IN = 'stand-in';
const BUILTIN = 'builtin';
const RESOLVING = 'resolving';

const SOCKS = new Set(['socks', 'socks-proxy-agent']);
const SOCKS_FILE = './socks-proxy-agent.js';
/** The client calls it with `new`, and a constructor that returns an object produces that object. */
const LATE_AGENT = `export function SocksProxyAgent(...all) { return new (require('${SOCKS_FILE}').SocksProxyAgent)(...all); }`;

/**
 * devloop uses only KubeConfig of the Kubernetes client, but the client's index imports the whole generated API and undici:
 * 16 MB to ship, and 137 ms to load in every command that talks to a cluster. Neither is ever called, because devloop's
 * transport is node:https with the options from KubeConfig.applyToHTTPSOptions. Therefore:
 *
 * - `import('@kubernetes/client-node')` returns only KubeConfig, because a dynamic import would keep every export.
 * - The modules of the client and of its dependencies count as free of side effects, so tree shaking drops the rest.
 * - `undici`, and `socks` where undici imports it, are empty CommonJS modules: every name imported from them is undefined
 *   and would throw if it were called.
 * - The SOCKS proxy agent, half of what is left, is a separate file that is loaded only if there is such a proxy.
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
          // build.resolve calls this function again; pluginData stops the recursion.
          if (pluginData === RESOLVING || !(path === CLIENT || ofClient.has(from.importer))) return undefined;
          if (isStoodIn(path, from.importer)) return { path, namespace: STAND_IN, sideEffects: false };
          if (from.kind === 'dynamic-import' && path === CLIENT) {
            return { path, namespace: STAND_IN, pluginData: from.resolveDir };
          }
          const found = await build.resolve(path, { ...from, pluginData: RESOLVING });
          // Optional packages, required inside try/catch, can be missing; esbuild handles those on its own.
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

/** Commander loads node:child_process for commands in separate programs. devloop has none, and loading it takes a tenth of the time of `--help`. */
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
 * When an ES module imports a builtin module, Node reads every export of it. Reading `WebSocket` of node:http loads all of undici,
 * and other exports load more that no command needs: a third of the processor time of a short command. Therefore builtin modules
 * are loaded without an import, and only the names in use are read.
 */
export function plainBuiltins(): Plugin {
  return {
    name: 'plain-builtins',
    setup(build) {
      // One copy per importer: a module shared by several chunks would become a file of its own, which costs more than a few repeated lines.
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
    // PURE lets esbuild drop the names that nobody imports, so that they are not read.
    ...names.map((name) => `export const ${name} = /* @__PURE__ */ named('${name}');`),
  ].join('\n');
}

/** Throws if the bundle contains undici after all, which slimKubernetesClient has to keep out. */
export function assertSlim({ outputs }: Metafile): void {
  const inputs = Object.values(outputs).flatMap((output) => Object.keys(output.inputs));
  const found = inputs.filter((input) => input.includes('node_modules/undici/'));
  if (found.length > 0) throw new Error(`the bundle contains undici: ${found.slice(0, 3).join(', ')}`);
}

/** Throws if a module would be loaded together with another one, without being asked for: it has to be imported dynamically. */
export function assertLate({ outputs }: Metafile, late: string, from: string): void {
  const chunkOf = (input: string): string => {
    const found = Object.keys(outputs).find((output) => input in outputs[output]!.inputs);
    if (found === undefined) throw new Error(`the bundle does not contain ${input}`);
    return found;
  };
  const loaded = new Set([chunkOf(from)]);
  for (const chunk of loaded)
    for (const { path, kind, external } of outputs[chunk]!.imports)
      if (kind === 'import-statement' && !external) loaded.add(path);
  if (loaded.has(chunkOf(late))) throw new Error(`${from} loads ${late} at once`);
}
