// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// cluster is what a release has installed: its ConfigMap.
type cluster struct {
	dynamic.NamespaceableResourceInterface
	config *corev1.ConfigMap
}

func (c cluster) GetClientFor(_, _ string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return c, true, nil
}

func (c cluster) Namespace(string) dynamic.ResourceInterface { return c }

func (c cluster) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if name != c.config.Name {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.config)
	return &unstructured.Unstructured{Object: fields}, err
}

// objectsOf are those of these files of the chart.
func objectsOf(t *testing.T, rendered map[string]string, files string) []runtime.Object {
	t.Helper()
	var all []runtime.Object
	for name, text := range rendered {
		if matches, _ := filepath.Match(files, filepath.Base(name)); matches {
			all = append(all, decodeAll(t, []byte(text))...)
		}
	}
	return all
}

// upgrade renders the chart where it is installed with other values.
func upgrade(t *testing.T, loaded func(*testing.T) *chart.Chart, before, after object) error {
	t.Helper()
	installed, err := renderChart(t, loaded(t), before, "v1.29.0")
	if err != nil {
		t.Fatal(err)
	}
	target := loaded(t)
	values, err := renderValues(t, target, after, "v1.29.0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.RenderWithClientProvider(target, values, cluster{config: objectsOf(t, installed, "configmap.yaml")[0].(*corev1.ConfigMap)})
	return err
}

// While pods are replaced daemons of both stores would run.
func TestUpgradeToAnotherStoreIsRefused(t *testing.T) {
	store := func(url string, settings ...string) object {
		values := object{"redis": object{"url": url}}
		if len(settings) > 0 {
			values["config"] = object{"store": object{"key_prefix": settings[0]}}
		}
		return values
	}
	for name, c := range map[string]struct {
		before, after object
		says          string
	}{
		"another Redis":     {store("redis://one"), store("redis://two"), "store.redis would change while daemons run"},
		"another prefix":    {store("redis://one"), store("redis://one", "other:"), "store.key_prefix would change while daemons run"},
		"the prefix is old": {store("redis://one", "other:"), store("redis://one"), "store.key_prefix would change while daemons run"},
		"the same":          {store("redis://one"), store("redis://one"), ""},
		"the default":       {store("redis://one"), store("redis://one", "lk:"), ""},
		"another setting":   {store("redis://one"), object{"redis": object{"url": "redis://one"}, "drainSeconds": 7}, ""},
		"wanted":            {store("redis://one"), object{"redis": object{"url": "redis://two", "replace": true}}, ""},
	} {
		for mode, loaded := range map[string]func(*testing.T) *chart.Chart{"central": load, "sidecar": loadApplication} {
			before, after := c.before, c.after
			if mode == "sidecar" {
				before, after = object{"lockkeeper": before}, object{"lockkeeper": after}
			}
			err := upgrade(t, loaded, before, after)
			if c.says != "" {
				checkSays(t, err, c.says)
			} else if err != nil {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
		}
	}
}

// One release may have the chart twice, each with a Redis of its own.
func TestTwoServicesOfOneReleaseSelectTheirOwnPods(t *testing.T) {
	selectors := map[string]bool{}
	for _, alias := range []string{"orders", "reports"} {
		loaded := load(t)
		loaded.Metadata.Name = alias // which is what Helm makes of an alias
		rendered, err := renderChart(t, loaded, object{"redis": object{"url": "redis://" + alias}}, "v1.29.0")
		if err != nil {
			t.Fatal(err)
		}
		var c central
		for _, decoded := range objectsOf(t, rendered, "*.yaml") {
			c.add(decoded)
		}
		checkCentral(t, c)
		selectors[metav1.FormatLabelSelector(c.deployment.Spec.Selector)] = true
		selectors[metav1.FormatLabelSelector(metav1.SetAsLabelSelector(c.service.Spec.Selector))] = true
	}
	if len(selectors) != 2 {
		t.Errorf("the services have these selectors: %v", selectors)
	}
}
