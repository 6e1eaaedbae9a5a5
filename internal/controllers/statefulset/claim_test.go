package statefulset

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/history"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podset"
)

// The owner of a claim depends on the retention policy, for the deletion (deleted) and the scaling (scaled)
// of the set, and on whether the pod is condemned.
func TestClaimOwnersFollowRetentionPolicy(t *testing.T) {
	t.Parallel()
	const another = "another!" // a controller other than the StatefulSet's
	for _, c := range []struct {
		name            string
		deleted, scaled string
		condemned       bool
		has, want       string // the owners: ! marks controllers
		conflict        bool
	}{
		{name: "retain both", deleted: "Retain", scaled: "Retain"},
		{name: "retain both, owned by the set", deleted: "Retain", scaled: "Retain", has: "web!"},
		{name: "delete with the set", deleted: "Delete", scaled: "Retain", want: "web!"},
		{name: "delete with the set, wrong reference", deleted: "Delete", scaled: "Retain", has: "web", want: "web!"},
		{name: "delete with the set, condemned", deleted: "Delete", scaled: "Retain", condemned: true, want: "web!"},
		{name: "delete on scale-down", deleted: "Retain", scaled: "Delete"},
		{name: "delete on scale-down, condemned", deleted: "Retain", scaled: "Delete", condemned: true, want: "web-1!"},
		{name: "delete both", deleted: "Delete", scaled: "Delete", has: "web-1!", want: "web!"},
		{name: "delete both, condemned", deleted: "Delete", scaled: "Delete", condemned: true, has: "web!",
			want: "web-1!"},
		{name: "additional owner", deleted: "Delete", scaled: "Retain", has: "user", want: "user web!"},
		{name: "another controller", deleted: "Delete", scaled: "Retain", has: "web! " + another, want: another,
			conflict: true},
		{name: "another controller, retain both", deleted: "Retain", scaled: "Retain", has: another,
			want: another},
		{name: "earlier set of the name", deleted: "Delete", scaled: "Delete", has: "web@old!",
			want: "web@old!"},
		{name: "earlier pod of the name", deleted: "Retain", scaled: "Retain", has: "web-1@old!",
			want: "web-1@old!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}}
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.PersistentVolumeClaimRetentionPolicyType(c.deleted),
				WhenScaled:  appsv1.PersistentVolumeClaimRetentionPolicyType(c.scaled),
			}
			w := &decision{Observed: Observed{Observed: podset.Observed[*appsv1.StatefulSet]{Set: set}}, size: 2}
			if c.condemned {
				w.size = 1
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "web-1"}}
			owners, conflict := w.owners(&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{OwnerReferences: parseOwners(c.has)},
			}, pod, 1)
			if got := formatOwners(owners); got != c.want || conflict != c.conflict {
				t.Errorf("got owners %q, conflict %t; want %q, %t", got, conflict, c.want, c.conflict)
			}
		})
	}
}

// decisionWithClaims returns a decision about a set of one pod with two claim templates of the same name. Its claims
// are deleted with the set.
func decisionWithClaims(has ...*corev1.PersistentVolumeClaim) *decision {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}}
	set.Spec.Selector = &metav1.LabelSelector{}
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	template := func(of string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data",
			Labels: map[string]string{"template": of}}}
	}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{template("first"), template("second")}
	find := func(name string) *corev1.PersistentVolumeClaim {
		for _, claim := range has {
			if claim.Name == name {
				return claim
			}
		}
		return nil
	}
	return &decision{
		Observed: Observed{podset.Observed[*appsv1.StatefulSet]{Set: set}, find}, size: 1,
		history: history.Revisions{Current: &appsv1.ControllerRevision{}}, current: &appsv1.ControllerRevision{},
	}
}

func planned(actions []action.Action) string {
	var all []string
	for _, a := range actions {
		all = append(all, a.String())
	}
	return strings.Join(all, "; ")
}

