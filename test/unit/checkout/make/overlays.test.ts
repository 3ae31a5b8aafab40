import { expect, test } from 'vitest';
import { builtOverlays } from '../../../../src/checkout/make/overlays.ts';

test("what `make deploy` builds comes before kubebuilder's place, and before what other targets build", () => {
  const makefile = `KIND ?= community
bundle:
\tkustomize build config/manifests
deploy: IMG ?= a
deploy: manifests \\
\tkustomize
\tkubectl apply --server-side=true -k config/crd
\tcd config/manager && $(KUSTOMIZE) edit set image controller=\${IMG}

\t$(KUSTOMIZE) build --load-restrictor=None ./config/overlays/$(KIND)/ | kubectl apply -f -
undeploy:
\tkubectl delete -k config/none
`;
  expect(builtOverlays(makefile)).toEqual([
    'config/overlays/community',
    'config/default',
    'config/manifests',
  ]);
  expect(builtOverlays('')).toEqual(['config/default']);
});
