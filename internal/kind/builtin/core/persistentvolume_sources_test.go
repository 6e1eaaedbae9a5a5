package core

import (
	"strings"
	"testing"
)

// TestPersistentVolumeSources checks each source of ValidatePersistentVolumeSpec: a valid one, and one with as many
// errors as possible.
func TestPersistentVolumeSources(t *testing.T) {
	t.Parallel()
	const (
		label     = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
		subdomain = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
		required  = ": Required value"
	)
	var rules []rule
	for _, source := range []struct {
		valid, invalid string
		want           []string
	}{
		{`"hostPath":{"path":"/a","type":"File"}`, `"hostPath":{"path":"/a/..","type":"Odd"}`, []string{
			`hostPath.path: Invalid value: "/a/..": must not contain '..'`,
			`hostPath.type: Unsupported value: "Odd": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`}},
		{`"gcePersistentDisk":{"pdName":"a"}`, `"gcePersistentDisk":{"pdName":"","partition":256}`, []string{
			"persistentDisk.pdName" + required,
			"persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"}},
		{`"awsElasticBlockStore":{"volumeID":"a"}`, `"awsElasticBlockStore":{"volumeID":"","partition":-1}`, []string{
			"awsElasticBlockStore.volumeID" + required,
			"awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive"}},
		{`"glusterfs":{"endpoints":"a","path":"b","endpointsNamespace":"n"}`,
			`"glusterfs":{"endpoints":"","path":"","endpointsNamespace":""}`, []string{
				"glusterfs.endpoints" + required, "glusterfs.path" + required,
				`glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name`}},
		{`"glusterfs":{"endpoints":"a","path":"b"}`, `"glusterfs":{"endpoints":"a","path":"b","endpointsNamespace":"A"}`,
			[]string{`glusterfs.endpointsNamespace: Invalid value: "A": ` + label}},
		{`"flocker":{"datasetName":"a"}`, `"flocker":{}`, []string{
			"flocker: Required value: one of datasetName and datasetUUID is required"}},
		{onNFS, `"nfs":{"server":"","path":"a"}`, []string{
			"nfs.server" + required, `nfs.path: Invalid value: "a": must be an absolute path`}},
		{`"rbd":{"monitors":["a"],"image":"b"}`, `"rbd":{}`, []string{
			"rbd.monitors" + required, "rbd.image" + required}},
		{`"quobyte":{"registry":"a:1","volume":"v"}`, `"quobyte":{"registry":"","volume":""}`, []string{
			"quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas",
			"quobyte.volume" + required}},
		{`"cephfs":{"monitors":["a"]}`, `"cephfs":{}`, []string{"cephfs.monitors" + required}},
		{`"cinder":{"volumeID":"a","secretRef":{"name":"n","namespace":"ns"}}`,
			`"cinder":{"volumeID":"","secretRef":{}}`, []string{"cinder.volumeID" + required,
				"cinder.secretRef.name" + required, "cinder.secretRef.namespace" + required}},
		{`"fc":{"wwids":["a"]}`, `"fc":{"targetWWNs":["a"]}`, []string{
			"fc.lun: Required value: lun is required if targetWWNs is specified"}},
		{`"flexVolume":{"driver":"a","options":{"example.com/a":"b"}}`,
			`"flexVolume":{"driver":"","options":{"k8s.io/a":"b"}}`, []string{"flexVolume.driver" + required,
				`flexVolume.options[k8s.io/a]: Invalid value: "k8s.io/a": kubernetes.io and k8s.io namespaces are reserved`}},
		{`"azureFile":{"secretName":"a","shareName":"b","secretNamespace":"n"}`,
			`"azureFile":{"secretName":"","shareName":"","secretNamespace":""}`, []string{
				"azureFile.secretName" + required, "azureFile.shareName" + required,
				"azureFile.secretNamespace" + required}},
		{`"vsphereVolume":{"volumePath":"a"}`, `"vsphereVolume":{"volumePath":""}`, []string{
			"vsphereVolume.volumePath" + required}},
		{`"photonPersistentDisk":{"pdID":"a"}`, `"photonPersistentDisk":{"pdID":""}`, []string{
			"photonPersistentDisk.pdID" + required}},
		{`"portworxVolume":{"volumeID":"a"}`, `"portworxVolume":{"volumeID":""}`, []string{
			"portworxVolume.volumeID" + required}},
		{`"azureDisk":{"diskName":"a","diskURI":"https://b"}`, `"azureDisk":{"diskName":"","diskURI":"b"}`, []string{
			"azureDisk.diskName" + required,
			`azureDisk.diskURI: Unsupported value: "b": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`}},
		{`"scaleIO":{"gateway":"a","system":"b","volumeName":"c"}`, `"scaleIO":{"gateway":"","system":""}`, []string{
			"scaleIO.gateway" + required, "scaleIO.system" + required, "scaleIO.volumeName" + required}},
		{`"local":{"path":"a"},` + affinity("zone", "a"), `"local":{"path":"a/.."}`, []string{
			`local.path: Invalid value: "a/..": must not contain '..'`,
			"nodeAffinity: Required value: Local volume requires node affinity"}},
		{`"local":{"path":"/a"},` + affinity("zone", "a"), `"local":{"path":""},` + affinity("zone", "a"),
			[]string{"local.path" + required}},
		{`"storageos":{"volumeName":"a","volumeNamespace":"b","secretRef":{"name":"n","namespace":"ns"}}`,
			`"storageos":{"volumeNamespace":"B","secretRef":{}}`, []string{"storageos.volumeName" + required,
				`storageos.volumeNamespace: Invalid value: "B": ` + label,
				"storageos.secretRef.name" + required, "storageos.secretRef.namespace" + required}},
		{`"csi":{"driver":"CSI.example.com","volumeHandle":"h"}`, `"csi":{"driver":"","volumeHandle":""}`, []string{
			"csi.driver" + required, "csi.volumeHandle" + required}},
		{`"csi":{"driver":"a","volumeHandle":"h","nodeStageSecretRef":{}}`,
			`"csi":{"driver":"` + strings.Repeat("a", 63) + `_","volumeHandle":"h","controllerPublishSecretRef":{},` +
				`"controllerExpandSecretRef":{"name":"A","namespace":"A"},"nodePublishSecretRef":{"name":"a"},` +
				`"nodeExpandSecretRef":{"namespace":"a"}}`, []string{
				"csi.driver: Too long: may not be more than 63 bytes",
				`csi.driver: Invalid value: "` + strings.Repeat("a", 63) + `_": ` + subdomain,
				"csi.controllerPublishSecretRef.name" + required, "csi.controllerPublishSecretRef.namespace" + required,
				`csi.controllerExpandSecretRef.name: Invalid value: "A": ` + subdomain,
				`csi.controllerExpandSecretRef.namespace: Invalid value: "A": ` + label,
				"csi.nodePublishSecretRef.namespace" + required, "csi.nodeExpandSecretRef.name" + required}},
	} {
		for i := range source.want {
			source.want[i] = "spec." + source.want[i]
		}
		rules = append(rules, rule{name: source.valid, body: volumeOf(source.valid)},
			rule{name: source.invalid, body: volumeOf(source.invalid), want: source.want})
	}
	check(t, "persistentvolumes", rules)
}

