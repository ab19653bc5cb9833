// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	goruntime "runtime"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	manifestsFolder = "../../../deploy/kubernetes"
	// What the pod has on top of preStop and drain, at least: the daemon takes its listeners down.
	timeToEnd = 5 * time.Second
)

// The objects of a central service.
type central struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
	budget     *policyv1.PodDisruptionBudget
	config     *corev1.ConfigMap
	// Of operators, if the values ask for them.
	monitor     *monitoringv1.ServiceMonitor
	rules       *monitoringv1.PrometheusRule
	certificate []byte
}

func (c *central) add(decoded runtime.Object) {
	switch decoded := decoded.(type) {
	case *appsv1.Deployment:
		c.deployment = decoded
	case *corev1.Service:
		c.service = decoded
	case *policyv1.PodDisruptionBudget:
		c.budget = decoded
	case *corev1.ConfigMap:
		c.config = decoded
	case *monitoringv1.ServiceMonitor:
		c.monitor = decoded
	case *monitoringv1.PrometheusRule:
		c.rules = decoded
	}
}

func settings(t testing.TB, config *corev1.ConfigMap) map[string]map[string]interface{} {
	t.Helper()
	settings := map[string]map[string]interface{}{}
	if err := sigsyaml.Unmarshal([]byte(config.Data["lockkeeper.yaml"]), &settings); err != nil {
		t.Fatal(err)
	}
	return settings
}

// Beyond its limit the kernel ends the daemon, and half of it is not gRPC's.
func checkMemory(t testing.TB, config *corev1.ConfigMap, daemon corev1.Container) {
	t.Helper()
	ofRequests, _ := settings(t, config)["server"]["request_memory_max"].(float64)
	if limit := daemon.Resources.Limits.Memory().Value(); ofRequests == 0 || 2*int64(ofRequests)<<20 > limit {
		t.Errorf("gRPC may take %v MiB of %d MiB", ofRequests, limit>>20)
	}
	waiters, _ := settings(t, config)["waiters"]["per_principal_max"].(float64)
	if ofEach := 16.0 / 1024; waiters == 0 || waiters*ofEach > ofRequests {
		t.Errorf("%v waiters of one principal take more than the %v MiB of gRPC, which then ends calls", waiters, ofRequests)
	}
}

// setting reads a duration of the daemon's configuration.
func setting(t testing.TB, config *corev1.ConfigMap, section, key string, otherwise time.Duration) time.Duration {
	t.Helper()
	text, given := settings(t, config)[section][key].(string)
	if !given {
		return otherwise
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return duration
}

func selects(t testing.TB, selector *metav1.LabelSelector, pod map[string]string) bool {
	t.Helper()
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return !parsed.Empty() && parsed.Matches(labels.Set(pod))
}

// A pod that ends is given up by its Service first, then drains, and is not killed before it has.
func checkEnd(t testing.TB, c central) {
	t.Helper()
	pod := c.deployment.Spec.Template.Spec
	lifecycle := pod.Containers[0].Lifecycle
	if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Exec == nil {
		t.Fatal("no preStop: the endpoints still name a pod that drains")
	}
	command := lifecycle.PreStop.Exec.Command
	if len(command) != 2 || command[0] != "sleep" {
		t.Fatalf("preStop does not wait: %v", command)
	}
	seconds, err := strconv.Atoi(command[1])
	if err != nil || seconds < 1 {
		t.Fatalf("preStop waits for %q", command[1])
	}
	needed := time.Duration(seconds)*time.Second + setting(t, c.config, "drain", "timeout", 20*time.Second) + timeToEnd
	if pod.TerminationGracePeriodSeconds == nil || time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second < needed {
		t.Errorf("the pod is killed before it has drained: it needs %v", needed)
	}
}

func checkProbe(t testing.TB, name string, probe *corev1.Probe, path string, ports map[string]bool) {
	t.Helper()
	if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || !ports[probe.HTTPGet.Port.StrVal] {
		t.Errorf("%s does not ask for %s on a port of the container: %v", name, path, probe)
	}
}

func checkPlaces(t testing.TB, c central) {
	t.Helper()
	template := c.deployment.Spec.Template
	keys := map[string]bool{}
	for _, constraint := range template.Spec.TopologySpreadConstraints {
		if constraint.WhenUnsatisfiable != corev1.ScheduleAnyway || constraint.MaxSkew != 1 {
			t.Errorf("a full cluster would have no daemon: %v", constraint)
		}
		if selects(t, constraint.LabelSelector, template.Labels) {
			keys[constraint.TopologyKey] = true
		}
	}
	if !keys["kubernetes.io/hostname"] {
		t.Error("all daemons may be on one node")
	}
	rolling := c.deployment.Spec.Strategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable.IntValue() != 0 || rolling.MaxSurge.IntValue() < 1 {
		t.Error("an old pod goes before the new one is there")
	}
}

// checkCentral asserts what docs/operating promises of the central service, however it is written down.
func checkCentral(t testing.TB, c central) {
	t.Helper()
	if c.deployment == nil || c.service == nil || c.config == nil {
		t.Fatalf("not a Deployment, a Service and a ConfigMap: %v", c)
	}
	checkDeployment(t, c.deployment)
	checkEnd(t, c)
	checkPlaces(t, c)
	template := c.deployment.Spec.Template
	ports := map[string]bool{}
	for _, port := range template.Spec.Containers[0].Ports {
		ports[port.Name] = true
	}
	checkProbe(t, "readinessProbe", template.Spec.Containers[0].ReadinessProbe, "/readyz", ports)
	checkProbe(t, "livenessProbe", template.Spec.Containers[0].LivenessProbe, "/healthz", ports)
	if !selects(t, metav1.SetAsLabelSelector(c.service.Spec.Selector), template.Labels) {
		t.Error("the Service does not select the pods")
	}
	for _, port := range c.service.Spec.Ports {
		if !ports[port.TargetPort.StrVal] {
			t.Errorf("the Service has the port %s of no container", port.TargetPort.StrVal)
		}
	}
	if age := setting(t, c.config, "server", "max_connection_age", 0); age < time.Minute || age > time.Hour {
		t.Errorf("connections live for %v: new pods would get no clients, or clients no rest", age)
	}
	checkMemory(t, c.config, template.Spec.Containers[0])
	if c.budget != nil {
		checkBudget(t, c)
	}
}

func checkBudget(t testing.TB, c central) {
	t.Helper()
	if !selects(t, c.budget.Spec.Selector, c.deployment.Spec.Template.Labels) {
		t.Error("the PodDisruptionBudget does not select the pods")
	}
	// While Redis is away no pod is ready.
	if policy := c.budget.Spec.UnhealthyPodEvictionPolicy; policy == nil || *policy != policyv1.AlwaysAllow {
		t.Errorf("a node with pods that are not ready cannot be drained: %v", policy)
	}
	replicas := 2 // Of an autoscaler, at least.
	if c.deployment.Spec.Replicas != nil {
		replicas = int(*c.deployment.Spec.Replicas)
	}
	away, err := intstr.GetScaledValueFromIntOrPercent(c.budget.Spec.MaxUnavailable, replicas, true)
	if err != nil || away < 1 || away >= replicas {
		t.Errorf("%d of %d daemons may be taken away at once: %v", away, replicas, err)
	}
}

// kustomized builds a folder with the library that is in kubectl.
func kustomized(t *testing.T, folder string) []runtime.Object {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(manifestsFolder, folder))
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return decodeAll(t, text)
}

