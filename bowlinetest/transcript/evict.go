package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// evict requests the eviction of a pod. The error of a refusal includes the causes in the response's details.
func (s *stage) evict(ref string) error {
	gvr, namespace, name, err := s.named(ref)
	if err != nil {
		return err
	}
	body, err := json.Marshal(policyv1.Eviction{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
	})
	if err != nil {
		return err
	}
	err = s.client.REST().Post().AbsPath("api", gvr.Version, "namespaces", namespace, gvr.Resource, name, "eviction").
		SetHeader("Content-Type", "application/json").Body(body).MaxRetries(0).Do(context.Background()).Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			err = fmt.Errorf("%w %s", err, cause.Message)
		}
	}
	return err
}