func TestVolumeNamesAreUnique(t *testing.T) {
	t.Parallel()
	w := decisionWithClaims()
	pod := newPod(w.Set, &w.Set.Spec.Template, "revision", 0)
	if len(pod.Spec.Volumes) != 1 || !hasIdentityAndVolumes(w.Set, pod, 0) {
		t.Errorf("got volumes %v, want one", pod.Spec.Volumes)
	}
	if got := planned(w.create(pod, 0)); got != "create persistentvolumeclaim/data-web-0; create pod/web-0" {
		t.Errorf("got actions %q, want one claim and the pod", got)
	}
	if claim := newClaim(w.Set, claimTemplates(w.Set)[0], 0); claim.Labels["template"] != "second" {
		t.Errorf("got a claim with labels %v, want those of the second template", claim.Labels)
	}
}

// An adopted pod cannot get volumes, so each update of it fails. Its claims get their owners nevertheless.
func TestClaimsAreUpdatedBeforeRejectedPods(t *testing.T) {
	t.Parallel()
	w := decisionWithClaims(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-web-0"}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "web-0"}}
	pod.Status.Phase = corev1.PodRunning
	w.replicas = map[int]*corev1.Pod{0: pod}
	todo, _ := w.replica(0, false)
	if got := planned(todo); got != "update persistentvolumeclaim/data-web-0; update pod/web-0" {
		t.Errorf("got actions %q", got)
	}
}

func TestCreationReportsClaimOfAnotherOwner(t *testing.T) {
	t.Parallel()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-web-0",
		OwnerReferences: parseOwners("another!")}}
	w := decisionWithClaims(claim)
	pod := newPod(w.Set, &w.Set.Spec.Template, "revision", 0)
	got, event := planned(w.create(pod, 0)), "event ConflictingController on web"
	if !strings.HasPrefix(got, event) || !strings.HasSuffix(got, "; create pod/web-0") {
		t.Errorf("got actions %q", got)
	}
	pod.UID = "web-0"
	if got := planned(w.updateClaimOwners(pod, 0)); got != "" {
		t.Errorf("existing pod: got actions %q, want none", got)
	}
}

// If the current revision cannot be decoded, pods below the partition are not created from the new template.
func TestUndecodableRevisionBlocksPodsBelowPartition(t *testing.T) {
	t.Parallel()
	w := decisionWithClaims()
	w.Set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type:          appsv1.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))},
	}
	if todo, _ := w.replica(0, true); len(todo) > 0 || w.decodeErr == nil {
		t.Errorf("got actions %q, error %v; want none, an error", planned(todo), w.decodeErr)
	}
}

// parseOwners parses owner references in the form NAME or NAME@UID, with a trailing ! for controllers.
func parseOwners(text string) (owners []metav1.OwnerReference) {
	kinds := map[string][2]string{"web": {"apps/v1", "StatefulSet"}, "web-1": {"v1", "Pod"}}
	for _, word := range strings.Fields(text) {
		name, isController := strings.CutSuffix(word, "!")
		name, uid, other := strings.Cut(name, "@")
		if !other {
			uid = name
		}
		ref := metav1.OwnerReference{APIVersion: kinds[name][0], Kind: kinds[name][1], Name: name, UID: types.UID(uid)}
		if isController {
			ref.Controller = new(true)
		}
		owners = append(owners, ref)
	}
	return owners
}

func formatOwners(owners []metav1.OwnerReference) string {
	var words []string
	for _, ref := range owners {
		word := ref.Name
		if string(ref.UID) != ref.Name {
			word += "@" + string(ref.UID)
		}
		if ref.Controller != nil && *ref.Controller {
			word += "!"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestClaimNameIdentifiesSets(t *testing.T) {
	t.Parallel()
	sets := func(of string) string {
		return strings.Join(claimsOf(of, func(set string) bool { return strings.HasPrefix(set, "web") }), " ")
	}
	for name, want := range map[string]string{
		"data-web-0": "web", "my-data-web-12": "web", "data-web-api-0": "web-api", "data-web-web-0": "web-web web",
		"data-web": "", "data-web-01": "", "web-0": "", "data-db-0": "",
	} {
		if got := sets(name); got != want {
			t.Errorf("claim %s: got sets %q, want %q", name, got, want)
		}
	}
}
