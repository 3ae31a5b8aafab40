import { globSync, readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import type { Metafile, OnResolveResult, Plugin } from 'esbuild';

const CLIENT = '@kubernetes/client-node';
const STAND_IN = 'stand-in';
const STAND_IN_MCP = 'stand-in-mcp';
const BUILTIN = 'builtin';
const RESOLVING = 'resolving';

/** What CommonJS packages find in each module. */
export const COMMONJS =
  "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url); const __dirname = import.meta.dirname;";

/** What KubeConfig connects and logs in with, which devloop does itself. */
const NEVER_CALLED = ['undici', 'socks', 'socks-proxy-agent', 'hpagent', 'openid-client', 'jsonpath-plus'];

/**
 * devloop uses only KubeConfig of the Kubernetes client, to read the entries of a kubeconfig, but the client's index imports the whole
 * generated API and undici: 16 MB to ship, and 137 ms to load in every command that talks to a cluster. Therefore:
 *
 * - `import('@kubernetes/client-node')` returns only KubeConfig, because a dynamic import would keep every export.
 * - The modules of the client and of its dependencies count as free of side effects, so tree shaking drops the rest.
 * - What KubeConfig never calls here is an empty CommonJS module: every name imported from it is undefined and would throw if it were called.
 */
export function slimKubernetesClient(): Plugin {
  return {
    name: 'slim-kubernetes-client',
    setup(build) {
      const ofClient = new Set<string>();
      build.onLoad({ filter: new RegExp(`^(?:${NEVER_CALLED.join('|')})$`), namespace: STAND_IN }, () => ({
        contents: 'module.exports = {};',
      }));
      build.onLoad({ filter: /^@/, namespace: STAND_IN }, ({ pluginData }) => ({
        contents: `export { KubeConfig } from '${CLIENT}';`,
        resolveDir: pluginData,
      }));
      build.onResolve(
        { filter: /.*/ },
        async ({ path, pluginData, ...from }): Promise<OnResolveResult | undefined> => {
          // build.resolve calls this function again; pluginData stops the recursion.
          if (pluginData === RESOLVING || !(path === CLIENT || ofClient.has(from.importer))) return undefined;
          if (NEVER_CALLED.includes(path)) return { path, namespace: STAND_IN, sideEffects: false };
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

/** Commander loads node:child_process for commands in separate programs. devloop has none, and loading it takes a tenth of the time of `--help`. */
export function slimCommander(): Plugin {
  return {
    name: 'slim-commander',
    setup(build) {
      build.onLoad({ filter: /^node:child_process$/, namespace: STAND_IN }, () => ({
        contents: 'export default {};',
      }));
      build.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) =>
        importer.includes('/node_modules/commander/') ? { path, namespace: STAND_IN } : undefined,
      );
    },
  };
}

/** The MCP server validates what an agent passes with zod. It has ajv as well, for questions to the person, which devloop does not ask. */
export function slimMcp(): Plugin {
  return {
    name: 'slim-mcp',
    setup(build) {
      build.onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, ({ path }) => ({
        path,
        namespace: STAND_IN_MCP,
      }));
      build.onLoad({ filter: /.*/, namespace: STAND_IN_MCP }, () => ({
        contents:
          "export { default as process } from 'node:process'; export class DefaultJsonSchemaValidator {}",
      }));
    },
  };
}

/**
 * When an ES module imports a builtin module, Node reads every export of it. Reading `WebSocket` of node:http loads all of undici,
 * and other exports load more that no command needs: a third of the processor time of a short command. Therefore builtin modules
 * are loaded without an import, only the names in use are read, and functions not before they are called.
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

/** Node has loaded them before any program starts. */
const LOADED = ['buffer', 'events', 'fs', 'path', 'process', 'timers', 'url', 'util'];

function exportsOf(path: string): string {
  const all: object = process.getBuiltinModule(path) ?? {};
  const isLoaded = LOADED.includes(path.replace(/^node:/, ''));
  const names = Object.keys(all).filter((name) => name !== 'default');
  return [
    `const $all = () => process.getBuiltinModule('${path}');`,
    'const $named = (name) => $all()[name];',
    'export default /* @__PURE__ */ $all();',
    // PURE lets esbuild drop the names that nobody imports, so that they are not read.
    ...names.map((name) =>
      !isLoaded && isPlainFunction(path, name)
        ? `export function ${name}(...given) { return $all().${name}(...given); }`
        : `export const ${name} = /* @__PURE__ */ $named('${name}');`,
    ),
  ].join('\n');
}

/** Whether this is a function of the module that is neither a class nor has a symbol for util.promisify. */
function isPlainFunction(path: string, name: string): boolean {
  const value: unknown = Object.getOwnPropertyDescriptor(process.getBuiltinModule(path), name)?.value;
  if (typeof value !== 'function' || /^[A-Z]/.test(name)) return false;
  const symbols = Object.getOwnPropertySymbols(value).map(String);
  return path.endsWith('/promises') || !symbols.some((symbol) => /promisify/i.test(symbol));
}

/**
 * Loading a package costs more than reading its file, so a package whose functions most runs never call is loaded by the first call. This
 * works for CommonJS packages only, because esbuild can load those in the middle of a function.
 */
export function lateLibrary(name: string): Plugin {
  return {
    name: `late-${name}`,
    setup(build) {
      const namespace = `late-${name}`;
      build.onResolve({ filter: new RegExp(`^${name}$`) }, (asked) =>
        asked.namespace === namespace ? undefined : { path: name, namespace, sideEffects: false },
      );
      build.onLoad({ filter: /.*/, namespace }, () => ({
        contents: callingLate(name),
        resolveDir: import.meta.dirname,
      }));
    },
  };
}

function callingLate(name: string): string {
  const names = Object.keys(createRequire(import.meta.url)(name)).filter((one) => one !== 'default');
  return [
    `const $late = () => require('${name}');`,
    ...names.map(
      (one) =>
        `export function ${one}(...given) { return new.target ? new ($late().${one})(...given) : $late().${one}(...given); }`,
    ),
  ].join('\n');
}

/**
 * esbuild makes a chunk of the modules that the same entry points and dynamic imports need, so what a program needs at once is spread over
 * many small files, each of which takes Node a third of a millisecond. Here all of them need it, so that it is one file.
 */
export function oneStart(root: string, start: string[]): Plugin {
  return {
    name: 'one-start',
    setup(build) {
      const src = join(root, 'src');
      const late = importedLate(src);
      const imports = start.map((file) => `import ${JSON.stringify(join(src, file))};`).join('\n');
      build.onLoad({ filter: /\.ts$/ }, ({ path }) =>
        late.has(path) ? { contents: `${readFileSync(path, 'utf8')}\n${imports}`, loader: 'ts' } : undefined,
      );
    },
  };
}

/** The files that others import dynamically, and the program itself. */
function importedLate(src: string): Set<string> {
  const found = globSync('**/*.ts', { cwd: src }).flatMap((file) => {
    const text = readFileSync(join(src, file), 'utf8');
    return [...text.matchAll(/\bimport\('(\.[^']+)'\)/g)].map(([, target]) =>
      join(src, dirname(file), target!),
    );
  });
  return new Set([join(src, 'main.ts'), ...found]);
}

/** Throws if the bundle contains after all what slimKubernetesClient has to keep out. */
export function assertSlim({ outputs }: Metafile): void {
  const inputs = Object.values(outputs).flatMap((output) => Object.keys(output.inputs));
  const found = inputs.filter((input) =>
    /node_modules\/(?:undici\/|@kubernetes\/.*\/gen\/models\/)/.test(input),
  );
  if (found.length > 0)
    throw new Error(`the bundle contains undici or the generated API: ${found.slice(0, 3).join(', ')}`);
}

/** Throws if a module would be loaded together with another one, without being asked for: it has to be imported dynamically. */
export function assertLate(metafile: Metafile, late: string, from: string): void {
  if (loadedWith(metafile, from).has(chunkOf(metafile, late)))
    throw new Error(`${from} loads ${late} at once`);
}

/** Throws if a module and what it imports statically are in more than `most` files. */
export function assertTogether(metafile: Metafile, from: string, most: number): void {
  const isCode = (chunk: string): boolean => Object.keys(metafile.outputs[chunk]!.inputs).length > 0;
  const loaded = [...loadedWith(metafile, from)].filter(isCode);
  if (loaded.length > most) throw new Error(`${from} is in ${loaded.length} files: ${loaded.join(', ')}`);
}

/** The output file that contains a module, and the files that are loaded together with it. */
function loadedWith(metafile: Metafile, from: string): Set<string> {
  const loaded = new Set([chunkOf(metafile, from)]);
  for (const chunk of loaded)
    for (const { path, kind, external } of metafile.outputs[chunk]!.imports)
      if (kind === 'import-statement' && !external) loaded.add(path);
  return loaded;
}

function chunkOf({ outputs }: Metafile, input: string): string {
  const found = Object.keys(outputs).find((output) => input in outputs[output]!.inputs);
  if (found === undefined) throw new Error(`the bundle does not contain ${input}`);
  return found;
}
