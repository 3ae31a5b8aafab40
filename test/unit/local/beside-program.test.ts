import { expect, test } from 'vitest';
import { Checkout } from '../../../src/checkout/files.ts';
import { checkoutFacts } from '../../../src/languages.ts';
import { planController } from '../../../src/local/plan.ts';
import { controllerOf } from '../../support/settings.ts';
import { directoryWith } from '../controller/support/places.ts';
import { inputs, MOUNT } from './support/inputs.ts';

const own = 'program, _ := os.Executable()\n';

test.each<[string, string, string, string[]]>([
  [
    'in a variable',
    `${own}base := filepath.Dir(program)\nfile := filepath.Join(base, "certs", "tls.crt")`,
    MOUNT,
    ['/state/s1/certs'],
  ],
  [
    'in a call',
    `${own}file := filepath.Join(filepath.Dir(program), "certs/tls.crt")`,
    '/app/certs',
    ['/state/s1/certs'],
  ],
  [
    'with more directories',
    `${own}file := path.Join(base, "conf", "certs", "tls.crt")`,
    '/app/conf/certs',
    ['/state/s1/conf/certs'],
  ],
  ['without a key pair there', `${own}file := filepath.Join(base, "templates", "a.yaml")`, '/app/certs', []],
  ['of another file', 'file := filepath.Join(base, "certs", "tls.crt")', '/app/certs', []],
])('the key pair is beside the program that looks for it there: %s', async (_, text, mount, expected) => {
  const root = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'main.go': `package main\n\nfunc main() {\n${text}\n}\n`,
  });
  const own = { checkout: new Checkout(root), facts: await checkoutFacts(new Checkout(root)) };
  const rest = inputs({ ...own, settings: controllerOf({ package: '.' }), keyPairMounts: [mount] });
  const io = { emit: () => {}, signal: new AbortController().signal };
  expect((await planController(rest, io)).hardCoded).toEqual(expected);
});
