package plugins

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/storage/ephemeral"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind/builtin/podspec"
	"github.com/bowline-dev/bowline/internal/plugins/matching"
)

var csiDrivers = schema.GroupResource{Group: storagev1.GroupName, Resource: "csidrivers"}

// checkToken lets an agent request tokens of service accounts only for the pods of its node, and for the audiences of
// their volumes.
func (n nodeWrite) checkToken(ctx context.Context) error {
	if n.Operation != admission.Create || n.Subresource != "token" {
		return nil
	}
	request, ok := n.Object.(*authenticationv1.TokenRequest)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	ref := request.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return n.Forbidden("node requested token not bound to a pod")
	}
	if ref.UID == "" {
		return n.Forbidden("node requested token with a pod binding without a uid")
	}
	pod, err := n.pod(ctx, ref.Name)
	if err != nil {
		return err
	}
	if ref.UID != pod.UID {
		return n.Forbidden("the UID in the bound object reference (%s) does not match the UID in record. The object might "+
			"have been deleted and then recreated", ref.UID)
	}
	if pod.Spec.NodeName != n.node {
		return n.Forbidden("node requested token bound to a pod scheduled on a different node")
	}
	if len(request.Spec.Audiences) > 1 {
		return n.Forbidden("node may only request 0 or 1 audiences")
	}
	audience := strings.Join(request.Spec.Audiences, "")
	if found, err := n.hasAudience(ctx, pod, audience); found || err != nil {
		if err != nil {
			err = n.Forbidden("error validating audience %q: %w", audience, err)
		}
		return err
	}
	allowed, err := n.allowed(ctx, "request-serviceaccounts-token-audience", audience, n.Name)
	switch {
	case allowed:
		return nil
	case err != nil:
		return n.Forbidden("error authorizing %s to request tokens for audience %q: %w", n.User, audience, err)
	}
	return n.Forbidden("%s is not authorized to request tokens for audience %q", n.User, audience)
}

