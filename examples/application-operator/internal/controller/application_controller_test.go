package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	examplev1 "example.com/application-operator/api/v1"
)

var key = client.ObjectKey{Namespace: "default", Name: "example"}

func TestDeploymentFollowsTheApplication(t *testing.T) {
	for name, test := range map[string]struct {
		spec     examplev1.ApplicationSpec
		replicas int32
		port     int32
	}{
		"as asked for": {
			spec:     examplev1.ApplicationSpec{Enabled: ptr.To(true), Image: "example:1", Replicas: ptr.To[int32](3), Port: ptr.To[int32](80)},
			replicas: 3, port: 80,
		},
		"with the defaults of the webhook where nothing is set": {
			spec:     examplev1.ApplicationSpec{Image: "example:1"},
			replicas: 1, port: 8080,
		},
		"with no replicas": {
			spec:     examplev1.ApplicationSpec{Image: "example:1", Replicas: ptr.To[int32](0)},
			replicas: 0, port: 8080,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newApplication(test.spec))
			f.reconcile()

			app, deployment := f.application(), f.deployment()
			container := deployment.Spec.Template.Spec.Containers[0]
			if container.Image != test.spec.Image || container.Ports[0].ContainerPort != test.port || *deployment.Spec.Replicas != test.replicas {
				t.Errorf("got image %s, port %d, replicas %d", container.Image, container.Ports[0].ContainerPort, *deployment.Spec.Replicas)
			}
			if !metav1.IsControlledBy(deployment, app) {
				t.Error("the Application does not control the Deployment")
			}
			if selector, _ := metav1.LabelSelectorAsMap(deployment.Spec.Selector); selector["app.kubernetes.io/instance"] != key.Name {
				t.Errorf("selector %v", selector)
			}
			if !slices.Contains(app.Finalizers, finalizer) {
				t.Errorf("finalizers %v", app.Finalizers)
			}
			f.expectEvents("Normal DeploymentCreated Created Deployment example")
		})
	}
}

func TestEditChangesTheDeploymentInPlace(t *testing.T) {
	f := newFixture(t, newApplication(examplev1.ApplicationSpec{Image: "example:1"}))
	f.reconcile()
	f.editDeployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Command = []string{"added-by-somebody"} })
	f.editApplication(func(app *examplev1.Application) { app.Spec.Image = "example:2" })
	f.reconcile()

	container := f.deployment().Spec.Template.Spec.Containers[0]
	if container.Image != "example:2" || len(container.Command) != 1 {
		t.Errorf("got image %s, command %v", container.Image, container.Command)
	}
	f.expectEvents("Normal DeploymentCreated Created Deployment example", "Normal DeploymentUpdated Updated Deployment example")
}

func TestNothingIsWrittenWhereNothingChanged(t *testing.T) {
	f := newFixture(t, newApplication(examplev1.ApplicationSpec{Image: "example:1"}))
	f.reconcile()
	app, deployment := f.application().ResourceVersion, f.deployment().ResourceVersion
	f.reconcile()
	if f.application().ResourceVersion != app || f.deployment().ResourceVersion != deployment {
		t.Error("an object was written again")
	}
}

func TestDisablingDeletesTheDeployment(t *testing.T) {
	f := newFixture(t, newApplication(examplev1.ApplicationSpec{Image: "example:1"}))
	f.reconcile()
	f.editApplication(func(app *examplev1.Application) { app.Spec.Enabled = ptr.To(false) })
	f.reconcile()

	f.expectNoDeployment()
	f.expectAvailable(metav1.ConditionFalse, "Disabled")
	f.expectEvents("Normal DeploymentCreated Created Deployment example", "Normal DeploymentDeleted Deleted Deployment example")
}

func TestDeletingRemovesTheDeploymentAndThenTheFinalizer(t *testing.T) {
	f := newFixture(t, newApplication(examplev1.ApplicationSpec{Image: "example:1"}))
	f.reconcile()
	if err := f.Delete(t.Context(), f.application()); err != nil {
		t.Fatal(err)
	}
	f.application() // the finalizer keeps it
	f.reconcile()

	f.expectNoDeployment()
	if err := f.Get(t.Context(), key, &examplev1.Application{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Application is still there: %v", err)
	}
	f.reconcile() // one that is gone is no error
}

func TestForeignDeploymentIsLeftAlone(t *testing.T) {
	foreign := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "foreign"}}

	t.Run("while enabled", func(t *testing.T) {
		f := newFixture(t, newApplication(examplev1.ApplicationSpec{Image: "example:1"}), foreign.DeepCopy())
		if _, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !errors.Is(err, errForeignDeployment) {
			t.Errorf("got %v", err)
		}
		f.expectAvailable(metav1.ConditionFalse, "DeploymentFailed")
		f.expectEvents("Warning DeploymentFailed " + errForeignDeployment.Error())
	})
	t.Run("while disabled", func(t *testing.T) {
		f := newFixture(t, newApplication(examplev1.ApplicationSpec{Image: "example:1", Enabled: ptr.To(false)}), foreign.DeepCopy())
		f.reconcile()
		f.deployment()
	})
	t.Run("while deleted", func(t *testing.T) {
		app := newApplication(examplev1.ApplicationSpec{Image: "example:1"})
		app.Finalizers = []string{finalizer}
		app.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		f := newFixture(t, app, foreign.DeepCopy())
		f.reconcile()
		f.deployment()
	})
}