// TestISCSIVolumeRules checks the rules of validateISCSIPersistentVolumeSource.
func TestISCSIVolumeRules(t *testing.T) {
	t.Parallel()
	disk := func(fields ...string) string { return volumeOf(`"iscsi":{` + strings.Join(fields, ",") + `}`) }
	const portal = `"targetPortal":"10.0.0.1:3260"`
	var rules []rule
	for name, valid := range map[string]bool{
		"iqn.2001-04.com.example:storage:disk1": true, "eui.0123456789abcDEF": true,
		"naa.0123456789abcdef0123456789abcdef": true, "iqn.2001-04.com.example": false, "iqn.01-04.com:a": false,
		"eui.0123": false, "naa.0123456789abcdef": false, "other": false, "iqn.2001-04.com.example:a b": false,
	} {
		named := rule{name: name, body: disk(portal, `"lun":0`, `"iqn":"`+name+`"`)}
		initiator := rule{name: "initiator " + name, body: disk(portal, `"lun":0`, `"iqn":"eui.0123456789abcdef"`,
			`"initiatorName":"`+name+`"`)}
		if !valid {
			named.want = []string{`spec.iscsi.iqn: Invalid value: "` + name + `": must be valid format`}
			initiator.want = []string{`spec.iscsi.initiatorname: Invalid value: "` + name + `": must be valid format`}
		}
		rules = append(rules, named, initiator)
	}
	long := strings.Repeat("p", 63)
	check(t, "persistentvolumes", append(rules,
		rule{name: "nothing", body: disk(`"lun":256`, `"chapAuthSession":true`), want: []string{
			"spec.iscsi.targetPortal: Required value", "spec.iscsi.iqn: Required value",
			"spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
			"spec.iscsi.secretRef: Required value"}},
		rule{name: "a secret", body: disk(portal, `"iqn":"eui.0123456789abcdef"`, `"chapAuthDiscovery":true`,
			`"secretRef":{}`), want: []string{"spec.iscsi.secretRef.name: Required value"}},
		rule{name: "a long portal", body: disk(`"targetPortal":"`+long+`"`, `"iqn":"eui.0123456789abcdef"`,
			`"initiatorName":"eui.0123456789abcdef"`), want: []string{`spec.iscsi.targetportal: Invalid value: "` + long +
			`": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`}},
		rule{name: "a long portal without an initiator", body: disk(`"targetPortal":"`+long+`"`,
			`"iqn":"eui.0123456789abcdef"`)},
	))
}

// TestVolumeHasOneSource checks the errors of further sources. A flexVolume is validated even as a further source.
func TestVolumeHasOneSource(t *testing.T) {
	t.Parallel()
	const more = ": Forbidden: may not specify more than 1 volume type"
	check(t, "persistentvolumes", []rule{
		{name: "further sources", body: volumeOf(`"hostPath":{"path":"/a"},"gcePersistentDisk":{"pdName":""},"cephfs":{},` +
			`"flexVolume":{"driver":""},"storageos":{},"csi":{"driver":"","volumeHandle":""}`), want: []string{
			"spec.gcePersistentDisk" + more, "spec.cephFS" + more, "spec.flexVolume.driver: Required value",
			"spec.storageos" + more, "spec.csi" + more}},
		{name: "a flexVolume is first", body: volumeOf(`"flexVolume":{"driver":"a"},"local":{"path":"/a"}`), want: []string{
			"spec.local" + more}},
	})
}
