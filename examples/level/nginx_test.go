package level_test

import (
	"os"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// nginx returns the Deployment of the documents.
func nginx() *appsv1.Deployment {
	data, err := os.ReadFile("nginx.yaml")
	if err != nil {
		panic(err)
	}
	d := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(data, d); err != nil {
		panic(err)
	}
	return d
}
