import { expect, test } from 'vitest';
import { buildRecipes } from '../../../../src/checkout/go/recipes.ts';

test.each<[string, { package: string; output: string | undefined; tags?: string }[]]>([
  [
    'RUN CGO_ENABLED=0 GOOS=$TARGETOS go build -a -o manager cmd/main.go',
    [{ package: './cmd', output: 'manager' }],
  ],
  [
    'RUN go build -trimpath -ldflags="-s -w" -o /out/manager \\\n    ./cmd/manager/',
    [{ package: './cmd/manager', output: 'manager' }],
  ],
  [
    "\tgo build -ldflags '-X a=b' -o bin/manager main.go && echo built",
    [{ package: '.', output: 'manager' }],
  ],
  ['\tgo run ./main.go', [{ package: '.', output: undefined }]],
  ['RUN go build -o app', [{ package: '.', output: 'app' }]],
  [
    '\t$(GO_BUILD_ENV) $(GO_CMD) build -ldflags="$(LD_FLAGS)" -o bin/manager main.go',
    [{ package: '.', output: 'manager' }],
  ],
  ['\t$(GO) build -o bin/manager_$(ARCH) main.go', [{ package: '.', output: 'manager' }]],
  ['\tgo build -o bin/$(OPERATOR_NAME) main.go', [{ package: '.', output: undefined }]],
  ['RUN go build -o agent cmd/controller/*.go', [{ package: './cmd/controller', output: 'agent' }]],
  ['\tgo build -o $(BIN_DIR)/manager example.com/operator/core', [{ package: './core', output: 'manager' }]],
  ['\tcd hack/tools; go build -o bin/gen', [{ package: './hack/tools', output: 'gen' }]],
  ['\tgo build -C hack/tools -o bin/gen ./gen', [{ package: './hack/tools/gen', output: 'gen' }]],
  ['\tcd $(DIR) && go build -o bin/gen', []],
  ['DIR = hack/gen\nb:\n\tcd $(DIR) && go build -o bin/gen', [{ package: './hack/gen', output: 'gen' }]],
  [
    'ROOT ?= ./cmd\nBIN := bin/shop\nbuild:\n\tgo build -o $(BIN) $(ROOT)',
    [{ package: './cmd', output: 'shop' }],
  ],
  ['ARG package=.\nRUN go build -o manager $package', [{ package: '.', output: 'manager' }]],
  ['bin/agent: $(SOURCES)\n\tgo build -o $@ ./cmd/agent', [{ package: './cmd/agent', output: 'agent' }]],
  [
    'B = bin\n$(B)/agent:\n\tgo build -o "$(B)/$(@F)" ./cmd/agent',
    [{ package: './cmd/agent', output: 'agent' }],
  ],
  ['ARCH = amd64\nb:\n\tgo build -o bin/manager_linux_$(ARCH) $(PKG_DIR)', []],
  [
    'ARCH = amd64\nb:\n\tgo build -o bin/manager_linux_$(ARCH) ./cmd',
    [{ package: './cmd', output: 'manager' }],
  ],
  [
    "build-%:\n\tGOARCH=$* go build -o '$(OUT)/manager-linux-$*' main.go",
    [{ package: '.', output: 'manager' }],
  ],
  ['bin/%:\n\tgo build -o $@ ./cmd/$(notdir $@)', []],
  ['gen.go:\n\ttouch $@\n$(B)/shop: gen.go\n\tgo build -o $@ ./cmd', [{ package: './cmd', output: 'shop' }]],
  ['a:\n\tgo vet\n.PHONY: a\nb c:\n\tgo build -o $@ ./cmd', [{ package: './cmd', output: undefined }]],
  ['RUN go build -tags \\"a\\" -o m', [{ package: '.', output: 'm' }]],
  ['\tgo build -o $(BIN) $(PKG)', []],
  [
    'GOCMD=go\nGOBUILD=$(GOCMD) build\nGORUN ?= go run -v\nb:\n\t@$(GOBUILD) -tags a -o bin/shop ./cmd/shop\n\t$(GORUN) ./gen',
    [
      { package: './cmd/shop', output: 'shop', tags: 'a' },
      { package: './gen', output: undefined },
    ],
  ],
  [
    'F = -tags a\nR = \\\n\tGOOS=$(GOOS) \\\n\tCGO_ENABLED=0 \\\n\tgo build $(F)\nshop:\n\t$(R) -o $@ ./cmd/$@/',
    [{ package: './cmd/shop', output: 'shop', tags: 'a' }],
  ],
  [
    'BUILD="go build -tags a"\n$BUILD -o bin/shop ./cmd/shop\nCGO_ENABLED= go build -o bin/agent ./agent',
    [
      { package: './cmd/shop', output: 'shop', tags: 'a' },
      { package: './agent', output: 'agent' },
    ],
  ],
  ['CMD := go build -o bin/shop ./cmd\nb:\n\t$(CMD)', [{ package: './cmd', output: 'shop' }]],
  ['RUN go mod download', []],
  [
    '\t(cd cmd/agent && go build -tags a -o ../../bin/agent)\n\t(cd cmd/shop; go build -o ../../bin/shop .)',
    [
      { package: './cmd/agent', output: 'agent', tags: 'a' },
      { package: './cmd/shop', output: 'shop' },
    ],
  ],
  ["RUN (cd './core' && go build -o '/out/manager' './cmd')", [{ package: './core/cmd', output: 'manager' }]],
  ['RUN go build -a -installsuffix cgo -o manager main.go', [{ package: '.', output: 'manager' }]],
  ['RUN go build --tags netgo -o manager .', [{ package: '.', output: 'manager', tags: 'netgo' }]],
  ["RUN go build -tags='a b' -o manager .", [{ package: '.', output: 'manager', tags: 'a,b' }]],
  [
    'KIND ?= all\nKIND ?= none # not this\nTAGS := a,$(KIND)\nTAGS += b\nbuild:\n\tgo build -tags "$(TAGS) $(MORE)" -o m',
    [{ package: '.', output: 'm', tags: 'a,all,b' }],
  ],
  ['TAGS = $(shell ./tags.sh)\nbuild:\n\tgo build -tags $(TAGS) -o m', [{ package: '.', output: 'm' }]],
  [
    'b:\n\t# go build -tags old -o bin/manager ./cmd\n#\tgo build -o bin/manager ./old\n\tgo build -o bin/manager ./cmd',
    [{ package: './cmd', output: 'manager' }],
  ],
  ['# RUN go build -tags old -o manager .\nRUN go build -o manager .', [{ package: '.', output: 'manager' }]],
  ['TAGS = $(TAGS)\nbuild:\n\tgo build -tags $(TAGS) -o m', [{ package: '.', output: 'm' }]],
  [
    '\tgo build -tags a -o bin/ ./cmd/shop ./cmd/agent 2>&1 > log',
    [
      { package: './cmd/shop', output: 'shop', tags: 'a' },
      { package: './cmd/agent', output: 'agent', tags: 'a' },
    ],
  ],
  [
    'P = ./cmd/shop ./cmd/agent # both\nb:\n\tgo build -o bin $(P)',
    [
      { package: './cmd/shop', output: 'shop' },
      { package: './cmd/agent', output: 'agent' },
    ],
  ],
  ['\tgo build -tags a -o bin/ ./cmd/...', [{ package: './cmd/...', output: undefined, tags: 'a' }]],
  ['RUN go build -o /out/ ./cmd/*', [{ package: './cmd/*', output: undefined }]],
  ['RUN go install -tags a ./cmd/shop', [{ package: './cmd/shop', output: 'shop', tags: 'a' }]],
  ['RUN go install example.com/operator/...', [{ package: './...', output: undefined }]],
  ['RUN go install', [{ package: '.', output: 'operator' }]],
  ['RUN go install example.com/tool@v1.2.3', []],
  ['RUN go build main.go wire.go', [{ package: '.', output: 'main' }]],
  ['\tgo run -tags a ./cmd --tags=b ./config', [{ package: './cmd', output: undefined, tags: 'a' }]],
  ['FLAGS ?=\nb:\n\tgo build $(FLAGS) $(MORE) -o m ./cmd', [{ package: './cmd', output: 'm' }]],
  [
    'FLAGS="-tags a"\ngo build $FLAGS -o m "./cmd" # the manager',
    [{ package: './cmd', output: 'm', tags: 'a' }],
  ],
  ['\tgo build -ldflags "$(shell a | b "c;d" $(e (f (g))))" -o m ./cmd', [{ package: './cmd', output: 'm' }]],
  ["RUN sh -c 'go build -o m ./cmd'", [{ package: './cmd', output: 'm' }]],
  ...[
    ...['-covermode atomic', '-coverpkg ./...', '-asmflags all=-l', '-gcflags "-N -l"', '-overlay f.json'],
    ...['-pgo default.pgo', '-buildmode pie', '-toolexec ./tool', '-p 4', '-mod vendor', '-modfile go2.mod'],
    ...[
      '-pkgdir p',
      '-compiler gc',
      '-gccgoflags x',
      '-installsuffix cgo',
      '-debug-trace t',
      '--covermode set',
    ],
    ...['-race', '-trimpath', '-buildvcs=false', '-cover', '-a -v -x -work -linkshared -modcacherw'],
  ].map((flags): [string, { package: string; output: string }[]] => [
    `RUN go build ${flags} -o m ./cmd`,
    [{ package: './cmd', output: 'm' }],
  ]),
  ['RUN go run -exec ./wrapper ./cmd', [{ package: './cmd', output: undefined }]],
])('%s', (text, expected) => {
  const recipes = expected.map((recipe) => ({ tags: '', ...recipe }));
  expect(buildRecipes(text, 'example.com/operator').map(({ linkerFlags: _, ...rest }) => rest)).toEqual(
    recipes,
  );
});
