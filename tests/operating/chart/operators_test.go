// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	sigsyaml "sigs.k8s.io/yaml"
)

// The fields of a Certificate of cert-manager that we set. Its own types need a newer Kubernetes than that of older.mod.
type certificate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SecretName  string           `json:"secretName"`
		Duration    *metav1.Duration `json:"duration"`
		RenewBefore *metav1.Duration `json:"renewBefore"`
		DNSNames    []string         `json:"dnsNames"`
		Usages      []string         `json:"usages"`
		PrivateKey  struct {
			RotationPolicy string `json:"rotationPolicy"`
			Algorithm      string `json:"algorithm"`
			Size           int    `json:"size"`
		} `json:"privateKey"`
		IssuerRef struct {
			Name  string `json:"name"`
			Kind  string `json:"kind"`
			Group string `json:"group"`
		} `json:"issuerRef"`
	} `json:"spec"`
}

// strictly refuses fields that Kubernetes and the Prometheus operator do not know.
func strictly(t *testing.T) runtime.Decoder {
	t.Helper()
	if err := monitoringv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	return serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
}

func checkServiceMonitor(t testing.TB, monitor *monitoringv1.ServiceMonitor, c central) {
	t.Helper()
	if !selects(t, &monitor.Spec.Selector, c.service.Labels) {
		t.Error("the ServiceMonitor does not select the Service")
	}
	if job := c.service.Labels[monitor.Spec.JobLabel]; job != "lockkeeper" {
		t.Errorf("the job is %q, and the alerts ask for lockkeeper", job)
	}
	ports := map[string]bool{}
	for _, port := range c.service.Spec.Ports {
		ports[port.Name] = true
	}
	if len(monitor.Spec.Endpoints) != 1 || !ports[monitor.Spec.Endpoints[0].Port] {
		t.Errorf("not one port of the Service: %v", monitor.Spec.Endpoints)
	}
}

func checkRules(t *testing.T, rules *monitoringv1.PrometheusRule) {
	t.Helper()
	text, err := sigsyaml.Marshal(rules.Spec)
	if err != nil {
		t.Fatal(err)
	}
	run(t, string(text), "promtool", "check", "rules")
}

func checkCertificate(t testing.TB, document []byte, c central) {
	t.Helper()
	var made certificate
	if err := sigsyaml.UnmarshalStrict(document, &made); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	if made.APIVersion != "cert-manager.io/v1" || made.Kind != "Certificate" || made.Spec.IssuerRef.Name == "" {
		t.Errorf("not a certificate of an issuer:\n%s", document)
	}
	if made.Spec.Duration == nil || made.Spec.RenewBefore == nil || made.Spec.RenewBefore.Duration >= made.Spec.Duration.Duration {
		t.Errorf("renewed all the time:\n%s", document)
	}
	for _, volume := range c.deployment.Spec.Template.Spec.Volumes {
		if volume.Name == "lockkeeper-tls" && volume.Secret.SecretName == made.Spec.SecretName {
			return
		}
	}
	t.Errorf("the pods do not mount the secret %s", made.Spec.SecretName)
}

// A misspelt field is dropped without a word by the API server of somebody who does not validate.
func TestMisspeltFieldsOfOperatorsAreNoticed(t *testing.T) {
	for what, text := range map[string]string{
		"ServiceMonitor": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nspec: {jobLabels: x, selector: {}, endpoints: []}\n",
		"PrometheusRule": "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nspec: {groups: [{name: x, rules: [{alert: x, expr: up, fore: 1m}]}]}\n",
	} {
		if _, _, err := strictly(t).Decode([]byte(text), nil, nil); !runtime.IsStrictDecodingError(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wrong := "apiVersion: cert-manager.io/v1\nkind: Certificate\nspec: {secretNames: x}\n"
	if !fails(t, func(inner testing.TB) { checkCertificate(inner, []byte(wrong), central{}) }) {
		t.Error("a Certificate with secretNames is not noticed")
	}
}
