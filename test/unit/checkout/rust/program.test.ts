import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { cargoTool } from '../../../../src/checkout/rust/build-tool.ts';
import { rustProgram } from '../../../../src/checkout/rust/program.ts';
import { judgeRust } from '../../../../src/checkout/rust/toolchain.ts';
import { buildProgram } from '../../../../src/controller/build.ts';
import { checkoutFacts, languageOf } from '../../../../src/languages.ts';
import { findProgram } from '../../../../src/machine/find-program.ts';
import { directoryWith, put } from '../../controller/support/places.ts';

const NEVER = new AbortController().signal;
/** On a machine without Rust, these tests are left out. */
const withCargo = test.skipIf('why' in findProgram('cargo', process.env.PATH));

const manifest = (more = ''): string =>
  `[package]\nname = "shop-operator"\nversion = "0.1.0"\nedition = "2021"\n${more}\n[dependencies]\nkube = { version = "1", optional = true }\n`;
const KUBE = 'use kube::Client;\n#[kube(\n    kind = "Order",\n    group = "shop.example.com",\n)]\n';
const printing = (text: string): string =>
  `fn main() { println!("${text}"); std::io::stdin().read_line(&mut String::new()).unwrap(); }\n`;

/** Without dependencies, so that the first build needs no network. */
const CRATE = { 'Cargo.toml': manifest().replace(/kube = .*/, ''), 'src/main.rs': printing('one') };

withCargo('cargo builds the program in its workspace, and features that it requires are on', async () => {
  const root = await directoryWith({
    'Cargo.toml': '[workspace]\nmembers = ["operator", "xtask"]\nresolver = "2"\n',
    'operator/Cargo.toml': `${manifest()}\n[features]\nserver = []\n\n[[bin]]\nname = "manager"\npath = "src/main.rs"\nrequired-features = ["server"]\n`,
    'operator/src/main.rs': 'fn main() {}\n// "/validate-orders"\n',
    'xtask/Cargo.toml': '[package]\nname = "xtask"\nversion = "0.1.0"\nedition = "2021"\n',
    'xtask/src/main.rs': 'fn main() {}\n',
  });
  const found = await rustProgram(new Checkout(root), { directory: '/state', paths: ['/validate-orders'] });
  expect(found).toMatchObject({
    name: 'manager',
    source: 'the only program that depends on kube',
    cwd: root,
    build: ['cargo', 'build', '--package', 'shop-operator', '--bin', 'manager', '--features', 'server'],
    output: 'same file',
    run: [join(root, 'target/debug/manager'), '{args}'],
    hasWebhooks: true,
  });
  expect(await found.preflight(NEVER)).toEqual({ is: 'downloads' });
});

withCargo.each<[string, string, string]>([
  ['[build]\njobs = 2\ntarget = "x86_64-unknown-linux-musl"\n', '', 'x86_64-unknown-linux-musl/debug'],
  ['[build]\ntarget = "x86_64-unknown-linux-musl"\n', 'wasm32-wasip1', 'wasm32-wasip1/debug'],
  ['[build]\njobs = 2\n[other]\ntarget = "a"\n', '', 'debug'],
])(
  'the program is where cargo writes it: with %j and the variable %j, in %s',
  async (config, variable, at) => {
    vi.stubEnv('CARGO_BUILD_TARGET', variable);
    onTestFinished(() => void vi.unstubAllEnvs());
    const root = await directoryWith({ ...CRATE, '.cargo/config.toml': config });
    const { run } = await rustProgram(new Checkout(root), { directory: '/state' });
    expect(run[0]).toBe(join(root, 'target', at, 'shop-operator'));
  },
);

