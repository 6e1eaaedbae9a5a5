package controller

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	greetingv1 "example.com/operator/api/v1"
)

var _ = Describe("Greeting Controller", func() {
	newGreeting := func(name string) *greetingv1.Greeting {
		return &greetingv1.Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: greetingv1.GreetingSpec{Name: "World"}}
	}
	words := func(name string) func(Gomega) string {
		return func(g Gomega) string {
			cm := &corev1.ConfigMap{}
			g.Expect(k8sClient.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, cm)).To(Succeed())
			return cm.Data["words"]
		}
	}

	Context("When reconciling a resource", func() {
		It("should say the greeting, again when it changes, and go in the end", func() {
			greeting := newGreeting("hello")
			Expect(k8sClient.Create(ctx, greeting)).To(Succeed())
			Expect(greeting.Spec.Times).To(BeEquivalentTo(1))
			Eventually(words("hello")).Should(Equal("Hello, World! "))

			By("setting the status")
			Eventually(func(g Gomega) {
				g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(greeting), greeting)).To(Succeed())
				g.Expect(meta.IsStatusConditionTrue(greeting.Status.Conditions, "Said")).To(BeTrue())
			}).Should(Succeed())

			By("following a change of the spec")
			changed := greeting.DeepCopyObject().(*greetingv1.Greeting)
			changed.Spec.Times = 2
			Expect(k8sClient.Patch(ctx, changed, client.MergeFrom(greeting))).To(Succeed())
			Eventually(words("hello")).Should(Equal("Hello, World! Hello, World! "))

			By("mending what others change")
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
			Expect(k8sClient.Delete(ctx, cm)).To(Succeed())
			Eventually(words("hello")).Should(ContainSubstring("World"))

			By("going")
			Expect(k8sClient.Delete(ctx, greeting)).To(Succeed())
			Eventually(func() bool {
				return errors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(greeting), greeting))
			}).Should(BeTrue())
			Eventually(func() bool {
				return errors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(cm), cm))
			}).Should(BeTrue())
		})

		It("should be validated by its definition", func() {
			loud := newGreeting("loud")
			loud.Spec.Times = 6
			Expect(errors.IsInvalid(k8sClient.Create(ctx, loud))).To(BeTrue())
			nobody := newGreeting("nobody")
			nobody.Spec.Name = ""
			Expect(errors.IsInvalid(k8sClient.Create(ctx, nobody))).To(BeTrue())
		})
	})

	Context("When another user asks", func() {
		BeforeEach(func() {
			if onCluster() {
				Skip("the users of a cluster are made elsewhere")
			}
		})

		It("should be forbidden to those without a role", func() {
			user, err := testEnv.AddUser(envtest.User{Name: "jane", Groups: []string{"devs"}}, nil)
			Expect(err).NotTo(HaveOccurred())
			jane, err := client.New(user.Config(), client.Options{Scheme: k8sClient.Scheme()})
			Expect(err).NotTo(HaveOccurred())
			Expect(errors.IsForbidden(jane.Create(ctx, newGreeting("jane")))).To(BeTrue())
		})

		It("should work with kubectl", func() {
			user, err := testEnv.AddUser(envtest.User{Name: "root", Groups: []string{"system:masters"}}, nil)
			Expect(err).NotTo(HaveOccurred())
			kubectl, err := user.Kubectl()
			Expect(err).NotTo(HaveOccurred())
			Expect(k8sClient.Create(ctx, newGreeting("listed"))).To(Succeed())
			out, _, err := kubectl.Run("get", "greetings", "-n", "default", "-o", "name")
			Expect(err).NotTo(HaveOccurred())
			Eventually(out).Should(Not(BeNil()))
			text := make([]byte, 1024)
			n, err := out.Read(text)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(text[:n])).To(ContainSubstring("greeting.example.com/listed"))
		})
	})
})
