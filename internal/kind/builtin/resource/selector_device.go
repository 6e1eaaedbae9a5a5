package resource

import (
	"github.com/google/cel-go/checker"
	resourcev1 "k8s.io/api/resource/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// deviceVariable is the variable of selectors.
const deviceVariable = "device"

// attributeType is the type of a device's attribute: a scalar of any type.
var attributeType = withSize(apiservercel.AnyType, resourcev1.DeviceAttributeMaxValueLength)

// withSize returns a type whose values have at most size bytes.
func withSize(t *apiservercel.DeclType, size int64) *apiservercel.DeclType {
	sized := *t
	sized.MaxElements = size
	return &sized
}

// deviceType returns the type of the variable. Maps of attributes and capacities have two levels: the domain and the
// identifier of a qualified name.
func deviceType() *apiservercel.DeclType {
	const most = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	domain := withSize(apiservercel.StringType, resourcev1.DeviceMaxDomainLength)
	id := withSize(apiservercel.StringType, resourcev1.DeviceMaxIDLength)
	byDomain := func(value *apiservercel.DeclType) *apiservercel.DeclType {
		return apiservercel.NewMapType(domain, apiservercel.NewMapType(id, value, most), most)
	}
	fields := map[string]*apiservercel.DeclField{}
	for name, t := range map[string]*apiservercel.DeclType{
		"driver":                   withSize(apiservercel.StringType, resourcev1.DriverNameMaxLength),
		"allowMultipleAllocations": withSize(apiservercel.BoolType, 1),
		"attributes":               byDomain(attributeType),
		"capacity":                 byDomain(apiservercel.QuantityDeclType),
	} {
		fields[name] = apiservercel.NewDeclField(name, t, true, nil, nil)
	}
	return apiservercel.NewObjectType("kubernetes.DRADevice", fields)
}

// deviceSizes estimates the sizes of the texts and maps of a device, from the limits of its fields.
type deviceSizes struct{ device *apiservercel.DeclType }

// EstimateSize implements checker.CostEstimator.
func (d deviceSizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 || path[0] != deviceVariable {
		return nil
	}
	t := d.device
	for _, name := range path[1:] {
		if t = fieldType(t, name); t == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(t.MaxElements)}
}

// fieldType returns the type of a field, key or value of a type, or nil if it is not known.
func fieldType(t *apiservercel.DeclType, name string) *apiservercel.DeclType {
	switch name {
	case "@items", "@values":
		return t.ElemType
	case "@keys":
		return t.KeyType
	}
	if f, ok := t.Fields[name]; ok {
		return f.Type
	}
	if t.ElemType == attributeType {
		return attributeType // an attribute, by its name
	}
	return nil
}

// EstimateCallCost implements checker.CostEstimator.
func (d deviceSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
