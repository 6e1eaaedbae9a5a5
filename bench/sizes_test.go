package main

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
)

// TestSchemaOfManyDefinitionsIs5KB checks the size that the row states.
func TestSchemaOfManyDefinitionsIs5KB(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(wideDefinition(0).Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil || len(data) < 5_000 || len(data) > 5_500 {
		t.Errorf("the schema has %d bytes (%v)", len(data), err)
	}
}

// TestPodIs3300Bytes checks the size that the row states: as stored by the server, without managedFields.
func TestPodIs3300Bytes(t *testing.T) {
	t.Parallel()
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	stored, err := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().Pods("default").Create(t.Context(), pod(0),
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.ManagedFields = nil
	data, err := json.Marshal(stored)
	if err != nil || len(data) < 3_200 || len(data) > 3_400 {
		t.Errorf("the pod has %d bytes (%v)", len(data), err)
	}
}
