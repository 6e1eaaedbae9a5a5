package controller

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	greetingv1 "example.com/operator/api/v1"
)

// encore is a finalizer that only the specs remove.
const encore = "example.com/encore"

var _ = Describe("Choir Controller", func() {
	var namespace string

	gone := func(obj client.Object) func() bool {
		return func() bool { return errors.IsNotFound(k8sClient.Get(ctx, client.ObjectKeyFromObject(obj), obj)) }
	}
	greetings := func(g Gomega) (names []string) {
		list := &greetingv1.GreetingList{}
		g.Expect(k8sClient.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, greeting := range list.Items {
			names = append(names, greeting.Name)
		}
		return names
	}
	words := func(g Gomega) (names []string) {
		list := &corev1.ConfigMapList{}
		g.Expect(k8sClient.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, cm := range list.Items {
			if cm.Name != "kube-root-ca.crt" {
				names = append(names, cm.Name)
			}
		}
		return names
	}
	// sung returns a choir whose greetings have been said.
	sung := func(singers ...string) *greetingv1.Choir {
		choir := &greetingv1.Choir{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "choir"}}
		choir.Spec = greetingv1.ChoirSpec{Audience: "World", Singers: singers}
		ExpectWithOffset(1, k8sClient.Create(ctx, choir)).To(Succeed())
		EventuallyWithOffset(1, func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(choir), choir)).To(Succeed())
			g.Expect(choir.Status.Heard).To(BeEquivalentTo(len(singers)))
		}).Should(Succeed())
		return choir
	}
	// hold prevents the removal of a greeting until the returned function is called.
	hold := func(name string) (release func()) {
		change := func(how func(client.Object, string) bool) {
			EventuallyWithOffset(1, func(g Gomega) {
				greeting := &greetingv1.Greeting{}
				g.Expect(k8sClient.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, greeting)).To(Succeed())
				how(greeting, encore)
				g.Expect(k8sClient.Update(ctx, greeting)).To(Succeed())
			}).Should(Succeed())
		}
		change(controllerutil.AddFinalizer)
		return func() { change(controllerutil.RemoveFinalizer) }
	}

	BeforeEach(func() {
		if !onCluster() {
			Skip("this needs the garbage collector and the namespace controller of a cluster: USE_EXISTING_CLUSTER=true")
		}
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "choir-"}}
		Expect(k8sClient.Create(ctx, ns)).To(Succeed())
		namespace = ns.Name
		DeferCleanup(func() {
			Expect(client.IgnoreNotFound(k8sClient.Delete(ctx, ns))).To(Succeed())
			Eventually(gone(ns)).Should(BeTrue())
		})
	})

	Context("When a choir is deleted", func() {
		It("should leave nothing behind", func() {
			choir := sung("alto", "bass")
			Expect(k8sClient.Delete(ctx, choir)).To(Succeed())
			Expect(gone(choir)()).To(BeTrue())
			Eventually(greetings).Should(BeEmpty())
			Eventually(words).Should(BeEmpty())
		})

		It("should be there, in the foreground, until its last greeting has gone", func() {
			choir := sung("alto", "bass")
			release := hold("choir-bass")
			Expect(k8sClient.Delete(ctx, choir,
				client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
			Eventually(greetings).Should(ConsistOf("choir-bass"))
			Consistently(gone(choir)).Should(BeFalse())
			Expect(choir.Finalizers).To(ConsistOf(metav1.FinalizerDeleteDependents))
			release()
			Eventually(gone(choir)).Should(BeTrue())
			Expect(greetings(Default)).To(BeEmpty())
		})

		It("should leave its greetings to others, if told to", func() {
			choir := sung("alto", "bass")
			Expect(k8sClient.Delete(ctx, choir, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
			Eventually(gone(choir)).Should(BeTrue())
			list := &greetingv1.GreetingList{}
			Expect(k8sClient.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			Expect(list.Items).To(HaveLen(2))
			for _, greeting := range list.Items {
				Expect(greeting.OwnerReferences).To(BeEmpty())
				Expect(greeting.DeletionTimestamp).To(BeNil())
			}
		})

		It("should not be survived by what comes too late", func() {
			choir := sung()
			Expect(k8sClient.Delete(ctx, choir)).To(Succeed())
			late := &greetingv1.Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late"}}
			late.Spec.Name = "World"
			Expect(controllerutil.SetControllerReference(choir, late, k8sClient.Scheme())).To(Succeed())
			Expect(k8sClient.Create(ctx, late)).To(Succeed())
			Eventually(gone(late)).Should(BeTrue())
		})
	})

	Context("When a singer leaves", func() {
		It("should be heard no more", func() {
			choir := sung("alto", "bass")
			choir.Spec.Singers = []string{"bass"}
			Expect(k8sClient.Update(ctx, choir)).To(Succeed())
			Eventually(greetings).Should(ConsistOf("choir-bass"))
			Eventually(words).Should(ConsistOf("choir-bass"))
		})
	})

	Context("When its namespace is deleted", func() {
		It("should go with it, and the finalizers of its greetings be heeded", func() {
			choir := sung("alto", "bass")
			release := hold("choir-bass")
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			Expect(k8sClient.Delete(ctx, ns)).To(Succeed())

			By("saying what it waits for")
			Eventually(func(g Gomega) {
				g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(ns), ns)).To(Succeed())
				g.Expect(ns.Status.Conditions).To(ContainElement(And(
					HaveField("Type", corev1.NamespaceFinalizersRemaining), HaveField("Status", corev1.ConditionTrue),
					HaveField("Message", ContainSubstring(encore)),
				)))
			}).Should(Succeed())
			Eventually(greetings).Should(ConsistOf("choir-bass"))
			Eventually(gone(choir)).Should(BeTrue())

			By("taking nothing new")
			err := k8sClient.Create(ctx, &greetingv1.Choir{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "new"},
				Spec:       greetingv1.ChoirSpec{Audience: "World"},
			})
			Expect(errors.HasStatusCause(err, corev1.NamespaceTerminatingCause)).To(BeTrue())

			By("going when that is done")
			release()
			Eventually(gone(ns)).Should(BeTrue())
		})
	})
})
