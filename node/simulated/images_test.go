package simulated

import "testing"

func TestPatternsDecideWhichImagesExist(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list            []string
		exist, notExist []string
	}{
		{nil, []string{"nginx", "nginx:1.27.1", "registry.k8s.io/pause:3.10", "localhost:404/web", "a/invalid/b", "web:1404",
			"invalid"},
			[]string{"webserver:404", "gcr.io/google_samples/gb-redisslave:nonexistent", "foo:non-existent",
				"invalid.registry.k8s.io/invalid/alpine:3.1", "registry.invalid/web", "registry.invalid:5000/web:1"}},
		{[]string{"-web*"}, []string{"nginx"}, []string{"web:1", "nginx:404"}},
		{[]string{"nginx:*", "registry.example/*", "-*:old", "nginx:old"},
			[]string{"nginx:404", "registry.example/team/web:1", "nginx:old"},
			[]string{"nginx", "redis:7", "registry.example/web:old", "quay.io/nginx:1"}},
		{[]string{"busybox"}, []string{"busybox"}, []string{"busybox:1", ""}},
		{[]string{"a*b*a"}, []string{"aba", "axxbxxa", "abba"}, []string{"a", "ab", "ba", "aa"}},
		{[]string{"ab*ba"}, []string{"abba"}, []string{"aba"}},
	} {
		all := newImages(c.list)
		for _, image := range c.exist {
			if !all.exist(image) {
				t.Errorf("images %q: %q does not exist", c.list, image)
			}
		}
		for _, image := range c.notExist {
			if all.exist(image) {
				t.Errorf("images %q: %q exists", c.list, image)
			}
		}
	}
}
