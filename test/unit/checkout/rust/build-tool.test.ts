import { expect, test } from 'vitest';
import { cargoAdvice, cargoTool } from '../../../../src/checkout/rust/build-tool.ts';

test.each([
  [['cargo', 'build', '--bin', 'shop'], true],
  [['cargo', '+nightly', 'b'], true],
  [['cargo', 'run'], false],
  [['make', 'build'], false],
])('%s is a build of cargo: %s', (command, is) => {
  expect(cargoTool.builds(command)).toBe(is);
});

test('progress counts what cargo downloads and compiles, also in pieces of lines', () => {
  const progress = cargoTool.progress();
  expect(progress.now()).toBeUndefined();
  progress.read(' Downloading crates ...\n  Downloaded serde v1.0.1\n  Downl');
  expect(progress.now()).toEqual({ step: 'downloading', what: 'serde v1.0.1', done: 1 });
  progress.read(
    'oaded kube v1.1.0 (registry `x`)\n   Compiling serde v1.0.1\n   Compiling shop v0.1.0 (/shop)\n',
  );
  expect(progress.now()).toEqual({ step: 'compiling', what: 'shop v0.1.0', done: 2 });
});

test('the compiler is shown without what cargo prints about its own work', () => {
  const error = 'error[E0308]: mismatched types\n --> src/main.rs:2:21';
  expect(cargoTool.withoutProgress(`   Compiling shop v0.1.0 (/shop)\n${error}`)).toBe(error);
});

test.each([
  [
    "error: toolchain '1.70.0-x86_64-unknown-linux-gnu' is not installed",
    'rustup toolchain install 1.70.0-x86_64-unknown-linux-gnu',
  ],
  [
    "error: toolchain '1.92.0' is not installed\nhelp: run `rustup toolchain install` to install it",
    'rustup toolchain install',
  ],
  ['note: the `wasm32-wasip1` target may not be installed', 'rustup target add wasm32-wasip1'],
  [
    'error: rustc 1.60.0 is not supported by the following package:\n  a@1.0.0 requires rustc 1.80 or newer',
    'rustup update',
  ],
  ['error: linker `cc` not found', 'Install a C compiler and linker, such as the package gcc.'],
  ['error[E0308]: mismatched types', undefined],
])('what fixes `%s`', (output, advice) => {
  expect(cargoAdvice(output)).toBe(advice);
});
