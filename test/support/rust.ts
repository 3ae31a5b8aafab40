import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../src/machine/find-program.ts';
import { cached, hashOf } from '../cluster/cache.ts';
import { run } from '../cluster/run.ts';

/** Whether this machine has Rust. The tests do not install it. */
export const hasCargo = 'path' in findProgram('cargo', process.env.PATH);

/**
 * The Cargo.toml of an operator that serves webhooks without calling the cluster: it has kube only as an optional dependency, so that its
 * libraries compile within a minute.
 */
export const CARGO_TOML = `[package]
name = "rust"
version = "1.0.0"
edition = "2021"

[dependencies]
kube = { version = "1", optional = true, default-features = false }
serde_json = "1"
tiny_http = { version = "0.12", features = ["ssl-rustls"] }
`;

/** What cargo makes of the libraries, which are downloaded unless an earlier run has done so. Returns the directory of the crate. */
export async function rustLibraries(log: (line: string) => void = () => {}): Promise<string> {
  return await cached('rust', await hashOf('.', [], CARGO_TOML), async (part) => {
    log('compiling the libraries of an operator in Rust');
    await mkdir(join(part, 'src'));
    await writeFile(join(part, 'Cargo.toml'), CARGO_TOML);
    await writeFile(join(part, 'src/main.rs'), 'fn main() {}');
    await run('cargo', ['build', '--quiet'], { cwd: part });
  });
}

/** The lock file and the compiled libraries, as after the user's own builds. */
export async function installLibraries(repository: string): Promise<void> {
  const from = await rustLibraries();
  const options = { recursive: true, preserveTimestamps: true };
  for (const name of ['Cargo.lock', 'target']) await cp(join(from, name), join(repository, name), options);
}