withCargo('a program keeps running while the next one is built, and an unchanged one is known', async () => {
  const root = await directoryWith(CRATE);
  const state = await directoryWith();
  const found = await rustProgram(new Checkout(root), { directory: state });
  const plan = {
    ...found,
    build: found.build,
    tool: cargoTool,
    run: found.run.slice(0, 1),
    stateFile: join(state, 'controller.json'),
  };
  const build = async (number: number) => {
    const built = await buildProgram(plan, number, { signal: NEVER, onErrors: () => {} });
    if (!built.ok) throw new Error(built.output);
    return built.program;
  };
  const first = await build(0);
  expect(first.run).toEqual([join(state, 'controller-0')]);
  expect(await found.preflight(NEVER)).toEqual({ is: 'ready' });
  const running = spawn(first.run[0]!, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: running.stdout });
  expect(await once(lines, 'line')).toEqual(['one']);
  expect((await build(1)).content).toBe(first.content);
  await put(root, 'src/main.rs', printing('two'));
  const next = await build(2);
  expect(next.content).not.toBe(first.content);
  const text = (program: string): string => execFileSync(program, { input: '\n', encoding: 'utf8' });
  expect([text(first.run[0]!), text(next.run[0]!)]).toEqual(['one\n', 'two\n']);
  running.stdin.end('\n');
  expect(await once(running, 'exit')).toEqual([0, null]);
  await put(root, 'src/main.rs', 'fn main() { 1 }\n');
  const failed = await buildProgram(plan, 3, { signal: NEVER, onErrors: () => {} });
  expect(failed).toMatchObject({ ok: false, output: expect.stringMatching(/^error\[E0308\]/) });
});

withCargo(
  'a Cargo.toml that cargo refuses, and a toolchain that is too old, are errors with advice',
  async () => {
    const root = await directoryWith({ ...CRATE, 'Cargo.toml': manifest('rust-version = "1.999"') });
    expect(await judgeRust(new Checkout(root), { env: process.env, signal: NEVER })).toMatchObject({
      verdict: 'fail',
      code: 'controller.no-toolchain',
      hint: 'rustup update',
    });
    await put(root, 'Cargo.toml', '[package]\nname = 1\n');
    await expect(rustProgram(new Checkout(root), { directory: '/state' })).rejects.toMatchObject({
      code: 'controller.no-toolchain',
    });
  },
);

test.skipIf('why' in findProgram('rustup', process.env.PATH))(
  'a toolchain that the checkout asks for is not installed by asking',
  async () => {
    const root = await directoryWith({ ...CRATE, 'rust-toolchain.toml': '[toolchain]\nchannel = "1.1.0"\n' });
    vi.stubEnv('RUST_BACKTRACE', '1');
    vi.stubEnv('RUSTUP_AUTO_INSTALL', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const failed = rustProgram(new Checkout(root), { directory: '/state' });
    await expect(failed).rejects.toMatchObject({ code: 'controller.no-toolchain' });
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringMatching(/backtrace/i) });
  },
);

test('without cargo, the error says how to get it', async () => {
  const root = await directoryWith(CRATE);
  const asked = judgeRust(new Checkout(root), { env: { PATH: '/none' }, signal: NEVER });
  await expect(asked).rejects.toMatchObject({
    code: 'controller.no-toolchain',
    hint: expect.stringContaining('https://rustup.rs'),
  });
});

test.each<[string, Record<string, string>, string | undefined]>([
  ['depends on kube', { 'Cargo.toml': manifest() }, 'Rust'],
  [
    'has a member that does',
    { 'Cargo.toml': '[workspace]\n', 'a/Cargo.toml': '[dependencies.kube]\nversion = "1"\n' },
    'Rust',
  ],
  ['only has a tool in Rust', { 'Cargo.toml': '[dependencies]\nserde = "1"\n' }, undefined],
  ['is one of Go with a tool in Rust', { 'Cargo.toml': manifest(), 'go.mod': 'module a\n' }, 'Go'],
])('the language of a checkout that %s', async (_, files, language) => {
  expect((await languageOf(new Checkout(await directoryWith(files))))?.name).toBe(language);
});

test('sources reveal groups, paths, the names of packages, and how they connect', async () => {
  const root = await directoryWith({
    'Cargo.toml': manifest(),
    'src/main.rs': `${KUBE}async fn run() { Config::incluster(); serve("/mutate-orders"); }\n`,
  });
  const facts = await checkoutFacts(new Checkout(root));
  expect(facts).toMatchObject({ connectsFromPod: true, hasSources: true });
  expect([...facts.groups]).toEqual(['shop.example.com']);
  expect([...facts.paths]).toEqual(['/mutate-orders']);
  expect(facts.names).toContain('shop-operator');
});
