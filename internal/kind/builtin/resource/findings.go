package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// enough is the number of errors after which the check of a list or map stops. A response lists fewer.
const enough = 1000

// findings are the errors of an object or a part of it. Kubernetes checks the group's objects twice, with hand-written
// functions and with functions generated from declarations in the API types. It lists the errors of the hand-written
// functions first; an error that both find is listed once, as a declared one.
type findings struct{ written, declared field.ErrorList }

func (f *findings) write(errs ...*field.Error)   { f.written = append(f.written, errs...) }
func (f *findings) declare(errs ...*field.Error) { f.declared = append(f.declared, errs...) }

// add adds the findings of a part.
func (f *findings) add(part findings) {
	f.write(part.written...)
	f.declare(part.declared...)
}

// all returns the errors in Kubernetes' order.
func (f findings) all() field.ErrorList { return append(f.written, f.declared...) }

func (f *findings) full() bool { return len(f.written)+len(f.declared) >= enough }

// eachItem checks the items of a list.
func eachItem[T any](list []T, path *field.Path, check func(*T, *field.Path) findings) (f findings) {
	for i := range list {
		if f.full() {
			break
		}
		f.add(check(&list[i], path.Index(i)))
	}
	return f
}

// limitedList checks the items of a list unless it has more than most.
func limitedList[T any](list []T, most int, path *field.Path, check func(*T, *field.Path) findings) (f findings) {
	if len(list) > most {
		f.declare(field.TooMany(path, len(list), most))
		return f
	}
	return eachItem(list, path, check)
}

// uniqueList is limitedList for a list whose items must have different keys.
func uniqueList[T any, K comparable](list []T, most int, key func(*T) K, path *field.Path,
	check func(*T, *field.Path) findings) (f findings) {
	if len(list) > most {
		f.declare(field.TooMany(path, len(list), most))
		return f
	}
	for _, i := range duplicates(list, key) {
		f.declare(field.Duplicate(path.Index(i), list[i]))
	}
	f.add(eachItem(list, path, check))
	return f
}

// duplicates returns the indexes of the items that have the key of an earlier one.
func duplicates[T any, K comparable](list []T, key func(*T) K) (indexes []int) {
	seen := make(map[K]bool, len(list))
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			indexes = append(indexes, i)
		}
		if seen[k] = true; len(indexes) >= enough {
			break
		}
	}
	return indexes
}

// itself is the key function for items that must be unique as a whole.
func itself[T any](item *T) T { return *item }

// format checks a value with Kubernetes' function for a declared format.
func format[T ~string](check validate.ValidateFunc[*T], path *field.Path, value T) field.ErrorList {
	return check(context.Background(), operation.Operation{}, path, &value, nil)
}
