package neutrontest

import (
	"encoding/json"
	"net/http"
	"slices"
)

// tags answers a request about the tags of an object.
func (f *Fake) tags(c *call, o object) (status int, answer any, err error) {
	tags := o["tags"].([]string)
	if c.path[2] != "tags" || len(c.path) > 4 {
		return 0, nil, errNoResource
	}
	if len(c.path) == 3 {
		return f.allTags(c, o)
	}
	tag, at := c.path[3], slices.Index(tags, c.path[3])
	switch {
	case c.Method == http.MethodPut:
		if at < 0 {
			o["tags"] = slices.Sorted(slices.Values(append(slices.Clone(tags), tag)))
			touch(o)
		}
		return http.StatusCreated, nil, nil
	case at < 0:
		return 0, nil, refuse(http.StatusNotFound, "TagNotFound", "Tag %s could not be found.", tag)
	case c.Method == http.MethodDelete:
		o["tags"] = slices.Delete(slices.Clone(tags), at, at+1)
		touch(o)
	}
	return http.StatusNoContent, nil, nil
}

// allTags answers a request about all tags of an object at once.
func (f *Fake) allTags(c *call, o object) (status int, answer any, err error) {
	switch c.Method {
	case http.MethodGet:
	case http.MethodPut, http.MethodDelete:
		var body struct{ Tags []string }
		if err := json.NewDecoder(c.Body).Decode(&body); err != nil && c.Method == http.MethodPut {
			return 0, nil, badRequest("Body contains invalid data")
		}
		slices.Sort(body.Tags)
		o["tags"] = append([]string{}, body.Tags...)
		touch(o)
		if c.Method == http.MethodDelete {
			return http.StatusNoContent, nil, nil
		}
	default:
		return 0, nil, errNoMethod
	}
	return http.StatusOK, map[string]any{"tags": o["tags"]}, nil
}
