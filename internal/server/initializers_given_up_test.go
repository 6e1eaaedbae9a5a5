package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

const failure = `{"metadata":{"initializers":{"result":{"status":"Failure","message":"no room","code":403}}}}`

// appending is a log that calls a function before each append, which fails if the function does.
type appending struct {
	log.Log
	before func() error
}

func (a *appending) Append(ctx context.Context, commits []log.Commit) error {
	if err := a.before(); err != nil {
		return err
	}
	return a.Log.Append(ctx, commits)
}

// If the server is killed at any write, a rejected object is either as before, or deleted.
func TestCrashLeavesNoFailedObject(t *testing.T) {
	t.Parallel()
	for kill := range 3 {
		journal, doomed, left := storetest.NewJournal(), false, kill
		w := start(t, func(o *bowline.Options) {
			o.Storage = &appending{journal.Open(), func() error {
				if doomed {
					left--
				}
				if left < 0 {
					return errors.New("killed")
				}
				return nil
			}}
		})
		configureInitializers(t, w, "a", "configmaps", "first.example.com")
		held := `{"metadata":{"name":"a","finalizers":["example.com/never"]}}`
		w.send(t, http.MethodPost, configMaps+hidden, held).want(t, http.StatusCreated)
		doomed = true
		w.merge(t, configMaps+"/a", failure)
		w = w.restart(t, journal)
		r := w.get(t, configMaps+"/a")
		if r.code == http.StatusNotFound {
			w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
		} else if obj := r.want(t, 200).object(t); valueAt(obj, "metadata", "initializers", "result") != nil {
			t.Errorf("after a crash at write %d, the object has a result: %v", kill, obj)
		}
	}
}

// An object can be rejected in another version than the stored one.
func TestInitializerFailureInOtherVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		configureInitializers(t, w, "a", "deployments", "first.example.com")
		const extensions = "/apis/extensions/v1beta1/namespaces/default/deployments"
		body := strings.Replace(strings.Replace(ownedDeployment, `"name":"d"`, `"name":"a"`, 1),
			`"apiVersion":"apps/v1",`, "", 1)
		answer := w.begin(t, http.MethodPost, extensions, body)
		synctest.Wait()
		w.merge(t, extensions+"/a", failure).want(t, http.StatusOK)
		(<-answer).wantError(t, http.StatusForbidden, "", "no room")
	})
	w := start(t)
	define(t, w, startConversionWebhook(t).lamps(t))
	configureInitializers(t, w, "a", "lamps", "first.example.com")
	answer := w.begin(t, http.MethodPost, lampsV2, lamp("v2", "a", `{"paint":"red"}`))
	all := w.open(t, lampsV2+hidden+"&watch=1&resourceVersion=0")
	all.want(t, "ADDED a")
	w.merge(t, lampsV2+"/a", failure).want(t, http.StatusOK)
	(<-answer).wantError(t, http.StatusForbidden, "", "no room")
	deleted := all.want(t, "DELETED a").Object
	if valueAt(deleted, "spec", "paint") != "red" ||
		valueAt(deleted, "metadata", "initializers", "result", "message") != "no room" {
		t.Errorf("deleted is %v", deleted)
	}
}

// If an initializer disconnects after it rejected an object, the creator is still answered at once.
func TestInitializerFailureSurvivesDisconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := storetest.NewJournal()
		ctx, leave := context.WithCancel(t.Context())
		leaves := false
		w := start(t, func(o *bowline.Options) {
			o.Storage = &appending{journal.Open(), func() error {
				if leaves {
					leave()
				}
				return nil
			}}
		})
		configureInitializers(t, w, "a", "configmaps", "first.example.com")
		answer := w.begin(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
		synctest.Wait()
		leaves = true
		w.try(ctx, http.MethodPatch, configMaps+"/a", strings.NewReader(failure), "Content-Type", mergeType)
		synctest.Wait()
		select {
		case r := <-answer:
			r.wantError(t, http.StatusForbidden, "", "no room")
		default:
			t.Error("the create has not returned")
		}
		w.get(t, configMaps+"/a").wantError(t, http.StatusNotFound, metav1.StatusReasonNotFound, "")
	})
}