func TestStatusComesFromTheDeployment(t *testing.T) {
	for name, test := range map[string]struct {
		child   appsv1.DeploymentStatus
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"before the first Pod": {
			status: metav1.ConditionFalse, reason: "RollingOut", message: "0 of 2 replicas ready",
		},
		"half way": {
			child:  appsv1.DeploymentStatus{UpdatedReplicas: 2, ReadyReplicas: 1},
			status: metav1.ConditionFalse, reason: "RollingOut", message: "1 of 2 replicas ready",
		},
		"while the ready ones are the old ones": {
			child:  appsv1.DeploymentStatus{UpdatedReplicas: 1, ReadyReplicas: 2},
			status: metav1.ConditionFalse, reason: "RollingOut", message: "2 of 2 replicas ready",
		},
		"when all are ready": {
			child:  appsv1.DeploymentStatus{UpdatedReplicas: 2, ReadyReplicas: 2},
			status: metav1.ConditionTrue, reason: "Ready", message: "2 of 2 replicas ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApplication(examplev1.ApplicationSpec{Image: "example:1", Replicas: ptr.To[int32](2)})
			app.Generation = 7
			f := newFixture(t, app)
			f.reconcile()
			f.setDeploymentStatus(test.child)
			f.reconcile()

			f.expectAvailable(test.status, test.reason)
			status := f.application().Status
			if status.Message != test.message || status.ReadyReplicas != test.child.ReadyReplicas || status.ObservedGeneration != 7 {
				t.Errorf("got %+v", status)
			}
		})
	}
}

// fixture is a reconciler over a fake cluster.
type fixture struct {
	*ApplicationReconciler
	t      *testing.T
	events *events.FakeRecorder
}

func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, examplev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&examplev1.Application{}).Build()
	recorder := events.NewFakeRecorder(10)
	reconciler := &ApplicationReconciler{Client: cluster, Scheme: scheme, Recorder: recorder}
	return &fixture{ApplicationReconciler: reconciler, t: t, events: recorder}
}

func newApplication(spec examplev1.ApplicationSpec) *examplev1.Application {
	return &examplev1.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "application"},
		Spec:       spec,
	}
}

func (f *fixture) reconcile() {
	f.t.Helper()
	if _, err := f.Reconcile(f.t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) application() *examplev1.Application {
	f.t.Helper()
	app := &examplev1.Application{}
	f.get(app)
	return app
}

func (f *fixture) deployment() *appsv1.Deployment {
	f.t.Helper()
	deployment := &appsv1.Deployment{}
	f.get(deployment)
	return deployment
}

func (f *fixture) get(object client.Object) {
	f.t.Helper()
	if err := f.Get(f.t.Context(), key, object); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) editApplication(edit func(*examplev1.Application)) {
	f.t.Helper()
	app := f.application()
	edit(app)
	f.update(app)
}

func (f *fixture) editDeployment(edit func(*appsv1.Deployment)) {
	f.t.Helper()
	deployment := f.deployment()
	edit(deployment)
	f.update(deployment)
}

func (f *fixture) setDeploymentStatus(status appsv1.DeploymentStatus) {
	f.t.Helper()
	deployment := f.deployment()
	deployment.Status = status
	if err := f.Status().Update(f.t.Context(), deployment); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) update(object client.Object) {
	f.t.Helper()
	if err := f.Update(f.t.Context(), object); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) expectNoDeployment() {
	f.t.Helper()
	if err := f.Get(f.t.Context(), key, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		f.t.Errorf("the Deployment is still there: %v", err)
	}
}

func (f *fixture) expectAvailable(status metav1.ConditionStatus, reason string) {
	f.t.Helper()
	condition := meta.FindStatusCondition(f.application().Status.Conditions, examplev1.ConditionAvailable)
	if condition == nil || condition.Status != status || condition.Reason != reason {
		f.t.Errorf("got condition %+v, want %s, %s", condition, status, reason)
	}
}

func (f *fixture) expectEvents(want ...string) {
	f.t.Helper()
	var got []string
	for len(f.events.Events) > 0 {
		got = append(got, <-f.events.Events)
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("got events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
