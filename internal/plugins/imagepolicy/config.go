package imagepolicy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config configures the plugin, in Kubernetes' format. Of a duration, 0 means the default, and -1 none.
type Config struct {
	ImagePolicy struct {
		// KubeConfigFile is the path of a kubeconfig with the URL of the backend, which is that of the server, and the
		// credentials for it.
		KubeConfigFile string `json:"kubeConfigFile"`
		// AllowTTL and DenyTTL are the times in seconds for which answers are cached.
		AllowTTL int64 `json:"allowTTL"`
		DenyTTL  int64 `json:"denyTTL"`
		// RetryBackoff is the time in milliseconds before the first retry.
		RetryBackoff int64 `json:"retryBackoff"`
		// DefaultAllow allows pods while the backend does not answer.
		DefaultAllow bool `json:"defaultAllow"`
	} `json:"imagePolicy"`
}

// durations are the times of a Config.
type durations struct{ allow, deny, backoff time.Duration }

// durations returns the times, or an error for one that is out of range.
func (c *Config) durations() (d durations, err error) {
	p, path := &c.ImagePolicy, field.NewPath("imagePolicy")
	const most = 30 * time.Minute
	for _, t := range []struct {
		name                    string
		value                   int64
		unit, least, most, when time.Duration
		into                    *time.Duration
	}{
		{"retryBackoff", p.RetryBackoff, time.Millisecond, 1, 5 * time.Minute, 500 * time.Millisecond, &d.backoff},
		{"allowTTL", p.AllowTTL, time.Second, time.Second, most, 5 * time.Minute, &d.allow},
		{"denyTTL", p.DenyTTL, time.Second, time.Second, most, 30 * time.Second, &d.deny},
	} {
		switch {
		case t.value == 0:
			*t.into = t.when
		case t.value == -1:
		case t.value < 0 || t.value > int64(t.most/t.unit) || time.Duration(t.value)*t.unit < t.least:
			return d, field.Invalid(path.Child(t.name), t.value,
				fmt.Sprintf("valid value is between %v and %v, in units of %v", t.least, t.most, t.unit))
		default:
			*t.into = time.Duration(t.value) * t.unit
		}
	}
	return d, nil
}
