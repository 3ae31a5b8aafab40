package controller

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	examplev1 "example.com/application-operator/api/v1"
)

// setStatus describes the Application by its Deployment, which is nil where there is none, and by
// what failed on the way to it.
func setStatus(app *examplev1.Application, deployment *appsv1.Deployment, failure error) {
	app.Status.ObservedGeneration = app.Generation
	app.Status.ReadyReplicas = 0
	if deployment != nil {
		app.Status.ReadyReplicas = deployment.Status.ReadyReplicas
	}
	status, reason, message := judge(app, deployment, failure)
	app.Status.Message = message
	meta.SetStatusCondition(&app.Status.Conditions, metav1.Condition{
		Type:               examplev1.ConditionAvailable,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: app.Generation,
	})
}

func judge(app *examplev1.Application, deployment *appsv1.Deployment, failure error) (metav1.ConditionStatus, string, string) {
	if failure != nil {
		return metav1.ConditionFalse, "DeploymentFailed", failure.Error()
	}
	if !isEnabled(app) {
		return metav1.ConditionFalse, "Disabled", "the Application is disabled"
	}
	wanted, ready := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status.ReadyReplicas
	message := fmt.Sprintf("%d of %d replicas ready", ready, wanted)
	if rolledOut(deployment, wanted) {
		return metav1.ConditionTrue, "Ready", message
	}
	return metav1.ConditionFalse, "RollingOut", message
}

func rolledOut(deployment *appsv1.Deployment, wanted int32) bool {
	status := deployment.Status
	return status.ObservedGeneration >= deployment.Generation &&
		status.UpdatedReplicas >= wanted && status.ReadyReplicas >= wanted
}
