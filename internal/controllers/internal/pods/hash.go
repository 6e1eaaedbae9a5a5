package pods

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// Hash returns Kubernetes' pod-template-hash of a template and the collision count of its owner.
//
// Kubernetes hashes the template's Go struct as package dump prints it, so the hash of an unchanged template
// changes with each release that adds a field. Hash prints the fields of Kubernetes 1.36, and newer fields
// only if they are set, so that objects keep their names when this library is updated.
func Hash(template *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	fmt.Fprint(h, newFields.ReplaceAllString(dump.ForHash(*template), "$1"))
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		h.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// newFields matches unset fields in a printed template that were added after Kubernetes 1.36.
var newFields = regexp.MustCompile(`(EmptyDirVolumeSource\)\{.*?) Mode:\(\*int32\)<nil>|` +
	` (?:EvictionResponders:\(\[\]v1\.EvictionResponder\)|BindMountOptions:\(\[\]string\)|` +
	`(?:Default)?User:\(\*int64\)|Protocol:\(\*v1\.HTTPProtocol\)|Mode:\(\*v1\.GRPCProbeMode\))<nil>`)
