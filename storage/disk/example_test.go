package disk_test

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/storage/disk"
)

// A plane that is started again on the same directory has the objects of the first one.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "bowline")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for range 2 {
		objects, err := disk.Open(dir+"/objects", disk.Options{})
		if err != nil {
			panic(err)
		}
		plane, err := bowline.Start(ctx, bowline.Options{Storage: objects})
		if err != nil {
			panic(err)
		}
		namespaces := kubernetes.NewForConfigOrDie(plane.RESTConfig()).CoreV1().Namespaces()
		namespace, err := namespaces.Get(ctx, "default", v1.GetOptions{})
		if err != nil {
			panic(err)
		}
		before, _ := os.ReadFile(dir + "/uid") // empty at first
		fmt.Println(string(namespace.UID) == string(before))
		os.WriteFile(dir+"/uid", []byte(namespace.UID), 0o600)
		plane.Close() // closes the storage too
	}
	// Output:
	// false
	// true
}
