package review

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzSelectors checks that each selector that cannot be read, as text or as a list, is reported once.
func FuzzSelectors(f *testing.F) {
	f.Add("a=b", "a in (b)", "In", "b")
	f.Add("a", "!", "Exists", "")
	f.Add("=", "a notin", "Near", "\x00")
	f.Fuzz(func(t *testing.T, fieldText, labelText, operator, value string) {
		for _, a := range []authorizationv1.ResourceAttributes{
			{FieldSelector: &authorizationv1.FieldSelectorAttributes{RawSelector: fieldText},
				LabelSelector: &authorizationv1.LabelSelectorAttributes{RawSelector: labelText}},
			{FieldSelector: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
				{Key: fieldText, Operator: metav1.FieldSelectorOperator(operator), Values: []string{value}}}},
				LabelSelector: &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
					{Key: labelText, Operator: metav1.LabelSelectorOperator(operator), Values: []string{value}}}}},
		} {
			unread := checkSelectors(&a)
			if len(unread) > 2 || len(unread) == 2 && unread[0] == unread[1] {
				t.Errorf("%+v: %q", a, unread)
			}
		}
	})
}
