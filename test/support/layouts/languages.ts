import { installKopf } from '../kopf.ts';
import { CARGO_TOML, hasCargo, installLibraries } from '../rust.ts';
import { SECRET } from './all.ts';
import { FIRST_ANSWER, type Layout } from './layout.ts';

/** An operator in Python: kopf, whose webhook has the path of its handler's id, started by the image from a directory that it copies. */
const kopf: Layout = {
  name: 'kopf',
  startIn: '.',
  main: { module: '.', package: 'operator/handlers.py' },
  webhook: { path: '/refuse-orders', port: 9443 },
  files: {
    'pyproject.toml': '[project]\nname = "kopf"\nversion = "1.0.0"\ndependencies = ["kopf"]\n',
    Dockerfile:
      'FROM python:3.13-slim\nRUN pip install kopf\nWORKDIR /app\nCOPY operator/ /app/\nCMD ["kopf", "run", "-A", "/app/handlers.py"]\n',
    '.gitignore': '.venv\n',
    'operator/answer.py': `ANSWER = '${FIRST_ANSWER}'\n`,
    'operator/handlers.py': `import kopf
from answer import ANSWER


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.admission.server = kopf.WebhookServer(
        port=9443, certfile='/certs/tls.crt', pkeyfile='/certs/tls.key')


@kopf.on.validate('configmaps', id='refuse-orders')
def refuse(**_):
    raise kopf.AdmissionError(ANSWER)


@kopf.on.event('serviceaccounts', labels={'shop': kopf.PRESENT})
def note(annotations, patch, **_):
    if annotations.get('noted') != annotations.get('size'):
        patch.metadata.annotations['noted'] = annotations['size']
`,
  },
  notes: true,
  install: installKopf,
  container: {
    name: 'operator',
    image: 'registry.example.com/acme/kopf:1.0',
    ports: [{ name: 'webhook', containerPort: 9443 }],
    volumeMounts: [{ name: 'tls', mountPath: '/certs' }],
  },
  volumes: [{ name: 'tls', secret: { secretName: SECRET } }],
};

/**
 * An operator in JavaScript without libraries, in a directory of a repository with a module of Go. Its image starts it with npm, whose
 * script names a file that the build makes. It reads its key pair where the Secret is mounted.
 */
const node: Layout = {
  name: 'node',
  startIn: 'shop',
  main: { module: '.', package: 'dist/main.mjs' },
  webhook: { path: '/refuse-carts', port: 9444 },
  files: {
    'go.mod': 'module example.com/acme\n',
    'shop/package.json': JSON.stringify({
      name: '@acme/node',
      scripts: { build: 'mkdir -p dist && cp src/*.mjs dist', start: 'node dist/main.mjs --port=9444' },
    }),
    'shop/Dockerfile':
      'FROM node:24 AS build\nWORKDIR /app\nCOPY . .\nRUN npm run build\nFROM node:24-slim\nWORKDIR /app\nCOPY package.json .\nCOPY --from=build /app/dist dist\nCMD ["npm", "start"]\n',
    'shop/.gitignore': 'dist\n',
    'shop/src/answer.mjs': `export const answer = '${FIRST_ANSWER}';\n`,
    'shop/src/main.mjs': `import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { parseArgs } from 'node:util';
import { answer } from './answer.mjs';

const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
const pair = { cert: readFileSync('/certs/tls.crt'), key: readFileSync('/certs/tls.key') };

createServer(pair, async (request, response) => {
  if (!request.url.startsWith('/refuse-carts')) return response.writeHead(404).end();
  const { apiVersion, kind, request: { uid } } = JSON.parse(Buffer.concat(await request.toArray()));
  const refusal = { uid, allowed: false, status: { message: answer } };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ apiVersion, kind, response: refusal }));
}).listen(Number(port));
`,
  },
  container: {
    name: 'operator',
    image: 'registry.example.com/acme/node:1.0',
    ports: [{ name: 'webhook', containerPort: 9444 }],
    volumeMounts: [{ name: 'tls', mountPath: '/certs' }],
  },
  volumes: [{ name: 'tls', secret: { secretName: SECRET } }],
};

/** An operator in Rust. Its container has the arguments, and its image names the program. */
const rust: Layout = {
  name: 'rust',
  startIn: '.',
  main: { module: '.', package: 'refuser' },
  webhook: { path: '/refuse-boats', port: 9445 },
  files: {
    'Cargo.toml': `${CARGO_TOML}
[[bin]]
name = "refuser"
path = "src/main.rs"

[[bin]]
name = "crdgen"
path = "src/crdgen.rs"
`,
    Dockerfile:
      'FROM rust AS build\nWORKDIR /app\nCOPY . .\nRUN cargo build --release\nFROM debian\nCOPY --from=build /app/target/release/refuser /usr/local/bin/refuser\nENTRYPOINT ["refuser"]\n',
    '.gitignore': 'target\n',
    'src/crdgen.rs': 'fn main() {}\n',
    'src/answer.rs': `pub const ANSWER: &str = "${FIRST_ANSWER}";\n`,
    'src/main.rs': `use serde_json::{json, Value};
use std::fs::read;
use tiny_http::{Header, Response, Server, SslConfig};

mod answer;

fn flag(name: &str) -> String {
    let prefix = format!("--{name}=");
    std::env::args().find_map(|word| word.strip_prefix(&prefix).map(String::from)).unwrap()
}

fn main() {
    let certs = flag("certs");
    let pair = SslConfig {
        certificate: read(format!("{certs}/tls.crt")).unwrap(),
        private_key: read(format!("{certs}/tls.key")).unwrap(),
    };
    let server = Server::https(format!("0.0.0.0:{}", flag("port")), pair).unwrap();
    for mut request in server.incoming_requests() {
        if !request.url().starts_with("/refuse-boats") {
            let _ = request.respond(Response::empty(404));
            continue;
        }
        let review: Value = serde_json::from_reader(request.as_reader()).unwrap();
        let refusal = json!({
            "apiVersion": review["apiVersion"],
            "kind": "AdmissionReview",
            "response": {
                "uid": review["request"]["uid"],
                "allowed": false,
                "status": {"message": answer::ANSWER},
            },
        });
        let json = Header::from_bytes("content-type", "application/json").unwrap();
        let _ = request.respond(Response::from_string(refusal.to_string()).with_header(json));
    }
}
`,
  },
  install: installLibraries,
  container: {
    name: 'operator',
    image: 'registry.example.com/acme/rust:1.0',
    args: ['--port=9445', '--certs=/certs'],
    ports: [{ name: 'webhook', containerPort: 9445 }],
    volumeMounts: [{ name: 'tls', mountPath: '/certs' }],
  },
  volumes: [{ name: 'tls', secret: { secretName: SECRET } }],
};

/** One operator in each language but Go whose tools this machine has. */
export const LANGUAGE_LAYOUTS: [string, Layout][] = [kopf, node, ...(hasCargo ? [rust] : [])].map((one) => [
  one.name,
  one,
]);
