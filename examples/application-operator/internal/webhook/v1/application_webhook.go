// Package v1 contains the admission webhooks of apps.example.com/v1.
package v1

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	examplev1 "example.com/application-operator/api/v1"
)

// imageRequired is the message for an Application without an image. Edit it while `devloop up` runs, apply
// config/samples/apps_v1_application_bad.yaml again, and the cluster answers with the new text.
const imageRequired = "an Application needs an image"

const (
	maxReplicas = 50
	maxPort     = 65535
)

// SetupApplicationWebhookWithManager registers the webhooks for Application with the manager.
func SetupApplicationWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &examplev1.Application{}).
		WithDefaulter(&ApplicationDefaulter{}).
		WithValidator(&ApplicationValidator{}).
		Complete()
}

// +kubebuilder:webhook:path=/mutate-apps-example-com-v1-application,mutating=true,failurePolicy=fail,sideEffects=None,timeoutSeconds=10,groups=apps.example.com,resources=applications,verbs=create;update,versions=v1,name=mapplication-v1.kb.io,admissionReviewVersions=v1

// ApplicationDefaulter fills in what a person left out of an Application.
type ApplicationDefaulter struct{}

var _ admission.Defaulter[*examplev1.Application] = &ApplicationDefaulter{}

// Default sets the fields of the spec that are not set.
func (*ApplicationDefaulter) Default(ctx context.Context, app *examplev1.Application) error {
	logf.FromContext(ctx).Info("defaulting")
	setDefault(&app.Spec.Enabled, examplev1.DefaultEnabled)
	setDefault(&app.Spec.Replicas, examplev1.DefaultReplicas)
	setDefault(&app.Spec.Port, examplev1.DefaultPort)
	return nil
}

func setDefault[T any](fieldValue **T, value T) {
	if *fieldValue == nil {
		*fieldValue = &value
	}
}

// +kubebuilder:webhook:path=/validate-apps-example-com-v1-application,mutating=false,failurePolicy=fail,sideEffects=None,timeoutSeconds=10,groups=apps.example.com,resources=applications,verbs=create;update,versions=v1,name=vapplication-v1.kb.io,admissionReviewVersions=v1

// ApplicationValidator refuses an Application that could not run.
type ApplicationValidator struct{}

var _ admission.Validator[*examplev1.Application] = &ApplicationValidator{}

// ValidateCreate checks a new Application.
func (*ApplicationValidator) ValidateCreate(ctx context.Context, app *examplev1.Application) (admission.Warnings, error) {
	logf.FromContext(ctx).Info("validating create")
	return nil, validate(app)
}

// ValidateUpdate checks a changed Application. One that is being deleted passes: its finalizer has
// to come off even where a newer rule would refuse its spec.
func (*ApplicationValidator) ValidateUpdate(ctx context.Context, _, app *examplev1.Application) (admission.Warnings, error) {
	logf.FromContext(ctx).Info("validating update")
	if !app.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return nil, validate(app)
}

// ValidateDelete allows every deletion. The webhook is not registered for it either.
func (*ApplicationValidator) ValidateDelete(context.Context, *examplev1.Application) (admission.Warnings, error) {
	return nil, nil
}

func validate(app *examplev1.Application) error {
	spec := field.NewPath("spec")
	var problems field.ErrorList
	if app.Spec.Image == "" {
		problems = append(problems, field.Required(spec.Child("image"), imageRequired))
	}
	problems = append(problems, checkRange(spec.Child("replicas"), app.Spec.Replicas, 0, maxReplicas)...)
	problems = append(problems, checkRange(spec.Child("port"), app.Spec.Port, 1, maxPort)...)
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(examplev1.GroupVersion.WithKind("Application").GroupKind(), app.Name, problems)
}

func checkRange(path *field.Path, value *int32, low, high int) field.ErrorList {
	if value == nil || (int(*value) >= low && int(*value) <= high) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, validation.InclusiveRangeError(low, high))}
}