func decodeAll(t *testing.T, text []byte) []runtime.Object {
	t.Helper()
	var objects []runtime.Object
	for _, document := range documents(t, string(text)) {
		object, _, err := strictly(t).Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		objects = append(objects, object)
	}
	return objects
}

func TestPlainManifestsOfTheCentralServiceAreWhatKubernetesAndTheDaemonTake(t *testing.T) {
	var made central
	for _, each := range kustomized(t, "central") {
		made.add(each)
	}
	checkCentral(t, made)
	checkConfig(t, made.config)
	if made.budget == nil || made.service.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Error("no PodDisruptionBudget, or a Service that is not headless")
	}
}

func TestPlainManifestsOfTheSidecarAreWhatKubernetesAndTheDaemonTake(t *testing.T) {
	var made central
	for _, each := range kustomized(t, "sidecar") {
		made.add(each)
	}
	if made.deployment == nil || made.config == nil {
		t.Fatal("not a Deployment and a ConfigMap")
	}
	checkConfig(t, made.config)
	checkVolumes(t, made.deployment.Spec.Template.Spec)
	pod := made.deployment.Spec.Template.Spec
	if len(pod.InitContainers) != 1 || restartPolicyOf(pod.InitContainers[0]) != "Always" {
		t.Fatal("no native sidecar")
	}
	checkMemory(t, made.config, pod.InitContainers[0])
	drain := setting(t, made.config, "drain", "timeout", 20*time.Second)
	if *pod.TerminationGracePeriodSeconds < int64((drain + timeToEnd).Seconds()) {
		t.Error("the pod is killed before the daemon has drained")
	}
	// All of one pod reach the socket that the daemon listens on.
	if !strings.Contains(made.config.Data["lockkeeper.yaml"], "unix:") {
		t.Error("the daemon listens on no unix socket")
	}
	listening := regexp.MustCompile(`unix:[^"\]]+`).FindString(made.config.Data["lockkeeper.yaml"])
	for _, variable := range pod.Containers[0].Env {
		if variable.Name == "LOCKKEEPER_SERVER" && variable.Value != listening {
			t.Errorf("the application asks at %s, the daemon listens on %s", variable.Value, listening)
		}
	}
}

