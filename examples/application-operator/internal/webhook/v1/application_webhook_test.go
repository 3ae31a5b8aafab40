package v1

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	examplev1 "example.com/application-operator/api/v1"
)

func TestDefault(t *testing.T) {
	defaults := examplev1.ApplicationSpec{Enabled: ptr.To(true), Replicas: ptr.To[int32](1), Port: ptr.To[int32](8080)}
	chosen := examplev1.ApplicationSpec{Enabled: ptr.To(false), Replicas: ptr.To[int32](0), Port: ptr.To[int32](80)}
	for name, test := range map[string]struct{ given, want examplev1.ApplicationSpec }{
		"fills in what is missing":          {given: examplev1.ApplicationSpec{}, want: defaults},
		"keeps what was chosen, zeros also": {given: chosen, want: chosen},
	} {
		t.Run(name, func(t *testing.T) {
			app := &examplev1.Application{Spec: test.given}
			if err := (&ApplicationDefaulter{}).Default(t.Context(), app); err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(app.Spec)
			want, _ := json.Marshal(test.want)
			if string(got) != string(want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestDefaultingPatchConcernsTheSpecAlone(t *testing.T) {
	handler := admission.WithDefaulter(newScheme(t), &ApplicationDefaulter{})
	response := handler.Handle(t.Context(), request(t, admissionv1.Create, newApplication(examplev1.ApplicationSpec{Image: "example:1"})))
	if !response.Allowed {
		t.Fatalf("refused: %v", response.Result)
	}
	var paths []string
	for _, patch := range response.Patches {
		paths = append(paths, patch.Path)
	}
	slices.Sort(paths)
	if want := []string{"/spec/enabled", "/spec/port", "/spec/replicas"}; !slices.Equal(paths, want) {
		t.Errorf("patched %v, want %v", paths, want)
	}
}

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		spec examplev1.ApplicationSpec
		want []string // what the refusal says; none: allowed
	}{
		"an image is enough":    {spec: examplev1.ApplicationSpec{Image: "example:1"}},
		"no replicas are some":  {spec: examplev1.ApplicationSpec{Image: "example:1", Replicas: ptr.To[int32](0)}},
		"the limits are inside": {spec: examplev1.ApplicationSpec{Image: "example:1", Replicas: ptr.To[int32](50), Port: ptr.To[int32](65535)}},
		"no image": {
			spec: examplev1.ApplicationSpec{},
			want: []string{"spec.image: Required value: " + imageRequired},
		},
		"negative replicas": {
			spec: examplev1.ApplicationSpec{Image: "example:1", Replicas: ptr.To[int32](-1)},
			want: []string{"spec.replicas: Invalid value: -1: must be between 0 and 50"},
		},
		"too many replicas": {
			spec: examplev1.ApplicationSpec{Image: "example:1", Replicas: ptr.To[int32](51)},
			want: []string{"spec.replicas: Invalid value: 51: must be between 0 and 50"},
		},
		"port 0": {
			spec: examplev1.ApplicationSpec{Image: "example:1", Port: ptr.To[int32](0)},
			want: []string{"spec.port: Invalid value: 0: must be between 1 and 65535"},
		},
		"everything wrong is said at once": {
			spec: examplev1.ApplicationSpec{Replicas: ptr.To[int32](-1), Port: ptr.To[int32](70000)},
			want: []string{"spec.image: Required value", "spec.replicas: Invalid value", "spec.port: Invalid value"},
		},
	} {
		for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
			t.Run(name+", "+strings.ToLower(string(operation)), func(t *testing.T) {
				handler := admission.WithValidator(newScheme(t), &ApplicationValidator{})
				response := handler.Handle(t.Context(), request(t, operation, newApplication(test.spec)))
				expectAnswer(t, response, test.want)
			})
		}
	}
}

func TestDeletionIsNeverRefused(t *testing.T) {
	handler := admission.WithValidator(newScheme(t), &ApplicationValidator{})
	invalid := newApplication(examplev1.ApplicationSpec{})
	expectAnswer(t, handler.Handle(t.Context(), request(t, admissionv1.Delete, invalid)), nil)

	invalid.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	expectAnswer(t, handler.Handle(t.Context(), request(t, admissionv1.Update, invalid)), nil)
}

func expectAnswer(t *testing.T, response admission.Response, refusal []string) {
	t.Helper()
	if response.Allowed != (len(refusal) == 0) {
		t.Fatalf("allowed: %v, result: %v", response.Allowed, response.Result)
	}
	if response.Allowed {
		return
	}
	if response.Result.Code != http.StatusUnprocessableEntity {
		t.Errorf("code %d, want 422", response.Result.Code)
	}
	for _, text := range refusal {
		if !strings.Contains(response.Result.Message, text) {
			t.Errorf("refused with %q, want it to say %q", response.Result.Message, text)
		}
	}
}

func newApplication(spec examplev1.ApplicationSpec) *examplev1.Application {
	return &examplev1.Application{
		TypeMeta:   metav1.TypeMeta{APIVersion: examplev1.GroupVersion.String(), Kind: "Application"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example"},
		Spec:       spec,
	}
}

func request(t *testing.T, operation admissionv1.Operation, app *examplev1.Application) admission.Request {
	t.Helper()
	raw, err := json.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	review := admissionv1.AdmissionRequest{UID: "1", Operation: operation}
	if operation != admissionv1.Delete {
		review.Object = runtime.RawExtension{Raw: raw}
	}
	if operation != admissionv1.Create {
		review.OldObject = runtime.RawExtension{Raw: raw}
	}
	return admission.Request{AdmissionRequest: review}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := examplev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}
