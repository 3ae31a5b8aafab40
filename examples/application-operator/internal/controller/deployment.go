package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	examplev1 "example.com/application-operator/api/v1"
)

const containerName = "application"

// shapeDeployment writes what the Application says into the Deployment and leaves every other field
// as it is, so that the defaults of kube-apiserver do not look like a difference.
func shapeDeployment(deployment *appsv1.Deployment, app *examplev1.Application) {
	labels := labelsFor(app)
	deployment.Labels = merge(deployment.Labels, labels)
	deployment.Spec.Replicas = ptr.To(ptr.Deref(app.Spec.Replicas, examplev1.DefaultReplicas))
	if deployment.Spec.Selector == nil { // immutable
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	}
	template := &deployment.Spec.Template
	template.Labels = merge(template.Labels, labels)
	container := findOrAddContainer(&template.Spec, containerName)
	container.Image = app.Spec.Image
	container.Ports = []corev1.ContainerPort{{
		Name:          "http",
		ContainerPort: ptr.Deref(app.Spec.Port, examplev1.DefaultPort),
		Protocol:      corev1.ProtocolTCP,
	}}
}

func findOrAddContainer(pod *corev1.PodSpec, name string) *corev1.Container {
	for i := range pod.Containers {
		if pod.Containers[i].Name == name {
			return &pod.Containers[i]
		}
	}
	pod.Containers = append(pod.Containers, corev1.Container{Name: name})
	return &pod.Containers[len(pod.Containers)-1]
}

func labelsFor(app *examplev1.Application) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "application",
		"app.kubernetes.io/instance":   app.Name,
		"app.kubernetes.io/managed-by": "application-operator",
	}
}

func merge(into, from map[string]string) map[string]string {
	if into == nil {
		into = map[string]string{}
	}
	for key, value := range from {
		into[key] = value
	}
	return into
}
