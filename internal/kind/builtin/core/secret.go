package core

import (
	"crypto/tls"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin/fieldcheck"
	"github.com/bowline-dev/bowline/internal/object"
)

func secretKind(cache *object.Cache) kind.Kind {
	doc := corev1.Secret{}.SwaggerDoc()
	return kind.NewTyped(cache, kind.Info{
		Kind: "Secret", Plural: "secrets", Singular: "secret",
		Namespaced: true,
		Endpoints:  []kind.Endpoint{{Version: "v1", Selectable: map[string]string{"type": ""}}},
	}, kind.Rules[*corev1.Secret]{
		Default:  defaultSecret,
		Validate: validateSecret,
		Warnings: secretWarnings,
		Fields:   func(s *corev1.Secret) map[string]string { return map[string]string{"type": string(s.Type)} },
		Columns: []metav1.TableColumnDefinition{
			kind.NameColumn,
			{Name: "Type", Type: "string", Description: doc["type"]},
			{Name: "Data", Type: "string", Description: doc["data"]},
			kind.AgeColumn,
		},
		Row: func(s *corev1.Secret, now time.Time) []any {
			return []any{s.Name, string(s.Type), int64(len(s.Data)), kind.Age(s.CreationTimestamp.Time, now)}
		},
	})
}

// defaultSecret sets the type, and moves stringData, which is write-only, into data.
func defaultSecret(s *corev1.Secret) {
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, value := range s.StringData {
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}

func validateSecret(s, old *corev1.Secret, _ string) (errs field.ErrorList) {
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(s.Type, old.Type, field.NewPath("type"))...)
		if old.Immutable != nil && *old.Immutable {
			errs = append(errs, keepImmutable(s.Immutable)...)
			errs = append(errs, keepValue(field.NewPath("data"), s.Data, old.Data)...)
		}
	}
	errs = append(errs, fieldcheck.Finalizers(s)...)
	data := field.NewPath("data")
	size := 0
	for _, key := range fieldcheck.SortedKeys(s.Data) {
		errs = append(errs, validateConfigKey(data, key)...)
		size += len(s.Data[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	return append(errs, validateSecretType(s, data)...)
}

// validateSecretType requires the keys that readers of a type rely on. Unknown types may have any keys.
func validateSecretType(s *corev1.Secret, data *field.Path) (errs field.ErrorList) {
	has := func(key string) bool { _, ok := s.Data[key]; return ok }
	need := func(key string) { errs = append(errs, field.Required(data.Key(key), "")) }
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			path := field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey)
			errs = append(errs, field.Required(path, ""))
		}
	case corev1.SecretTypeDockercfg:
		errs = append(errs, validateDockerConfig(s, data, corev1.DockerConfigKey)...)
	case corev1.SecretTypeDockerConfigJson:
		errs = append(errs, validateDockerConfig(s, data, corev1.DockerConfigJsonKey)...)
	case corev1.SecretTypeBasicAuth:
		if !has(corev1.BasicAuthUsernameKey) && !has(corev1.BasicAuthPasswordKey) {
			need(corev1.BasicAuthUsernameKey)
			need(corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			need(corev1.SSHAuthPrivateKey)
		}
	case corev1.SecretTypeTLS:
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if !has(key) {
				need(key)
			}
		}
	}
	return errs
}

// validateDockerConfig requires a JSON object under a key. The error does not contain the secret's data.
func validateDockerConfig(s *corev1.Secret, data *field.Path, key string) field.ErrorList {
	config, ok := s.Data[key]
	if !ok {
		return field.ErrorList{field.Required(data.Key(key), "")}
	}
	if err := json.Unmarshal(config, &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(data.Key(key), "<secret contents redacted>", err.Error())}
	}
	return nil
}

// secretWarnings warns about an invalid certificate, or one that does not match its key.
func secretWarnings(s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}