// byKubectl builds a folder with `kubectl kustomize`. A machine may have no kubectl, or one that is too old: that of Debian 12.
func byKubectl(t *testing.T, folder string) []byte {
	t.Helper()
	var version struct{ KustomizeVersion string }
	output, err := exec.Command("kubectl", "version", "--client", "--output", "json").Output()
	if err != nil || json.Unmarshal(output, &version) != nil || version.KustomizeVersion == "" {
		t.Skipf("no kubectl of 1.24 or later: %v %s", err, output)
	}
	var problem bytes.Buffer
	command := exec.Command("kubectl", "kustomize", folder)
	command.Stderr = &problem
	if output, err = command.Output(); err != nil {
		t.Fatalf("%s: %v: %s", folder, err, problem.String())
	}
	return output
}

func TestKubectlMakesTheSameOfThePlainManifests(t *testing.T) {
	for _, folder := range []string{"central", "sidecar"} {
		made := byKubectl(t, filepath.Join(manifestsFolder, folder))
		if ours, theirs := sorted(t, kustomized(t, folder)), sorted(t, decodeAll(t, made)); !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: kubectl makes\n%v\nand the library\n%v", folder, theirs, ours)
		}
	}
}

// It refuses objects without kind or name, and two of one name.
func TestKubectlTakesTheRenderedCharts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartFolder, "ci", "*.yaml"))
	if err != nil || len(files) < 12 {
		t.Fatalf("too few values: %v %v", files, err)
	}
	for _, file := range files {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := render(t, values)
		if err != nil {
			t.Fatal(err)
		}
		folder, count := t.TempDir(), 0
		var all bytes.Buffer
		for name, text := range rendered {
			if strings.HasSuffix(name, ".txt") {
				continue
			}
			for _, document := range documents(t, text) {
				fmt.Fprintf(&all, "---\n%s\n", document)
				count++
			}
		}
		for name, text := range map[string]string{"all.yaml": all.String(), "kustomization.yaml": "resources: [all.yaml]\n"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if made := len(documents(t, string(byKubectl(t, folder)))); made != count || count < 3 {
			t.Errorf("%s: kubectl makes %d of %d objects", file, made, count)
		}
	}
}

func sorted(t *testing.T, objects []runtime.Object) []string {
	t.Helper()
	var all []string
	for _, object := range objects {
		text, err := sigsyaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	sort.Strings(all)
	return all
}

// Each of these breaks one promise, and is noticed.
func TestBrokenManifestsAreNoticed(t *testing.T) {
	none := intstr.FromInt(0)
	all := intstr.FromString("100%")
	for what, spoil := range map[string]func(c *central){
		"no preStop":            func(c *central) { c.deployment.Spec.Template.Spec.Containers[0].Lifecycle = nil },
		"killed while draining": func(c *central) { *c.deployment.Spec.Template.Spec.TerminationGracePeriodSeconds = 25 },
		"another path": func(c *central) {
			c.deployment.Spec.Template.Spec.Containers[0].ReadinessProbe.HTTPGet.Path = "/ready"
		},
		"no port":              func(c *central) { c.deployment.Spec.Template.Spec.Containers[0].Ports = nil },
		"one node":             func(c *central) { c.deployment.Spec.Template.Spec.TopologySpreadConstraints = nil },
		"other pods":           func(c *central) { c.service.Spec.Selector["app.kubernetes.io/name"] = "other" },
		"budget of other pods": func(c *central) { c.budget.Spec.Selector.MatchLabels["app.kubernetes.io/name"] = "other" },
		"a budget of nothing":  func(c *central) { c.budget.Spec.MaxUnavailable = &none },
		"a budget of all":      func(c *central) { c.budget.Spec.MaxUnavailable = &all },
		"a budget that keeps":  func(c *central) { c.budget.Spec.UnhealthyPodEvictionPolicy = nil },
		"memory without bound": func(c *central) {
			c.config.Data["lockkeeper.yaml"] = strings.Replace(c.config.Data["lockkeeper.yaml"], "request_memory_max: 512", "", 1)
		},
		"connections for ever": func(c *central) {
			c.config.Data["lockkeeper.yaml"] = strings.Replace(c.config.Data["lockkeeper.yaml"], "max_connection_age: 5m", "", 1)
		},
	} {
		var made central
		for _, each := range kustomized(t, "central") {
			made.add(each)
		}
		spoil(&made)
		if !fails(t, func(inner testing.TB) { checkCentral(inner, made) }) {
			t.Errorf("%s is not noticed", what)
		}
	}
}

// recorder notes that a check fails, instead of failing the test.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Error(...interface{})          { r.failed = true }
func (r *recorder) Errorf(string, ...interface{}) { r.failed = true }
func (r *recorder) Fatal(...interface{}) {
	r.failed = true
	goruntime.Goexit()
}
func (r *recorder) Fatalf(format string, arguments ...interface{}) { r.Fatal() }

// fails says whether the check fails.
func fails(t *testing.T, check func(testing.TB)) bool {
	t.Helper()
	made := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // Fatal ends its goroutine.
		defer close(done)
		check(made)
	}()
	<-done
	return made.failed
}
