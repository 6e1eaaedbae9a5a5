package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (w *warner) volumes() {
	for i := range w.spec.Volumes {
		v, at := &w.spec.Volumes[i], w.path.Child("volumes").Index(i)
		warn := func(set bool, name, message string) {
			if set {
				w.add(at.Child(name), "%s", message)
			}
		}
		warn(v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+")
		warn(v.GitRepo != nil, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+")
		warn(v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+")
		warn(v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+")
		warn(v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+")
		warn(v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+")
		warn(v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+")
		warn(v.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+")
		warn(v.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+")
	}
}

// tokenPaths warns about files that a service account token hides.
func (w *warner) tokenPaths() {
	for i := range w.spec.Volumes {
		p := w.spec.Volumes[i].Projected
		if p == nil {
			continue
		}
		at := w.path.Child("volumes").Index(i).Child("projected", "sources")
		for _, source := range p.Sources {
			if source.ConfigMap != nil {
				w.hiddenKeys(source.ConfigMap.Items, at.Child("configMap"))
			}
			if source.Secret != nil {
				w.hiddenKeys(source.Secret.Items, at.Child("secrets"))
			}
			if source.DownwardAPI != nil {
				for n, file := range source.DownwardAPI.Items {
					w.hidden(file.Path, at.Child("downwardAPI").Index(n))
				}
			}
			if source.ClusterTrustBundle != nil {
				w.hidden(source.ClusterTrustBundle.Path, at.Child("ClusterTrustBundle"))
			}
		}
	}
}

func (w *warner) hiddenKeys(items []corev1.KeyToPath, path *field.Path) {
	for i, item := range items {
		w.hidden(item.Path, path.Index(i))
	}
}

func (w *warner) hidden(file string, path *field.Path) {
	if hasTokenPath(w.spec, file) {
		w.add(path, "has duplicated path with ServiceAccountToken %q", file)
	}
}
