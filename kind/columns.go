package kind

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// NameColumn and AgeColumn are the columns that nearly every table has, with the descriptions of metadata's fields.
var (
	NameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metadataDocs["name"]}
	AgeColumn  = metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: metadataDocs["creationTimestamp"]}
)

// PlainColumns are what a Table shows of a kind that has no columns of its own.
var PlainColumns = []metav1.TableColumnDefinition{
	NameColumn,
	{Name: "Created At", Type: "date", Description: metadataDocs["creationTimestamp"]},
}

var metadataDocs = metav1.ObjectMeta{}.SwaggerDoc()

// Age is the cell that says how long ago a moment was, as kubectl shows it: 5s, 3m10s, 2d4h.
func Age(since, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since))
}
