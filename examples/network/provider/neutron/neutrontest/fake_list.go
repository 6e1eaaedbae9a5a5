package neutrontest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// notFilters are the query parameters of a list that do not filter by a field.
var notFilters = []string{"fields", "limit", "marker", "sort_key", "sort_dir", "page_reverse"}

// list answers a list request with the selected objects, or one page of them if the query has a limit.
func (f *Fake) list(c *call, k *kind) (any, error) {
	query := c.URL.Query()
	for name := range query {
		if _, ok := k.defaults[name]; !ok && name != "id" && !slices.Contains(k.given, name) &&
			!slices.Contains(notFilters, name) {
			return nil, badRequest("['%s'] is invalid attribute for filtering", name)
		}
	}
	if len(query["sort_key"]) != len(query["sort_dir"]) {
		return nil, badRequest("The number of sort_keys and sort_dirs must be same")
	}
	found := []object{}
	for _, o := range f.objects[k.collection] {
		if c.sees(o) && matches(f.complete(k, o), query) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, order(query))
	found, links, err := f.page(c, k, query, found)
	if err != nil {
		return nil, err
	}
	all := []object{}
	for _, o := range found {
		all = append(all, f.fields(c, k, o))
	}
	answer := map[string]any{k.collection: all}
	if links != nil {
		answer[k.collection+"_links"] = links
	}
	return answer, nil
}

// matches reports whether an object has one of the values of each filter.
func matches(o object, query url.Values) bool {
	for name, values := range query {
		if !slices.Contains(notFilters, name) && !slices.Contains(values, fmt.Sprint(o[name])) {
			return false
		}
	}
	return true
}

// order returns a comparison by the sort keys of a query, and then by ID.
func order(query url.Values) func(a, b object) int {
	return func(a, b object) int {
		for i, key := range query["sort_key"] {
			by := cmp.Compare(fmt.Sprint(a[key]), fmt.Sprint(b[key]))
			if query["sort_dir"][i] == "desc" {
				by = -by
			}
			if by != 0 {
				return by
			}
		}
		return cmp.Compare(a.text("id"), b.text("id"))
	}
}

// page returns the page that a query's marker and limit select, with links to its neighbors.
func (f *Fake) page(c *call, k *kind, query url.Values,
	all []object) (page []object, links []map[string]string, err error) {
	if marker := query.Get("marker"); marker != "" {
		i := slices.IndexFunc(all, func(o object) bool { return o["id"] == marker })
		if i < 0 {
			return nil, nil, k.notFound(marker)
		}
		all = all[i+1:]
	}
	if query.Get("limit") == "" {
		return all, nil, nil
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		return nil, nil, refuse(http.StatusBadRequest, "BadRequest",
			"Bad limit request: Limit must be an integer 0 or greater and not '%s'.", query.Get("limit"))
	}
	if len(all) == 0 {
		return all, nil, nil
	}
	page = all[:min(limit, len(all))]
	if len(page) == limit {
		links = append(links, link(c, "next", page[limit-1].text("id"), ""))
	}
	return page, append(links, link(c, "previous", page[0].text("id"), "&page_reverse=True")), nil
}

// link returns a link to another page.
func link(c *call, rel, marker, more string) map[string]string {
	var parameters []string
	for parameter := range strings.SplitSeq(c.URL.RawQuery, "&") {
		if !strings.HasPrefix(parameter, "marker=") {
			parameters = append(parameters, parameter)
		}
	}
	base := "http://" + c.Host + c.URL.Path + "?"
	return map[string]string{"rel": rel, "href": base + strings.Join(append(parameters, "marker="+marker), "&") + more}
}

// fields returns an object with only the fields that a query selects.
func (f *Fake) fields(c *call, k *kind, o object) object {
	o = f.complete(k, o)
	selected := c.URL.Query()["fields"]
	if len(selected) == 0 {
		return o
	}
	some := object{}
	for _, name := range selected {
		if value, ok := o[name]; ok {
			some[name] = value
		}
	}
	return some
}

// complete returns an object with the fields that are derived from other objects.
func (f *Fake) complete(k *kind, o object) object {
	if k != networkKind {
		return o
	}
	whole := object{"subnets": f.subnetsOf(o.text("id"))}
	for name, value := range o {
		if name != "subnets" {
			whole[name] = value
		}
	}
	return whole
}
