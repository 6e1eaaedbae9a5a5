package plugins

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/plugins/imagepolicy"
)

// Settings configure the built-in plugins of one server. The zero value is Kubernetes' default configuration.
type Settings struct {
	// Kinds are the kinds that the server serves. ProtectOwners finds the resources of owners in them.
	Kinds *kind.Registry

	events      LimitEvents
	images      *imagepolicy.Plugin
	quotas      ResourceQuota
	security    PodSecurity
	selectors   SelectNodes
	tolerations RestrictTolerations
}

// maxConfiguration is the maximum size of a configuration file in bytes.
const maxConfiguration = 1 << 20

// admissionConfiguration is the file that configures plugins, in Kubernetes' format.
type admissionConfiguration struct {
	metav1.TypeMeta `json:""`
	Plugins         []struct {
		Name string `json:"name"`
		// Path is that of a file, relative to this one. It is ignored if there is a Configuration.
		Path          string          `json:"path"`
		Configuration json.RawMessage `json:"configuration"`
	} `json:"plugins"`
}

// ReadSettings reads the file that configures plugins, an AdmissionConfiguration of apiserver.config.k8s.io/v1; an
// empty name means none. list turns plugins on and off: see Select. Like Kubernetes, it only uses the configurations of
// plugins that run. It returns an error if a plugin that runs needs a configuration and has none.
func ReadSettings(file string, list []string) (s Settings, err error) {
	given := map[string]bool{}
	if file != "" {
		if given, err = s.readFile(file, list); err != nil {
			return Settings{}, fmt.Errorf("configuring the admission plugins: %w", err)
		}
	}
	for _, name := range []string{s.events.Name(), s.images.Name()} {
		if runs(list, name) && !given[name] {
			return Settings{}, fmt.Errorf("the admission plugin %s needs a configuration: add it to an AdmissionConfiguration "+
				"and name the file", name)
		}
	}
	return s, nil
}

// readFile reads the configurations of plugins that run, and returns their names.
func (s *Settings) readFile(file string, list []string) (given map[string]bool, err error) {
	var c admissionConfiguration
	data, err := readConfiguration(file)
	if err == nil {
		err = decodeStrict(data, &c)
	}
	if err == nil {
		err = checkType(c.TypeMeta, "AdmissionConfiguration", "apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1")
	}
	if err != nil {
		return nil, inFile(file, err)
	}
	given = map[string]bool{}
	for i, p := range c.Plugins {
		path := field.NewPath("plugins").Index(i)
		switch {
		case !slices.Contains(Names(), p.Name):
			return nil, inFile(file, field.NotSupported(path.Child("name"), p.Name, Names()))
		case given[p.Name]:
			return nil, inFile(file, field.Duplicate(path.Child("name"), p.Name))
		case !runs(list, p.Name):
			continue
		}
		in, data := file, []byte(p.Configuration)
		if string(data) == "null" {
			data = nil
		}
		if len(data) == 0 && p.Path != "" {
			path = path.Child("path")
			if in = p.Path; !filepath.IsAbs(in) {
				in = filepath.Join(filepath.Dir(file), in)
			}
			if data, err = readConfiguration(in); err != nil {
				return nil, inFile(file, fmt.Errorf("%s: %w", path, err))
			}
			err = s.configure(p.Name, data)
		} else if len(data) > 0 {
			if err = s.configure(p.Name, data); err != nil {
				err = fmt.Errorf("%s: %w", path.Child("configuration"), err)
			}
		} else {
			continue
		}
		if err != nil {
			return nil, inFile(in, err)
		}
		given[p.Name] = true
	}
	return given, nil
}

func inFile(file string, err error) error { return fmt.Errorf("%s: %w", file, err) }

// configure decodes and checks the configuration of a plugin.
func (s *Settings) configure(name string, data []byte) error {
	switch name {
	case s.events.Name():
		var c eventLimits
		err := decodeTyped(data, &c, &c.TypeMeta, "Configuration", "eventratelimit.admission.k8s.io/v1alpha1")
		if err == nil {
			err = c.check().ToAggregate()
		}
		s.events = newLimitEvents(c)
		return err
	case s.images.Name():
		var c imagepolicy.Config
		err := decodeStrict(data, &c)
		if err == nil {
			s.images, err = imagepolicy.New(c)
		}
		return err
	case s.quotas.Name():
		var c quotaConfig
		err := decodeStrict(data, &c)
		if err == nil {
			s.quotas, err = newResourceQuota(c)
		}
		return err
	case s.security.Name():
		var c podSecurityConfig
		const group = "pod-security.admission.config.k8s.io/"
		err := decodeTyped(data, &c, &c.TypeMeta, "PodSecurityConfiguration", group+"v1", group+"v1beta1", group+"v1alpha1")
		if err == nil {
			s.security, err = newPodSecurity(c)
		}
		return err
	case s.selectors.Name():
		var c nodeSelectors
		err := decodeStrict(data, &c)
		s.selectors = SelectNodes{c.Selectors}
		return err
	case s.tolerations.Name():
		var c tolerationRules
		err := decodeTyped(data, &c, &c.TypeMeta, "Configuration", "podtolerationrestriction.admission.k8s.io/v1alpha1")
		if err == nil {
			err = c.check()
		}
		s.tolerations = RestrictTolerations{c}
		return err
	}
	return fmt.Errorf("the plugin %s cannot be configured", name)
}

// readConfiguration reads a file of limited size.
func readConfiguration(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err) // without the name, which the caller adds
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfiguration+1))
	if err == nil && len(data) > maxConfiguration {
		err = fmt.Errorf("the file has more than %d bytes", maxConfiguration)
	}
	return data, err
}

// decodeTyped decodes a configuration and checks its type.
func decodeTyped(data []byte, into any, meta *metav1.TypeMeta, kindName string, versions ...string) error {
	if err := decodeStrict(data, into); err != nil {
		return err
	}
	return checkType(*meta, kindName, versions...)
}

func checkType(meta metav1.TypeMeta, kindName string, versions ...string) error {
	if !slices.Contains(versions, meta.APIVersion) {
		return field.NotSupported(field.NewPath("apiVersion"), meta.APIVersion, versions)
	}
	if meta.Kind != kindName {
		return field.NotSupported(field.NewPath("kind"), meta.Kind, []string{kindName})
	}
	return nil
}

// decodeStrict decodes one document of YAML or JSON, without unknown or duplicate fields.
func decodeStrict(data []byte, into any) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 0; ; n++ {
		document, err := documents.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n == 0 {
			data = document
		} else if len(bytes.TrimSpace(document)) > 0 {
			return errors.New("the file has more than one document")
		}
	}
	object, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
	}
	wrong, err := kjson.UnmarshalStrict(object, into)
	if err == nil && len(wrong) > 0 {
		err = wrong[0]
	}
	return err
}
