package resource

import (
	"math"
	"math/big"

	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The steps of a range are counted in whole numbers or, if one of its quantities is a fraction, in thousandths. The
// functions of this file reject quantities that these integers cannot represent.

func (r *capacityRange) isFractional() bool {
	for _, q := range []*apiresource.Quantity{r.Min, r.Max, r.Step, &r.byDefault} {
		if q != nil && isFraction(q) {
			return true
		}
	}
	return false
}

func isFraction(q *apiresource.Quantity) bool {
	own := q.DeepCopy() // AsDec changes its receiver
	dec := own.AsDec()
	scale := int64(dec.Scale())
	if scale <= 0 {
		return false
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil)
	return new(big.Int).Rem(dec.UnscaledBig(), unit).Sign() != 0
}

// eachQuantity calls check for each quantity of a range, and returns the errors. check returns a message for an invalid
// quantity.
func (r *capacityRange) eachQuantity(check func(*apiresource.Quantity) string) (errs field.ErrorList) {
	for _, part := range []struct {
		name string
		q    *apiresource.Quantity
	}{{"default", &r.byDefault}, {"min", r.Min}, {"max", r.Max}, {"step", r.Step}} {
		if part.q == nil {
			continue
		}
		if message := check(part.q); message != "" {
			errs = append(errs, field.Invalid(r.path.Child(part.name), part.q.String(), message))
		}
	}
	return errs
}

// milliValue checks that a quantity has at most three decimal places and is not too large.
func milliValue(q *apiresource.Quantity) string {
	if milli := apiresource.NewMilliQuantity(q.MilliValue(), q.Format); q.Cmp(*milli) != 0 {
		return "value cannot be represented as a milli value"
	}
	return ""
}

// wholeValue checks that a quantity fits in an int64 and is not negative.
func wholeValue(q *apiresource.Quantity) string {
	switch {
	case q.Sign() < 0:
		return apivalidation.IsNegativeErrorMsg
	case q.CmpInt64(math.MaxInt64) > 0:
		return "must not be larger than 9223372036854775807"
	}
	return ""
}
