// Package controller makes the cluster follow the Applications.
package controller

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	examplev1 "example.com/application-operator/api/v1"
)

const finalizer = "apps.example.com/finalizer"

// cacheDelay is more than the cache needs to learn of a new object.
const cacheDelay = time.Second

// errForeignDeployment means that the name is taken by a Deployment that is not ours to change.
var errForeignDeployment = errors.New("a Deployment of this name exists already and belongs to somebody else")

// ApplicationReconciler keeps one Deployment for each enabled Application.
type ApplicationReconciler struct {
	client.Client
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
}

// +kubebuilder:rbac:groups=apps.example.com,resources=applications,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=apps.example.com,resources=applications/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=apps.example.com,resources=applications/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller with the manager.
func (r *ApplicationReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&examplev1.Application{}).
		Owns(&appsv1.Deployment{}).
		Named("application").
		Complete(r)
}

// Reconcile brings one Application from what is to what should be.
func (r *ApplicationReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &examplev1.Application{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, app)
	}
	if err := r.addFinalizer(ctx, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment, err := r.reconcileDeployment(ctx, app)
	if apierrors.IsAlreadyExists(err) {
		// The cache does not have it yet: an earlier call created it a moment ago.
		return ctrl.Result{RequeueAfter: cacheDelay}, nil
	}
	if err != nil {
		r.warn(app, "DeploymentFailed", "Reconcile", err)
	}
	return ctrl.Result{}, errors.Join(err, r.reportStatus(ctx, app, deployment, err))
}

// reconcileDeployment returns the Deployment of an enabled Application, and nil for a disabled one.
func (r *ApplicationReconciler) reconcileDeployment(ctx context.Context, app *examplev1.Application) (*appsv1.Deployment, error) {
	if !isEnabled(app) {
		return nil, r.deleteDeployment(ctx, app)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		if deployment.ResourceVersion != "" && !metav1.IsControlledBy(deployment, app) {
			return errForeignDeployment
		}
		shapeDeployment(deployment, app)
		return controllerutil.SetControllerReference(app, deployment, r.Scheme)
	})
	if err != nil {
		return nil, err
	}
	switch result {
	case controllerutil.OperationResultCreated:
		r.inform(ctx, app, deployment, "DeploymentCreated", "Create", "Created Deployment "+deployment.Name)
	case controllerutil.OperationResultUpdated:
		r.inform(ctx, app, deployment, "DeploymentUpdated", "Update", "Updated Deployment "+deployment.Name)
	}
	return deployment, nil
}

func (r *ApplicationReconciler) addFinalizer(ctx context.Context, app *examplev1.Application) error {
	before := app.DeepCopy()
	if !controllerutil.AddFinalizer(app, finalizer) {
		return nil
	}
	return r.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// finalize removes the Deployment, and after it the finalizer that keeps the Application.
func (r *ApplicationReconciler) finalize(ctx context.Context, app *examplev1.Application) error {
	if !controllerutil.ContainsFinalizer(app, finalizer) {
		return nil
	}
	if err := r.deleteDeployment(ctx, app); err != nil {
		r.warn(app, "CleanupFailed", "Delete", err)
		return err
	}
	before := app.DeepCopy()
	controllerutil.RemoveFinalizer(app, finalizer)
	err := r.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// deleteDeployment removes the Deployment if there is one and it is ours.
func (r *ApplicationReconciler) deleteDeployment(ctx context.Context, app *examplev1.Application) error {
	deployment := &appsv1.Deployment{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(app), deployment); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(deployment, app) || !deployment.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.Delete(ctx, deployment, client.Preconditions{UID: &deployment.UID}); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.inform(ctx, app, deployment, "DeploymentDeleted", "Delete", "Deleted Deployment "+deployment.Name)
	return nil
}

func (r *ApplicationReconciler) reportStatus(ctx context.Context, app *examplev1.Application, deployment *appsv1.Deployment, failure error) error {
	before := app.DeepCopy()
	setStatus(app, deployment, failure)
	if equality.Semantic.DeepEqual(before.Status, app.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Patch(ctx, app, client.MergeFrom(before)))
}

func (r *ApplicationReconciler) inform(ctx context.Context, app *examplev1.Application, deployment *appsv1.Deployment, reason, action, note string) {
	logf.FromContext(ctx).Info(note)
	r.Recorder.Eventf(app, deployment, corev1.EventTypeNormal, reason, action, "%s", note)
}

// warn is silent about conflicts: another write came first, and the next round settles it.
func (r *ApplicationReconciler) warn(app *examplev1.Application, reason, action string, err error) {
	if !apierrors.IsConflict(err) {
		r.Recorder.Eventf(app, nil, corev1.EventTypeWarning, reason, action, "%s", err.Error())
	}
}

func isEnabled(app *examplev1.Application) bool {
	return ptr.Deref(app.Spec.Enabled, examplev1.DefaultEnabled)
}
