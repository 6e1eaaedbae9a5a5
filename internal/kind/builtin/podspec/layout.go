package podspec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubernetes reports forbidden updates as a difference of its internal types: all fields with Go names, in
// the order of their declaration. This file describes how that differs from the API types.

// podSpecLayout has the fields of a pod spec in the order of the internal type. Other fields of the API type are
// immutable too.
type podSpecLayout struct {
	Volumes                       []corev1.Volume
	InitContainers                []corev1.Container
	Containers                    []corev1.Container
	EphemeralContainers           []corev1.EphemeralContainer
	RestartPolicy                 corev1.RestartPolicy
	TerminationGracePeriodSeconds *int64
	ActiveDeadlineSeconds         *int64
	DNSPolicy                     corev1.DNSPolicy
	NodeSelector                  map[string]string
	ServiceAccountName            string
	AutomountServiceAccountToken  *bool
	NodeName                      string
	SecurityContext               *podSecurityLayout
	ImagePullSecrets              []corev1.LocalObjectReference
	Hostname                      string
	Subdomain                     string
	SetHostnameAsFQDN             *bool
	Affinity                      *corev1.Affinity
	SchedulerName                 string
	Tolerations                   []corev1.Toleration
	HostAliases                   []corev1.HostAlias
	PriorityClassName             string
	Priority                      *int32
	PreemptionPolicy              *corev1.PreemptionPolicy
	DNSConfig                     *corev1.PodDNSConfig
	ReadinessGates                []corev1.PodReadinessGate
	RuntimeClassName              *string
	Overhead                      corev1.ResourceList
	EnableServiceLinks            *bool
	TopologySpreadConstraints     []corev1.TopologySpreadConstraint
	OS                            *corev1.PodOS
	SchedulingGates               []corev1.PodSchedulingGate
	ResourceClaims                []corev1.PodResourceClaim
	Resources                     *corev1.ResourceRequirements
	HostnameOverride              *string
	SchedulingGroup               *corev1.PodSchedulingGroup
	EvictionResponders            []corev1.EvictionResponder
}

// podSecurityLayout has the fields for sharing host namespaces, which the API has outside the security
// context.
type podSecurityLayout struct {
	HostNetwork           bool
	HostPID               bool
	HostIPC               bool
	ShareProcessNamespace *bool
	HostUsers             *bool
	corev1.PodSecurityContext
}

// SpecLayout formats a pod spec as Kubernetes' messages do.
func SpecLayout(spec *corev1.PodSpec) json.RawMessage {
	l := podSpecLayout{
		Volumes: spec.Volumes, InitContainers: spec.InitContainers, Containers: spec.Containers,
		EphemeralContainers: spec.EphemeralContainers, RestartPolicy: spec.RestartPolicy,
		TerminationGracePeriodSeconds: spec.TerminationGracePeriodSeconds,
		ActiveDeadlineSeconds:         spec.ActiveDeadlineSeconds,
		DNSPolicy:                     spec.DNSPolicy, NodeSelector: spec.NodeSelector,
		ServiceAccountName:           spec.ServiceAccountName,
		AutomountServiceAccountToken: spec.AutomountServiceAccountToken, NodeName: spec.NodeName,
		ImagePullSecrets: spec.ImagePullSecrets, Hostname: spec.Hostname, Subdomain: spec.Subdomain,
		SetHostnameAsFQDN: spec.SetHostnameAsFQDN, Affinity: spec.Affinity, SchedulerName: spec.SchedulerName,
		Tolerations: spec.Tolerations, HostAliases: spec.HostAliases, PriorityClassName: spec.PriorityClassName,
		Priority: spec.Priority, PreemptionPolicy: spec.PreemptionPolicy, DNSConfig: spec.DNSConfig,
		ReadinessGates: spec.ReadinessGates, RuntimeClassName: spec.RuntimeClassName, Overhead: spec.Overhead,
		EnableServiceLinks: spec.EnableServiceLinks, TopologySpreadConstraints: spec.TopologySpreadConstraints,
		OS:              spec.OS,
		SchedulingGates: spec.SchedulingGates, ResourceClaims: spec.ResourceClaims, Resources: spec.Resources,
		HostnameOverride: spec.HostnameOverride, SchedulingGroup: spec.SchedulingGroup,
		EvictionResponders: spec.EvictionResponders,
	}
	if c := spec.SecurityContext; c != nil {
		l.SecurityContext = &podSecurityLayout{spec.HostNetwork, spec.HostPID, spec.HostIPC, spec.ShareProcessNamespace,
			spec.HostUsers, *c}
	}
	return Layout(l)
}

