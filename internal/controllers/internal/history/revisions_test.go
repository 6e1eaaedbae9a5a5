package history

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
)

var web = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "web"}}

// template returns a template with an image.
func template(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

// workload returns a workload whose revision names contain the collision count.
func workload(image string) Workload {
	kind := appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	return Workload{
		Owner:    ownership.Owner{Object: web, Kind: kind, Selector: labels.SelectorFromSet(labels.Set{"app": "web"})},
		Template: template(image), Label: "hash",
		Hash: func(_ []byte, collisions *int32) string {
			if collisions == nil {
				return "zero"
			}
			return strings.Repeat("i", int(*collisions))
		},
	}
}

// revision returns a revision of a template with an image, controlled by the owner with a UID.
func revision(t *testing.T, name, image string, number int64, owner types.UID) *appsv1.ControllerRevision {
	t.Helper()
	data, err := EncodeTemplate(template(image))
	if err != nil {
		t.Fatal(err)
	}
	r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
		Labels: map[string]string{"app": "web"}}, Revision: number}
	r.Data.Raw = data
	if owner != "" {
		r.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
	}
	return r
}

// findIn returns a function that finds a revision by its name, or returns nil.
func findIn(revisions []*appsv1.ControllerRevision) func(name string) *appsv1.ControllerRevision {
	return func(name string) *appsv1.ControllerRevision {
		for _, r := range revisions {
			if r.Name == name {
				return r
			}
		}
		return nil
	}
}

func TestResolveFindsHistory(t *testing.T) {
	t.Parallel()
	one, two := revision(t, "one", "a:1", 1, "web"), revision(t, "two", "a:2", 2, "web")
	spaced := revision(t, "spaced", "a:1", 1, "web")
	spaced.Data.Raw = []byte(strings.ReplaceAll(strings.ReplaceAll(string(spaced.Data.Raw), ":", ": "), `a: 1`, `a:1`))
	for _, c := range []struct {
		name  string
		image string
		seen  []*appsv1.ControllerRevision
		later []*appsv1.ControllerRevision // revisions created since
		now   string
		want  string // the actions
	}{
		{"first revision", "a:1", nil, nil, "web-zero 1", "create controllerrevision/web-zero"},
		{"unchanged template", "a:2", []*appsv1.ControllerRevision{one, two}, nil, "two 2", ""},
		{"new template", "a:3", []*appsv1.ControllerRevision{two, one}, nil, "web-zero 3",
			"create controllerrevision/web-zero"},
		{"restored template", "a:1", []*appsv1.ControllerRevision{one, two}, nil, "one 3",
			"update controllerrevision/one"},
		{"other encoding", "a:1", []*appsv1.ControllerRevision{spaced}, nil, "spaced 1", ""},
		{"revision without a controller", "a:1", []*appsv1.ControllerRevision{revision(t, "orphan", "a:1", 1, "")}, nil,
			"orphan 1",
			"adopt controllerrevisions orphan"},
		{"another owner's revision", "a:1", []*appsv1.ControllerRevision{revision(t, "theirs", "a:1", 1, "them")}, nil,
			"web-zero 1", "create controllerrevision/web-zero"},
		{"created since the observation", "a:1", nil,
			[]*appsv1.ControllerRevision{revision(t, "web-zero", "a:1", 1, "web")},
			"web-zero 1", ""},
		{"created since the observation, after others", "a:3", []*appsv1.ControllerRevision{one, two},
			[]*appsv1.ControllerRevision{revision(t, "web-zero", "a:3", 4, "web")}, "web-zero 4", ""},
		{"name of another template", "a:3",
			[]*appsv1.ControllerRevision{revision(t, "web-zero", "a:1", 1, "web")},
			nil, "web-i 2", "create controllerrevision/web-i"},
		{"names of other owners and templates", "a:3", nil,
			[]*appsv1.ControllerRevision{revision(t, "web-zero", "a:3", 1, "them"),
				revision(t, "web-i", "a:1", 1, "web")},
			"web-ii 1", "create controllerrevision/web-ii"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line, err := Resolve(workload(c.image), c.seen, findIn(append(slices.Clone(c.seen), c.later...)))
			if err != nil {
				t.Fatal(err)
			}
			var did []string
			for _, a := range line.Actions {
				did = append(did, a.String())
			}
			if got := line.Current.Name + " " + string(rune('0'+line.Current.Revision)); got != c.now ||
				strings.Join(did, ", ") != c.want {
				t.Errorf("got current revision %s, actions %q; want %s, %q", got, did, c.now, c.want)
			}
			if got, err := DecodeTemplate(line.Current); err != nil || got.Spec.Containers[0].Image != c.image {
				t.Errorf("current revision: got template %v (%v), want image %s", got, err, c.image)
			}
		})
	}
}

func TestPruneDeletesOldestUnneededRevisions(t *testing.T) {
	t.Parallel()
	old := []*appsv1.ControllerRevision{revision(t, "one", "a:1", 1, "web"), revision(t, "two", "a:2", 2, "web"),
		revision(t, "three", "a:3", 3, "web")}
	needed := func(r *appsv1.ControllerRevision) bool { return r.Name == "one" }
	for excess, want := range map[int]string{-1: "", 0: "", 1: "two", 2: "two three", 3: "two three"} {
		var names []string
		for _, a := range Prune(old, needed, excess) {
			names = append(names, strings.TrimPrefix(a.String(), "delete controllerrevision/"))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("excess %d: got %q deleted, want %q", excess, got, want)
		}
	}
	old[1].DeletionTimestamp = &metav1.Time{Time: time.Now()} // a finalizer delays the deletion by another client
	if got := Prune(old, needed, 1); len(got) > 0 {
		t.Errorf("excess 1, one revision already being deleted: got deletions %v, want none", got)
	}
}

func TestRevisionWithoutTemplateMatchesNone(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{}`, `{"spec":{}}`, `[]`, ``} {
		r := revision(t, "odd", "a:1", 1, "web")
		r.Data.Raw = []byte(data)
		if _, err := DecodeTemplate(r); err == nil || hasTemplate(r, template("a:1"), []byte("other")) {
			t.Errorf("data %s: got a template, want none", data)
		}
	}
}

// A client has written the largest number, after which no other follows.
func TestLargestNumberDoesNotOverflow(t *testing.T) {
	t.Parallel()
	last := revision(t, "last", "a:1", math.MaxInt64, "web")
	all := []*appsv1.ControllerRevision{last}
	found, err := Resolve(workload("a:2"), all, findIn(all))
	if err != nil || found.Current.Revision != math.MaxInt64 {
		t.Errorf("got number %d (%v), want %d", found.Current.Revision, err, math.MaxInt64)
	}
	next := revision(t, "next", "a:2", math.MaxInt64, "web")
	all = append(all, next)
	found, err = Resolve(workload("a:2"), all, findIn(all))
	if err != nil || len(found.Actions) != 0 || found.Current != next {
		t.Errorf("both with the largest number: got %d actions and %s (%v), want none and %s", len(found.Actions),
			found.Current.Name, err, next.Name)
	}
}
