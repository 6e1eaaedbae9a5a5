package object_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/object"
)

// Keys and revisions compare as strings and numbers.
func Example() {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	key := object.KeyOf(deployments, "default", "web")
	fmt.Println(key, key.GroupResource(), key.Namespace(), key.Name())
	fmt.Println(key < object.KeyOf(deployments, "default", "worker"))

	revision, err := object.ParseRevision("1700000000000000") // a metadata.resourceVersion
	fmt.Println(revision > 42, err)
	// Output:
	// apps/deployments/default/web deployments.apps default web
	// true
	// true <nil>
}