// TemplateLayout formats a pod template as Kubernetes' messages do. Its metadata has JSON names there too.
func TemplateLayout(template *corev1.PodTemplateSpec) json.RawMessage {
	data, err := json.Marshal(struct {
		metav1.ObjectMeta
		Spec json.RawMessage
	}{template.ObjectMeta, SpecLayout(&template.Spec)})
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// layoutOrder lists the fields of structs whose internal types have another order or fewer fields.
var layoutOrder = map[reflect.Type][]string{
	reflect.TypeFor[corev1.VolumeSource](): {
		"HostPath", "EmptyDir", "GCEPersistentDisk", "AWSElasticBlockStore", "GitRepo", "Secret", "NFS", "ISCSI",
		"Glusterfs",
		"PersistentVolumeClaim", "RBD", "Quobyte", "FlexVolume", "Cinder", "CephFS", "Flocker", "DownwardAPI", "FC",
		"AzureFile",
		"ConfigMap", "VsphereVolume", "AzureDisk", "PhotonPersistentDisk", "Projected", "PortworxVolume", "ScaleIO",
		"StorageOS",
		"CSI", "Ephemeral", "Image",
	},
	reflect.TypeFor[corev1.PodSecurityContext](): {
		"SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "SupplementalGroups",
		"SupplementalGroupsPolicy", "FSGroup", "FSGroupChangePolicy", "Sysctls", "SeccompProfile", "AppArmorProfile",
		"SELinuxChangePolicy",
	},
}

// newerFields were added after Kubernetes 1.36, the source of these messages: they are shown only if they are
// set.
var newerFields = map[string]bool{
	"EmptyDirVolumeSource.Mode":           true,
	"SecretVolumeSource.DefaultUser":      true,
	"ConfigMapVolumeSource.DefaultUser":   true,
	"DownwardAPIVolumeSource.DefaultUser": true,
	"ProjectedVolumeSource.DefaultUser":   true,
	"KeyToPath.User":                      true,
	"DownwardAPIVolumeFile.User":          true,
	"ServiceAccountTokenProjection.User":  true,
	"ClusterTrustBundleProjection.User":   true,
	"PodCertificateProjection.User":       true,
	"VolumeMount.BindMountOptions":        true,
	"HTTPGetAction.Protocol":              true,
	"GRPCAction.Mode":                     true,
	"podSpecLayout.EvictionResponders":    true,
}

// Layout formats a part of an API object as Kubernetes' messages do. Unless layoutOrder lists its type, its
// fields must have the same order in the internal type.
func Layout(v any) json.RawMessage {
	var out bytes.Buffer
	writeLayout(&out, reflect.ValueOf(v))
	return out.Bytes()
}

func writeLayout(out *bytes.Buffer, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		writeLayout(out, v.Elem())
	case v.Kind() == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			writeLayout(out, v.Index(i))
		}
		out.WriteByte(']')
	case v.Kind() == reflect.Struct && isLayoutStruct(v.Type()):
		out.WriteByte('{')
		writeFields(out, v, true)
		out.WriteByte('}')
	default:
		// Types with their own JSON encoding (times, quantities, selectors) and plain values are equal in
		// both types.
		data, err := json.Marshal(v.Interface())
		if err != nil {
			data = []byte("null")
		}
		out.Write(data)
	}
}

// apiPackages is the prefix of the packages of API types, and ownPackage the package of the layouts above.
const apiPackages = "k8s.io/api/"

var ownPackage = reflect.TypeFor[podSpecLayout]().PkgPath()

func isLayoutStruct(t reflect.Type) bool {
	return strings.HasPrefix(t.PkgPath(), apiPackages) || t.PkgPath() == ownPackage
}

// writeFields writes the fields of a struct, including those of embedded structs.
func writeFields(out *bytes.Buffer, v reflect.Value, first bool) bool {
	for _, f := range layoutFields(v.Type()) {
		value := v.FieldByIndex(f.Index)
		if f.Anonymous && isLayoutStruct(f.Type) {
			first = writeFields(out, value, first)
			continue
		}
		if newerFields[v.Type().Name()+"."+f.Name] && value.IsZero() {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteString(`"` + f.Name + `":`)
		writeLayout(out, value)
	}
	return first
}

func layoutFields(t reflect.Type) []reflect.StructField {
	fields := reflect.VisibleFields(t)
	fields = slices.DeleteFunc(fields, func(f reflect.StructField) bool { return len(f.Index) > 1 })
	order, ok := layoutOrder[t]
	if !ok {
		return fields
	}
	var ordered []reflect.StructField
	for _, name := range order {
		if f, ok := t.FieldByName(name); ok {
			ordered = append(ordered, f)
		}
	}
	return ordered
}
