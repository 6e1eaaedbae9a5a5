package kind

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// NameColumn and AgeColumn are columns that nearly every table has, with the descriptions of metadata's
// fields.
var (
	NameColumn = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name",
		Description: metadataDocs["name"]}
	AgeColumn = metav1.TableColumnDefinition{Name: "Age", Type: "string",
		Description: metadataDocs["creationTimestamp"]}
)

// PlainColumns are the columns of a kind that defines none.
var PlainColumns = []metav1.TableColumnDefinition{
	NameColumn,
	{Name: "Created At", Type: "date", Description: metadataDocs["creationTimestamp"]},
}

var metadataDocs = metav1.ObjectMeta{}.SwaggerDoc()

// Abbreviate formats a list for a table cell: its first three elements and the number of the others.
func Abbreviate(all []string) string {
	const most = 3
	if len(all) > most {
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:most], ","), len(all)-most)
	}
	return strings.Join(all, ",")
}

// Age formats the time since a moment for a table cell, as kubectl does: 5s, 3m10s, 2d4h.
func Age(since, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since))
}
