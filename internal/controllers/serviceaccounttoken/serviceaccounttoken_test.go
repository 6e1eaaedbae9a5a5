package serviceaccounttoken_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/transcript"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/serviceaccounttoken"
	"github.com/bowline-dev/bowline/internal/trial"
)

// sign returns a text in place of a token.
func sign(account *corev1.ServiceAccount, secret string) (string, error) {
	return fmt.Sprintf("a token of %s in %s", account.Name, secret), nil
}

// process is the controller as a separate program, configured with a certificate.
func process(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{
		Authority: []byte("a certificate"), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	serviceaccounttoken.Add(m, sign)
	return m.Run(ctx)
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "testdata/*.txt", trial.Alone(), bowlinetest.Controllers(process))
}

func TestSecretsAreFilledDespiteFaults(t *testing.T) {
	t.Parallel()
	program := trial.Program(process)
	for _, processes := range [][]bowlinetest.Process{program.Once(), program.Twice()} {
		r := bowlinetest.Explore(t, bowlinetest.Scenario{
			Options:    []bowlinetest.Option{trial.Alone()},
			Processes:  processes,
			Act:        user,
			Settle:     2 * time.Minute,
			Invariants: []func(bowlinetest.State) error{retainedWithAccount},
			Budget:     30,
		})
		t.Logf("%d fault points with %d instances", r.Tried(), len(processes))
	}
}

// user creates two accounts with a Secret each, and a Secret without an account. A minute later, user removes the token
// of the first account, and replaces the second account by another one of the same name.
func user(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	accounts, secrets := client.For[*corev1.ServiceAccount](c), client.For[*corev1.Secret](c)
	create := func(account string) error {
		_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: named(account)}, metav1.CreateOptions{})
		return err
	}
	for _, name := range []string{"kept", "replaced"} {
		if err := create(name); err != nil {
			return err
		}
	}
	for _, name := range []string{"kept", "replaced", "nobody"} {
		secret := &corev1.Secret{ObjectMeta: named(name), Type: corev1.SecretTypeServiceAccountToken}
		secret.Annotations = map[string]string{corev1.ServiceAccountNameKey: name}
		if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(time.Minute)
	if _, err := secrets.Patch(ctx, "default", "kept", "", types.MergePatchType, []byte(`{"data":{"token":null}}`),
		metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := accounts.Delete(ctx, "default", "replaced", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return create("replaced")
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

// retainedWithAccount fails if the controller has deleted the Secret of an account that was never deleted.
func retainedWithAccount(s bowlinetest.State) error {
	if s.Find("Secret", "default", "replaced") != nil && s.Find("Secret", "default", "kept") == nil {
		return errors.New("the Secret of an account that exists was deleted")
	}
	return nil
}
