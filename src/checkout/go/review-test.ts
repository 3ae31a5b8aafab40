import { plainJson } from '../../phrases.ts';
import type { TestReview } from '../language.ts';
import type { WebhookSetup } from './webhook-setup.ts';

/** From this minor version of controller-runtime on, a manager needs no API server before it starts. */
const LAZY_MANAGER = 15;

/**
 * A table test for the operator's own suite. It registers the webhooks with a manager that is never started, sends each recorded request to
 * the handlers, and expects the recorded answers; so it works however the webhooks are written with controller-runtime.
 */
export function goTest(reviews: TestReview[], setup: WebhookSetup): string {
  const name = `TestReview${reviews[0]!.id.replaceAll(/\W|^r-/g, '')}`;
  const where = setup.directory === '' ? '.' : `./${setup.directory}`;
  const isRedacted = reviews.some((one) => one.isRedacted);
  return [
    '// Recorded by devloop: what the webhooks answered to these reviews. Run it with',
    '//',
    `//	go test -run ${name} ${where}`,
    '//',
    '// It needs no cluster. A webhook that reads from the API server gets an error.',
    ...(isRedacted
      ? ['// Values that look secret are replaced, so a webhook that reads them may answer differently.']
      : []),
    `package ${setup.packageName}`,
    '',
    imports(setup),
    '',
    `func ${name}(t *testing.T) {`,
    handler(setup),
    TYPES,
    '	for _, test := range []struct{ name, path, request, answer string }{',
    ...reviews.map(entry),
    '	} {',
    CHECK,
    '	}',
    '}',
    '',
  ].join('\n');
}

function imports({ imports: own, controllerRuntime }: WebhookSetup): string {
  const isManaged = controllerRuntime !== undefined;
  const isOld = (controllerRuntime ?? LAZY_MANAGER) < LAZY_MANAGER;
  const others = [
    ...(isOld ? ['"k8s.io/apimachinery/pkg/api/meta"'] : []),
    '"k8s.io/apimachinery/pkg/runtime"',
    'clientgoscheme "k8s.io/client-go/kubernetes/scheme"',
    '"k8s.io/client-go/rest"',
    'ctrl "sigs.k8s.io/controller-runtime"',
  ];
  const standard = ['encoding/json', 'net/http', 'net/http/httptest', 'sort', 'strings', 'testing'];
  const groups = [standard.map((one) => `"${one}"`), isManaged ? others : [], isManaged ? own : []];
  return `import (\n${groups
    .filter((group) => group.length > 0)
    .map((group) => group.map((one) => `\t${one}\n`).join(''))
    .join('\n')})`;
}

/** Go code that creates `handler`, an http.Handler with all webhooks. */
function handler({ calls, schemes, controllerRuntime }: WebhookSetup): string {
  if (controllerRuntime === undefined)
    return `	var handler http.Handler
	// TODO: the handler that your webhook server uses.
	if handler == nil {
		t.Fatal("set handler to the one that your webhook server uses")
	}`;
  const isOld = controllerRuntime < LAZY_MANAGER;
  const options = isOld
    ? `ctrl.Options{
		Scheme:             scheme,
		MetricsBindAddress: "0",
		MapperProvider: func(*rest.Config) (meta.RESTMapper, error) {
			return meta.NewDefaultRESTMapper(nil), nil
		},
	}`
    : 'ctrl.Options{Scheme: scheme}';
  const register =
    calls.length === 0
      ? `	// TODO: register your webhooks with mgr, as your main package does, and add your API to the scheme.
	t.Fatal("register your webhooks with mgr here")`
      : calls.map((call) => `	if err := ${call}; err != nil {\n		t.Fatal(err)\n	}`).join('\n');
  return `	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{${['clientgoscheme.AddToScheme', ...schemes].join(', ')}} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	// It is never started: nothing listens at this address.
	mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1"}, ${options})
	if err != nil {
		t.Fatal(err)
	}
${register}
	handler := mgr.GetWebhookServer().WebhookMux${isOld ? '' : '()'}`;
}

const TYPES = `	type operation = map[string]any
	type answer struct {
		Allowed  bool
		Code     int32
		Reason   string
		Message  string
		Warnings []string
		Patch    []operation
	}
	// The order of warnings does not matter, nor does the order of operations on different fields.
	text := func(one answer) string {
		operations := []string{}
		for _, operation := range one.Patch {
			line, _ := json.Marshal(operation)
			operations = append(operations, string(line))
		}
		sort.Strings(operations)
		sort.Strings(one.Warnings)
		lines, _ := json.MarshalIndent(map[string]any{
			"allowed": one.Allowed, "code": one.Code, "reason": one.Reason, "message": one.Message,
			"warnings": strings.Join(one.Warnings, "\\n"), "patch": operations,
		}, "", "  ")
		return string(lines)
	}`;

const CHECK = `		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodPost, test.path, strings.NewReader(test.request))
			request.Header.Set("Content-Type", "application/json")
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			var review struct {
				Response struct {
					Allowed bool
					Status  struct {
						Code            int32
						Reason, Message string
					}
					Patch    []byte
					Warnings []string
				}
			}
			if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
				t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
			}
			response := review.Response
			got := answer{response.Allowed, response.Status.Code, response.Status.Reason, response.Status.Message, response.Warnings, nil}
			if len(response.Patch) > 0 {
				if err := json.Unmarshal(response.Patch, &got.Patch); err != nil {
					t.Fatal(err)
				}
			}
			var want answer
			if err := json.Unmarshal([]byte(test.answer), &want); err != nil {
				t.Fatal(err)
			}
			if text(got) != text(want) {
				t.Errorf("got %s\\nwant %s", text(got), text(want))
			}
		})`;

function entry({ name, path, request, answer }: TestReview): string {
  const fields = [
    `name: ${goString(name)},`,
    `path: ${goString(path)},`,
    `request: \`${plainJson(request, '\t')}\`,`,
    `answer: \`${plainJson(answer, '\t')}\`,`,
  ];
  return `		{\n${fields.map((field) => `			${field}\n`).join('')}		},`;
}

/** A Go string between double quotes. Go accepts the escapes of JSON, but not half of a surrogate pair. */
function goString(text: string): string {
  return plainJson(text.toWellFormed());
}
