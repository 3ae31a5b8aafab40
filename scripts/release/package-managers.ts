import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { archiveName, PLATFORMS, type Platform } from './step.ts';
import { sha256 } from './sums.ts';
import { LICENCES } from './third-party.ts';

/** Instead of the place of the files, where that is not known. */
const NOWHERE = 'https://example.invalid/devloop';
const SUMMARY = 'Run a Kubernetes operator on your machine as if it ran in the cluster';

/** How krew and Homebrew name the platforms. */
const NAMES: Record<Platform, { os: string; arch: string; brew: [system: string, processor: string] }> = {
  'linux-x64': { os: 'linux', arch: 'amd64', brew: ['on_linux', 'on_intel'] },
  'linux-arm64': { os: 'linux', arch: 'arm64', brew: ['on_linux', 'on_arm'] },
  'darwin-arm64': { os: 'darwin', arch: 'arm64', brew: ['on_macos', 'on_arm'] },
  'darwin-x64': { os: 'darwin', arch: 'amd64', brew: ['on_macos', 'on_intel'] },
};

interface Described {
  version: string;
  homepage: string;
  archives: Archive[];
}

type Archive = (typeof NAMES)[Platform] & { url: string; sha256: string };

/** Writes krew/devloop.yaml and homebrew/devloop.rb for the archives in the directory, all of which have to be there. `url`: where they will be, or empty. */
export function writePackages(out: string, version: string, url: string): void {
  const base = url || NOWHERE;
  const archives = PLATFORMS.map((platform) => {
    const name = archiveName(version, platform);
    return { ...NAMES[platform], url: `${base}/${name}`, sha256: sha256(join(out, name)) };
  });
  // The files of a release of GitHub are below the page of the repository.
  const homepage = base.replace(/\/releases\/download\/.*/, '');
  for (const [directory, file, text] of [
    ['krew', 'devloop.yaml', krewManifest({ version, homepage, archives })],
    ['homebrew', 'devloop.rb', formula({ version, homepage, archives })],
  ] as const) {
    mkdirSync(join(out, directory), { recursive: true });
    writeFileSync(join(out, directory, file), text);
  }
}

/** krew calls the command `kubectl devloop`. */
function krewManifest({ version, homepage, archives }: Described): string {
  return stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'devloop' },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: 'Run an operator locally as if in the cluster',
      description: `${SUMMARY}, admission and conversion webhooks included.\n`,
      platforms: archives.map(({ os, arch, url, sha256 }) => ({
        selector: { matchLabels: { os, arch } },
        uri: url,
        sha256,
        files: [
          { from: 'devloop', to: '.' },
          { from: 'LICENSE', to: '.' },
          { from: LICENCES, to: '.' },
        ],
        bin: 'devloop',
      })),
    },
  });
}

function formula({ version, homepage, archives }: Described): string {
  const systems = Map.groupBy(archives, ({ brew }) => brew[0]);
  const blocks = [...systems].map(([system, ofSystem]) => {
    const parts = ofSystem.map(
      ({ brew, url, sha256 }) => `    ${brew[1]} do\n      url "${url}"\n      sha256 "${sha256}"\n    end`,
    );
    return `  ${system} do\n${parts.join('\n')}\n  end`;
  });
  return `class Devloop < Formula
  desc "${SUMMARY}"
  homepage "${homepage}"
  version "${version}"
  license "Apache-2.0"

${blocks.join('\n')}

  def install
    bin.install "devloop"
    bin.install_symlink "devloop" => "kubectl-devloop"
    bin.install_symlink "devloop" => "kubectl_complete-devloop"
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/devloop --version").strip
  end
end
`;
}
