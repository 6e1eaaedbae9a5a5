package neutrontest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"time"
)

// kind describes a kind of object.
type kind struct {
	name, collection, title string
	// defaults contains the optional fields of a new object.
	defaults object
	// given are the fields that a create may set, and settable those that an update may set.
	given, settable []string
	// make completes or refuses a new object, change does so for an update, and remove removes an object.
	make   func(f *Fake, c *call, o object) error
	change func(f *Fake, o, update object) error
	remove func(f *Fake, o object) error
}

var kinds = []*kind{networkKind, subnetKind, portKind}

func (k *kind) notFound(id string) error {
	return refuse(http.StatusNotFound, k.title+"NotFound", "%s %s could not be found.", k.title, id)
}

// bodies returns the objects in a request: one, or several if it has the collection's name.
func (k *kind) bodies(c *call) (objects []object, several bool, err error) {
	var all map[string]json.RawMessage
	if json.NewDecoder(c.Body).Decode(&all) != nil {
		return nil, false, badRequest("Body contains invalid data")
	}
	list, several := all[k.collection]
	switch {
	case several && json.Unmarshal(list, &objects) != nil:
		return nil, false, badRequest("Object '%s' contains invalid data", k.name)
	case several && len(objects) == 0:
		return nil, false, badRequest("Resources required")
	case several:
	case all[k.name] == nil:
		return nil, false, badRequest("Unable to find '%s' in request body", k.name)
	default:
		objects = []object{{}}
		if json.Unmarshal(all[k.name], &objects[0]) != nil {
			return nil, false, badRequest("Body contains invalid data")
		}
	}
	for _, o := range objects {
		for name, value := range o {
			if number, ok := value.(float64); ok {
				o[name] = int(number)
			}
		}
	}
	return objects, several, nil
}

// check refuses unknown fields, fields that may not be set, and invalid values.
func (k *kind) check(o object, permitted []string, forbidden string) error {
	for name, value := range o {
		_, has := k.defaults[name]
		switch {
		case !has && !slices.Contains(k.given, name) && name != "id":
			return badRequest("Unrecognized attribute(s) '%s'", name)
		case !slices.Contains(permitted, name):
			return badRequest(forbidden, name)
		}
		if err := checkValue(name, value); err != nil {
			return err
		}
	}
	return nil
}

var uuidOnly = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func checkValue(name string, value any) error {
	text, isText := value.(string)
	switch name {
	case "name", "description", "device_id", "device_owner":
		if !isText {
			return badRequest("Invalid input for %s. Reason: '%v' is not a valid string.", name, value)
		}
		if len(text) > 255 {
			return badRequest("Invalid input for %s. Reason: '%s' exceeds maximum length of 255.", name, text)
		}
	case "network_id":
		if !uuidOnly.MatchString(text) {
			return badRequest("Invalid input for %s. Reason: '%v' is not a valid UUID.", name, value)
		}
	case "gateway_ip":
		if _, ok := address(value); !ok && value != nil {
			return badRequest("Invalid input for %s. Reason: '%v' is not a valid IP address.", name, value)
		}
	}
	return nil
}

// create creates all objects of a request, or none of them.
func (f *Fake) create(c *call, k *kind) (any, error) {
	given, several, err := k.bodies(c)
	if err != nil {
		return nil, err
	}
	for _, o := range given {
		if err := k.check(o, k.given, "Attribute '%s' not allowed in POST"); err != nil {
			return nil, err
		}
	}
	before := f.copyOfObjects()
	var made []object
	for _, fields := range given {
		o, err := f.createOne(c, k, fields)
		if err != nil {
			f.objects = before
			return nil, err
		}
		made = append(made, o)
	}
	for i, o := range made {
		made[i] = f.complete(k, o)
	}
	if several {
		return map[string]any{k.collection: made}, nil
	}
	return map[string]any{k.name: made[0]}, nil
}

func (f *Fake) createOne(c *call, k *kind, given object) (object, error) {
	o := maps.Clone(k.defaults)
	maps.Copy(o, given)
	o["id"], o["project_id"], o["tenant_id"] = newUUID(), c.project, c.project
	o["created_at"], o["updated_at"] = now(), now()
	if err := k.make(f, c, o); err != nil {
		return nil, err
	}
	f.objects[k.collection][o.text("id")] = o
	return o, nil
}

// copyOfObjects returns a copy of all objects. Field values are shared, because they are only ever replaced.
func (f *Fake) copyOfObjects() map[string]map[string]object {
	all := map[string]map[string]object{}
	for _, k := range kinds {
		all[k.collection] = map[string]object{}
		for id, o := range f.objects[k.collection] {
			all[k.collection][id] = maps.Clone(o)
		}
	}
	return all
}

func (f *Fake) update(c *call, k *kind, o object) error {
	bodies, several, err := k.bodies(c)
	if err == nil && several {
		err = badRequest("Unable to find '%s' in request body", k.name)
	}
	if err != nil {
		return err
	}
	given := bodies[0]
	if err := k.check(given, k.settable, "Cannot update read-only attribute %s"); err != nil || len(given) == 0 {
		return err
	}
	if err := k.change(f, o, given); err != nil {
		return err
	}
	maps.Copy(o, given)
	touch(o)
	return nil
}

// touch increments an object's revision.
func touch(o object) {
	o["revision_number"] = o["revision_number"].(int) + 1
	o["updated_at"] = now()
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
