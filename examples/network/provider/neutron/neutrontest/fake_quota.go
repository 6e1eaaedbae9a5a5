package neutrontest

import (
	"encoding/json"
	"maps"
	"net/http"
)

// defaultQuotas are a project's limits for each resource; -1 is unlimited.
var defaultQuotas = map[string]int{
	"network": -1, "subnet": -1, "port": -1, "subnetpool": -1, "rbac_policy": 10, "security_group": 10,
	"security_group_rule": 100,
}

// quotasOf returns the limits of a project.
func (f *Fake) quotasOf(project string) map[string]int {
	all := maps.Clone(defaultQuotas)
	maps.Copy(all, f.quotas[project])
	return all
}

// room returns an error if a project has reached its limit for a kind of object.
func (f *Fake) room(project string, k *kind) error {
	most, has := f.quotasOf(project)[k.name], 0
	for _, o := range f.objects[k.collection] {
		if o["project_id"] == project {
			has++
		}
	}
	if most >= 0 && has >= most {
		return refuse(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['%s'].", k.name)
	}
	return nil
}

// quota answers a request for the quotas of a project, which only an administrator may change.
func (f *Fake) quota(c *call) (status int, answer any, err error) {
	project := c.path[1]
	switch {
	case c.Method == http.MethodGet:
		return http.StatusOK, map[string]any{"quota": f.quotasOf(project)}, nil
	case !c.admin:
		return 0, nil, refuse(http.StatusForbidden, "PolicyNotAuthorized", "rule:update_quota is disallowed by policy")
	case c.Method == http.MethodDelete:
		delete(f.quotas, project)
		return http.StatusNoContent, nil, nil
	case c.Method != http.MethodPut:
		return 0, nil, errNoMethod
	}
	var body struct{ Quota map[string]any }
	if err := json.NewDecoder(c.Body).Decode(&body); err != nil {
		return 0, nil, badRequest("Body contains invalid data")
	}
	set := map[string]int{}
	for name, value := range body.Quota {
		if _, ok := defaultQuotas[name]; !ok {
			return 0, nil, badRequest("Unrecognized attribute(s) '%s'", name)
		}
		number, ok := value.(float64)
		if !ok {
			return 0, nil, invalidInput("'%v' is not an integer.", value)
		}
		set[name] = int(number)
	}
	if f.quotas[project] == nil {
		f.quotas[project] = map[string]int{}
	}
	maps.Copy(f.quotas[project], set)
	return http.StatusOK, map[string]any{"quota": f.quotasOf(project)}, nil
}