// allowed asks the authorizer whether the agent may use a verb on a resource that stands for an audience or a signer.
func (n nodeWrite) allowed(ctx context.Context, verb, resource, name string) (bool, error) {
	decision, _, err := matching.AuthorizerOf(n.Attributes).Authorize(ctx, authorizer.AttributesRecord{
		User: clientOf(n.Attributes), Verb: verb, APIGroup: n.Resource.Group, APIVersion: n.Resource.Version,
		Resource: resource, Namespace: n.Namespace, Name: name, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow, err
}

// hasAudience reports whether a volume of a pod has tokens for an audience: itself, or through its CSI driver. An error
// states that the driver of a volume cannot be found. Volumes of the plugins that became CSI drivers have no driver.
func (n nodeWrite) hasAudience(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	asked := map[string]bool{} // drivers
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return true, nil
		}
		driver, err := n.driverOf(ctx, pod, v)
		if err == nil && driver != "" && !asked[driver] {
			asked[driver] = true
			var has bool
			if has, err = n.driverHasAudience(ctx, driver, audience); has {
				return true, nil
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, violations(errs)
}

// driverOf returns the name of the CSI driver of a volume, or an empty string.
func (n nodeWrite) driverOf(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (string, error) {
	var claimName string
	switch {
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		claimName = ephemeral.VolumeClaimName(pod, v)
	case v.PersistentVolumeClaim != nil:
		claimName = v.PersistentVolumeClaim.ClaimName
	case v.CSI != nil:
		return v.CSI.Driver, nil
	default:
		return "", nil
	}
	obj, err := n.state.Get(ctx, volumeClaims, pod.Namespace, claimName)
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if err != nil || !ok || claim == nil {
		return "", cmp.Or(err, error(apierrors.NewNotFound(volumeClaims, claimName)))
	}
	obj, err = n.state.Get(ctx, volumes, "", claim.Spec.VolumeName)
	volume, ok := obj.(*corev1.PersistentVolume)
	if err != nil || !ok || volume == nil {
		return "", cmp.Or(err, error(apierrors.NewNotFound(volumes, claim.Spec.VolumeName)))
	}
	if volume.Spec.CSI == nil {
		return "", nil
	}
	return volume.Spec.CSI.Driver, nil
}

// driverHasAudience reports whether a CSI driver asks for tokens for an audience.
func (n nodeWrite) driverHasAudience(ctx context.Context, name, audience string) (bool, error) {
	obj, err := n.state.Get(ctx, csiDrivers, "", name)
	driver, ok := obj.(*storagev1.CSIDriver)
	if err != nil || !ok || driver == nil {
		return false, cmp.Or(err, error(apierrors.NewNotFound(csiDrivers, name)))
	}
	return slices.ContainsFunc(driver.Spec.TokenRequests, func(r storagev1.TokenRequest) bool {
		return r.Audience == audience
	}), nil
}

// checkPodCertificate lets an agent request certificates only for the pods of its node, and from the signers that their
// volumes name.
func (n nodeWrite) checkPodCertificate(ctx context.Context) error {
	if n.Operation != admission.Create {
		return n.Forbidden("unexpected operation %v", n.Operation)
	}
	if n.Subresource != "" {
		return n.Forbidden("unexpected subresource %v", n.Subresource)
	}
	request, ok := n.Object.(*certificatesv1.PodCertificateRequest)
	if !ok {
		return n.unexpectedType(n.Object)
	}
	spec := &request.Spec
	if string(spec.NodeName) != n.node {
		return n.Forbidden("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", spec.NodeName,
			n.node)
	}
	node, err := n.named(ctx, nodes, "", n.node, fmt.Sprintf("node %q", n.node))
	if err != nil {
		return err
	}
	podName := fmt.Sprintf("%q", n.Namespace+"/"+spec.PodName)
	if node.GetUID() != spec.NodeUID {
		return unknownError("PodCertificateRequest for pod %s names node UID %q, inconsistent with the running node (%q)",
			podName, spec.NodeUID, node.GetUID())
	}
	obj, err := n.named(ctx, pods, n.Namespace, spec.PodName, "pod "+podName)
	if err != nil {
		return err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return n.unexpectedType(obj)
	}
	if spec.PodUID != pod.UID {
		return unknownError("PodCertificateRequest for pod %s contains pod UID (%q) which differs from running pod %q",
			podName, spec.PodUID, pod.UID)
	}
	if pod.Spec.NodeName != n.node {
		return n.Forbidden("pod %s is not running on node %q named in the PodCertificateRequest", podName, spec.NodeName)
	}
	if podspec.IsMirror(pod) {
		return n.Forbidden("pod %s is a mirror pod", podName)
	}
	if spec.ServiceAccountName != pod.Spec.ServiceAccountName {
		return n.Forbidden("PodCertificateRequest for pod %s contains serviceAccountName (%q) that differs from running pod "+
			"(%q)", podName, spec.ServiceAccountName, pod.Spec.ServiceAccountName)
	}
	accountName := fmt.Sprintf("%q", n.Namespace+"/"+spec.ServiceAccountName)
	account, err := n.named(ctx, accounts, n.Namespace, spec.ServiceAccountName, "service account "+accountName)
	if err != nil {
		return err
	}
	if spec.ServiceAccountUID != account.GetUID() {
		return unknownError("PodCertificateRequest for pod %s names service account UID %q, which differs from the running "+
			"service account (%q)", accountName, spec.ServiceAccountUID, account.GetUID())
	}
	return n.checkPodSigner(ctx, pod, spec, podName)
}

// named returns an object that a PodCertificateRequest names. If the object does not exist, named returns a 500, as
// Kubernetes does: the kubelet then sends the request again.
func (n nodeWrite) named(ctx context.Context, gr schema.GroupResource, namespace, name, what string) (
	admission.Object, error) {
	obj, err := n.state.Get(ctx, gr, namespace, name)
	if err != nil {
		return nil, n.Forbidden("while retrieving %s named in the PodCertificateRequest: %w", what, err)
	}
	if obj == nil {
		return nil, unknownError("while retrieving %s named in the PodCertificateRequest: %v", what,
			apierrors.NewNotFound(gr, name))
	}
	return obj, nil
}

// unknownError returns a 500 with this text: in Kubernetes, the error has no code.
func unknownError(format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...),
	}}
}

// checkPodSigner rejects a request to a signer that no volume of the pod names and that the agent may not ask.
func (n nodeWrite) checkPodSigner(ctx context.Context, pod *corev1.Pod, spec *certificatesv1.PodCertificateRequestSpec,
	podName string) error {
	signer := spec.SignerName
	for i := range pod.Spec.Volumes {
		p := pod.Spec.Volumes[i].Projected
		if p != nil && slices.ContainsFunc(p.Sources, func(s corev1.VolumeProjection) bool {
			return s.PodCertificate != nil && s.PodCertificate.SignerName == signer
		}) {
			return nil
		}
	}
	// a resource cannot contain a slash
	allowed, err := n.allowed(ctx, "request-serviceaccounts-podcertificate-signer", strings.ReplaceAll(signer, "/", ":"),
		spec.ServiceAccountName)
	switch {
	case allowed:
		return nil
	case err != nil:
		return n.Forbidden("error authorizing %s to request podcertificaterequests for signer %q: %w", n.User, signer, err)
	}
	return n.Forbidden("pod %s does not mount a podCertificate projected volume for signer %q", podName, signer)
}
