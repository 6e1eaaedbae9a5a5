package clientgo

import (
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
)

// Each group gets its informers from the factory that it is created with: this one, which knows the namespace and the
// selectors.

func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, "", nil)
}

func (f *factory) Internal() apiserverinternal.Interface { return apiserverinternal.New(f, "", nil) }

func (f *factory) Apps() apps.Interface { return apps.New(f, "", nil) }

func (f *factory) Autoscaling() autoscaling.Interface { return autoscaling.New(f, "", nil) }

func (f *factory) Batch() batch.Interface { return batch.New(f, "", nil) }

func (f *factory) Certificates() certificates.Interface { return certificates.New(f, "", nil) }

func (f *factory) Coordination() coordination.Interface { return coordination.New(f, "", nil) }

func (f *factory) Core() core.Interface { return core.New(f, "", nil) }

func (f *factory) Discovery() discovery.Interface { return discovery.New(f, "", nil) }

func (f *factory) Events() events.Interface { return events.New(f, "", nil) }

func (f *factory) Extensions() extensions.Interface { return extensions.New(f, "", nil) }

func (f *factory) Flowcontrol() flowcontrol.Interface { return flowcontrol.New(f, "", nil) }

func (f *factory) Lifecycle() lifecycle.Interface { return lifecycle.New(f, "", nil) }

func (f *factory) Networking() networking.Interface { return networking.New(f, "", nil) }

func (f *factory) Node() node.Interface { return node.New(f, "", nil) }

func (f *factory) Policy() policy.Interface { return policy.New(f, "", nil) }

func (f *factory) Rbac() rbac.Interface { return rbac.New(f, "", nil) }

func (f *factory) Resource() resource.Interface { return resource.New(f, "", nil) }

func (f *factory) Scheduling() scheduling.Interface { return scheduling.New(f, "", nil) }

func (f *factory) Storage() storage.Interface { return storage.New(f, "", nil) }

func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, "", nil)
}
