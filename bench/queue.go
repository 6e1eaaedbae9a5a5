package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/util/workqueue"

	"github.com/bowline-dev/bowline/workqueue"
)

// childQueue is the argument of the process that runs the queues.
const childQueue = "child-queue"

// queues compares Bowline's work queue with client-go's.
func queues() measurement {
	return measurement{
		figures: []figure{
			{"queue: Add, Get and Done by 8 producers and 8 workers, time, Bowline's / client-go's", times, 0.5},
		},
		starts: true,
		run:    inChild(childQueue),
	}
}

// The number of keys corresponds to the objects of a large cluster. Each is added once by one producer.
const (
	queueProducers = 8
	queueWorkers   = 8
	queueKeys      = 50_000 // for each producer
	queueRounds    = 9
)

// keyQueue is the interface that both queues have in common.
type keyQueue struct {
	add  func(types.NamespacedName)
	get  func() (types.NamespacedName, bool)
	done func(types.NamespacedName)
	end  func()
}

func ourQueue() keyQueue {
	q := workqueue.New[types.NamespacedName](nil)
	ctx, cancel := context.WithCancel(context.Background()) // as in a controller
	return keyQueue{q.Add, func() (types.NamespacedName, bool) {
		key, ok := q.Get(ctx)
		if !ok {
			cancel()
		}
		return key, ok
	}, q.Done, q.ShutDown}
}

func clientGoQueue() keyQueue {
	q := clientgo.NewTyped[types.NamespacedName]()
	return keyQueue{q.Add, func() (types.NamespacedName, bool) {
		key, over := q.Get()
		return key, !over
	}, q.Done, q.ShutDown}
}

// measureQueues alternates between both queues, and prints the median of the comparisons.
func measureQueues(context.Context, []string) error {
	keys := make([][]types.NamespacedName, queueProducers)
	for p := range keys {
		for i := range queueKeys {
			keys[p] = append(keys[p], types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i%100),
				Name: fmt.Sprintf("object-%d-%06d", p, i)})
		}
	}
	var compared []float64
	for round := range queueRounds {
		compared = append(compared, compareQueues(round, keys))
	}
	return json.NewEncoder(os.Stdout).Encode([]float64{middle(compared)})
}

// compareQueues returns the time of our queue divided by that of client-go's. The order alternates between
// rounds, since the first queue affects the memory that the second one finds.
func compareQueues(round int, keys [][]types.NamespacedName) float64 {
	if round%2 == 0 {
		ours := timeOf(ourQueue(), keys)
		return ours / timeOf(clientGoQueue(), keys)
	}
	theirs := timeOf(clientGoQueue(), keys)
	return timeOf(ourQueue(), keys) / theirs
}

// timeOf returns the time in seconds from the first Add to the last Done.
func timeOf(q keyQueue, keys [][]types.NamespacedName) float64 {
	runtime.GC()
	var producing, working sync.WaitGroup
	start := time.Now()
	for range queueWorkers {
		working.Go(func() {
			for key, ok := q.get(); ok; key, ok = q.get() {
				q.done(key)
			}
		})
	}
	for _, own := range keys {
		producing.Go(func() {
			for _, key := range own {
				q.add(key)
			}
		})
	}
	producing.Wait()
	q.end()
	working.Wait()
	return time.Since(start).Seconds()
}

// middle returns the median.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
