// The main script of an executable, in which all files are assets (docs/adr/0048).
import { getRawAsset } from 'node:sea';
import { unpack } from './packed.ts';
import { scriptOf, start } from './start.ts';

start({
  script: (name) => scriptOf(name, unpack(asset(name))),
  help: () => asset('help.txt'),
});

function asset(name: string): Buffer {
  return Buffer.from(getRawAsset(name));
}
