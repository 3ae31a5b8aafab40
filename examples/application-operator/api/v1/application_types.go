package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the defaulting webhook fills in. The controller falls back to the same values, so that an
// Application that was stored while the webhooks were off means the same.
const (
	DefaultEnabled  bool  = true
	DefaultReplicas int32 = 1
	DefaultPort     int32 = 8080
)

// ConditionAvailable is True while every replica that the Application asks for is ready.
const ConditionAvailable = "Available"

// The limits below are checked by the validating webhook and, on purpose, not repeated in the schema:
// kube-apiserver checks the schema first, and the webhook is what this example is there to show.

// ApplicationSpec is what a person asks for.
type ApplicationSpec struct {
	// enabled says whether the application runs. Disabled, it has no Deployment. Default: true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// image is the container image to run. It is required.
	// +optional
	Image string `json:"image,omitempty"`

	// replicas is the number of Pods, 0 to 50. Default: 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// port is the port that the container listens on, 1 to 65535. Default: 8080.
	// +optional
	Port *int32 `json:"port,omitempty"`
}

// ApplicationStatus is what the controller saw last.
type ApplicationStatus struct {
	// conditions has one condition: Available.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// readyReplicas is the number of Pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// message is the state in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=app
// +kubebuilder:printcolumn:name="Enabled",type=boolean,JSONPath=`.spec.enabled`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// Application is an image that runs as a Deployment of the same name.
type Application struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec ApplicationSpec `json:"spec"`

	// +optional
	Status ApplicationStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// ApplicationList is a list of Applications.
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Application `json:"items"`
}
