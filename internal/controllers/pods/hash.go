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

// Hash is Kubernetes' pod-template-hash: of a template, and of how often a name made of it was found to be taken.
//
// Kubernetes hashes the template's Go struct as package dump prints it, so that the hash of an unchanged template changes with
// each release that adds a field. This one prints what Kubernetes 1.36 has; what came later counts where it is set, so that
// objects keep their names when this library is updated.
func Hash(template *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	fmt.Fprint(h, later.ReplaceAllString(dump.ForHash(*template), "$1"))
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		h.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// later finds the fields of a printed template that came after Kubernetes 1.36, where they are not set.
var later = regexp.MustCompile(`(EmptyDirVolumeSource\)\{.*?) Mode:\(\*int32\)<nil>|` +
	` (?:EvictionResponders:\(\[\]v1\.EvictionResponder\)|BindMountOptions:\(\[\]string\)|` +
	`(?:Default)?User:\(\*int64\)|Protocol:\(\*v1\.HTTPProtocol\)|Mode:\(\*v1\.GRPCProbeMode\))<nil>`)
