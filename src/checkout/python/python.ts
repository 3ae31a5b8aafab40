import type { Language } from '../language.ts';
import { reading } from '../text-questions.ts';
import { kopfPaths } from './kopf.ts';
import { pythonProgram } from './program.ts';
import { judgePython } from './toolchain.ts';

/** What an operator in Python imports: kopf, or a client of Kubernetes. */
const OPERATOR = /^\s*(?:import|from)\s+(?:kopf|kubernetes|kubernetes_asyncio|pykube|kr8s|lightkube)\b/m;

const SOURCES = /\.py$/;

export const PYTHON: Language = {
  name: 'Python',
  signs: ['pyproject.toml', 'requirements.txt', 'setup.py', 'Pipfile', '*.py'],
  detect: (checkout) =>
    checkout.files((name) => name.endsWith('.py')).some((path) => OPERATOR.test(checkout.text(path))),
  sources: SOURCES,
  files: /\.py$|^pyproject\.toml$/,
  read: reading({
    sources: SOURCES,
    name: /^\s*name\s*=\s*(["'])([\w.-]+)\1/m,
    isOfRoot: true,
    inPod: /\bload_incluster_config\b/,
    anywhere: /\bload_(?:kube_)?config\b|^\s*(?:import|from)\s+(?:kopf|pykube|kr8s|lightkube)\b/m,
    more(texts) {
      const paths = new Set(texts.flatMap(kopfPaths));
      return { paths, declaresWebhooks: paths.size > 0 };
    },
  }),
  program: pythonProgram,
  toolchain: judgePython,
};
