package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline"
)

// The first argument with which the bench starts itself as a child process.
const (
	childServe    = "child-serve"
	childStart    = "child-start"
	childCommits  = "child-commits"
	childReads    = "child-reads"
	childDisk     = "child-disk"
	childFork     = "child-fork"
	childGrowth   = "child-growth"
	childFill     = "child-fill"
	childRecorded = "child-recorded"
	childTestKit  = "child-testkit"
	childListers  = "child-listers"
	childPods     = "child-pods"
	childHitches  = "child-hitches"
)

var children = map[string]func(ctx context.Context, args []string) error{
	childServe:    serveProfiled,
	childStart:    startPlanes,
	childCommits:  measureCommits,
	childReads:    measureReads,
	childDisk:     measureDisk,
	childFork:     measureForks,
	childGrowth:   measureGrowth,
	childFill:     measureFill,
	childRecorded: measureRecorded,
	childTestKit:  measureTestKit,
	childListers:  measureListers,
	childPods:     measurePods,
	childHitches:  measureHitches,
	"growth":      growth,

	childQueue:     measureQueues,
	childReconcile: measureReconciles,
	childWorkloads: measureWorkloads,
	childOwnWrites: measureOwnWrites,
	childScheduler: measureSchedules,
	childDeletions: measureDeletions,
	childIdle:      measureIdle,

	childHeartbeats: measureHeartbeats,
}

// serveProfiled runs a server that profiles itself. Its argument is the path of the kubeconfig to be written.
// Each line on standard input is the file of a new profile; an empty line ends the current one.
func serveProfiled(ctx context.Context, args []string) error {
	plane, err := bowline.Start(ctx, bowline.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer plane.Close()
	config, err := plane.SocketConfig()
	if err != nil {
		return err
	}
	if err := writeKubeconfig(args[0], config); err != nil {
		return err
	}
	commands := make(chan string)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			commands <- lines.Text()
		}
	}()
	defer pprof.StopCPUProfile()
	for {
		select {
		case file := <-commands:
			pprof.StopCPUProfile()
			if err := startProfile(file); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// startProfile writes a profile to a file until it is stopped. The process exit closes the file.
func startProfile(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}

func writeKubeconfig(file string, config *rest.Config) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["bench"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	k.AuthInfos["bench"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	k.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "bench"}
	k.CurrentContext = "bench"
	data, err := clientcmd.Write(*k)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// nextStarts is the number of planes that a process starts after its first one.
const nextStarts = 9

// startPlanes starts planes in this process, one after another, and prints as JSON the time in microseconds
// from the start of each until an object was created.
func startPlanes(ctx context.Context, _ []string) error {
	var times []int64
	for range 1 + nextStarts {
		start := time.Now()
		plane, err := bowline.Start(ctx, bowline.Options{})
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(plane.RESTConfig())
		if err != nil {
			return err
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return err
		}
		times = append(times, time.Since(start).Microseconds())
		if err := plane.Close(); err != nil {
			return err
		}
	}
	data, err := json.Marshal(times)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(data))
	return err
}
