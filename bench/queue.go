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

// childQueue is the argument of a process that runs the queues.
const childQueue = "child-queue"

// queues compares the work queue with client-go's.
func queues() measurement {
	return measurement{
		figures: []figure{
			{"queue: Add, Get and Done by 8 producers and 8 workers, time, Bowline's / client-go's", times, 0.5},
			{"queue: the same by one goroutine, Bowline's / client-go's", times, 0.7},
		},
		starts: true,
		run:    inChild(childQueue),
	}
}

// Keys are as many as the objects of a large cluster, each added once by one of the producers.
const (
	queueProducers = 8
	queueWorkers   = 8
	queueKeys      = 50_000 // of each producer
	queueRounds    = 9
)

// keyQueue is what both queues have.
type keyQueue struct {
	add  func(types.NamespacedName)
	get  func() (types.NamespacedName, bool)
	done func(types.NamespacedName)
	end  func()
}

func ourQueue() keyQueue {
	q := workqueue.New[types.NamespacedName](nil)
	ctx, cancel := context.WithCancel(context.Background()) // as a controller has it
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

// measureQueues runs both queues in turns, and prints the median of each comparison.
func measureQueues(context.Context, []string) error {
	keys := make([][]types.NamespacedName, queueProducers)
	for p := range keys {
		for i := range queueKeys {
			keys[p] = append(keys[p], types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i%100), Name: fmt.Sprintf("object-%d-%06d", p, i)})
		}
	}
	var crowd, alone []float64
	for round := range queueRounds {
		crowd = append(crowd, compareQueues(round, func(q keyQueue) float64 { return timeOf(q, keys, queueWorkers) }))
		alone = append(alone, compareQueues(round, func(q keyQueue) float64 { return timeAlone(q, keys[0][:1000]) }))
	}
	return json.NewEncoder(os.Stdout).Encode([]float64{middle(crowd), middle(alone)})
}

// compareQueues is the time of ours divided by that of client-go's. Who comes first changes from round to round: what the one
// leaves of memory is the other's to begin with.
func compareQueues(round int, timed func(keyQueue) float64) float64 {
	if round%2 == 0 {
		ours := timed(ourQueue())
		return ours / timed(clientGoQueue())
	}
	theirs := timed(clientGoQueue())
	return timed(ourQueue()) / theirs
}

// timeOf is how long a queue takes from the first Add until the last Done, in seconds.
func timeOf(q keyQueue, keys [][]types.NamespacedName, workers int) float64 {
	runtime.GC()
	var producing, working sync.WaitGroup
	begun := time.Now()
	for range workers {
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
	return time.Since(begun).Seconds()
}

// timeAlone adds keys and takes them out again, many times.
func timeAlone(q keyQueue, keys []types.NamespacedName) float64 {
	defer q.end()
	begun := time.Now()
	for range 100 {
		for _, key := range keys {
			q.add(key)
		}
		for range keys {
			key, _ := q.get()
			q.done(key)
		}
	}
	return time.Since(begun).Seconds()
}

// middle is the median.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
