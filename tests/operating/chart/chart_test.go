// SPDX-License-Identifier: Apache-2.0

// Package chart renders deploy/helm/lockkeeper with the values of its folder ci, and looks whether Kubernetes would take what comes out:
// strictly, with the API types of a recent release of Kubernetes (go.mod) and of the first one that has native sidecars (older.mod), and with
// those of the Prometheus operator. The configuration is checked by lockkeeperd (LOCKKEEPERD), the alerts by promtool.
package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const chartFolder = "../../../deploy/helm/lockkeeper"

func load(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func render(t *testing.T, values map[string]interface{}) (map[string]string, error) {
	t.Helper()
	return renderChart(t, load(t), values, "v1.29.0")
}

func renderChart(t *testing.T, loaded *chart.Chart, values map[string]interface{}, kubernetes string) (map[string]string, error) {
	t.Helper()
	all, err := renderValues(t, loaded, values, kubernetes)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, all)
}

func renderValues(t *testing.T, loaded *chart.Chart, values map[string]interface{}, kubernetes string) (chartutil.Values, error) {
	t.Helper()
	capabilities := chartutil.DefaultCapabilities.Copy()
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	capabilities.KubeVersion = *version
	if err := chartutil.ProcessDependencies(loaded, values); err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "demo", Namespace: "locks", IsInstall: true}
	// Checks the values against the schemas of the chart and of those it depends on.
	return chartutil.ToRenderValues(loaded, values, options, capabilities)
}

func documents(t *testing.T, text string) [][]byte {
	t.Helper()
	var all [][]byte
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(document)) > 0 {
			all = append(all, document)
		}
	}
}

// run gives the program a file with this text as its last argument.
func run(t *testing.T, text, program string, arguments ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command(program, append(arguments, file)...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s\n%s", program, err, output, text)
	}
}

// The daemon reads what the pod gives it, but for the folders of the pod.
func checkConfig(t *testing.T, config *corev1.ConfigMap) {
	t.Helper()
	daemon := os.Getenv("LOCKKEEPERD")
	if daemon == "" {
		t.Fatal("LOCKKEEPERD names no daemon")
	}
	place := t.TempDir()
	certificate, key := filepath.Join(place, "tls.crt"), filepath.Join(place, "tls.key")
	output, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-subj", "/CN=lockkeeper", "-keyout", key, "-out", certificate).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl: %v: %s", err, output)
	}
	for name, text := range map[string]string{"password": "secret\n", "tokens.yaml": "tokens: []\n", "policy.yaml": config.Data["policy.yaml"]} {
		if err := os.WriteFile(filepath.Join(place, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := strings.NewReplacer(
		"/run/secrets/lockkeeper/redis/password", filepath.Join(place, "password"),
		"/run/secrets/lockkeeper/password", filepath.Join(place, "password"),
		"/run/secrets/lockkeeper/redis-ca/ca.crt", certificate,
		"/run/secrets/lockkeeper/sentinel/password", filepath.Join(place, "password"),
		"/run/secrets/lockkeeper/tls/tls.crt", certificate,
		"/run/secrets/lockkeeper/tls/tls.key", key,
		"/run/secrets/lockkeeper/tls/ca.crt", certificate,
		"/run/secrets/lockkeeper/tokens/tokens.yaml", filepath.Join(place, "tokens.yaml"),
		"/etc/lockkeeper/policy.yaml", filepath.Join(place, "policy.yaml"))
	run(t, files.Replace(config.Data["lockkeeper.yaml"]), daemon, "--check-config", "--config")
}

// Every volume that a container mounts is there, and every volume is mounted.
func checkVolumes(t testing.TB, pod corev1.PodSpec) {
	t.Helper()
	volumes := map[string]bool{}
	for _, volume := range pod.Volumes {
		if _, known := volumes[volume.Name]; known {
			t.Errorf("there are two volumes %s", volume.Name)
		}
		volumes[volume.Name] = false
	}
	for _, container := range append(append([]corev1.Container{}, pod.InitContainers...), pod.Containers...) {
		for _, mount := range container.VolumeMounts {
			if _, known := volumes[mount.Name]; !known {
				t.Errorf("there is no volume %s", mount.Name)
			}
			volumes[mount.Name] = true
		}
	}
	for name, used := range volumes {
		if !used {
			t.Errorf("nobody mounts %s", name)
		}
	}
}

func checkDeployment(t testing.TB, deployment *appsv1.Deployment) {
	t.Helper()
	pod := deployment.Spec.Template.Spec
	checkVolumes(t, pod)
	security := pod.Containers[0].SecurityContext
	if !*security.ReadOnlyRootFilesystem || *security.AllowPrivilegeEscalation || !*pod.SecurityContext.RunAsNonRoot {
		t.Error("the container may do more than it needs")
	}
	checkSelector(t, deployment)
}

func checkSelector(t testing.TB, deployment *appsv1.Deployment) {
	t.Helper()
	for name, value := range deployment.Spec.Selector.MatchLabels {
		if deployment.Spec.Template.Labels[name] != value {
			t.Errorf("the deployment does not select its own pods: %s", name)
		}
	}
}

func TestRenderedChartIsWhatKubernetesAndTheDaemonTake(t *testing.T) {
	decoder := strictly(t)
	files, err := filepath.Glob(filepath.Join(chartFolder, "ci", "*.yaml"))
	if err != nil || len(files) < 12 {
		t.Fatalf("too few values: %v %v", files, err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			values, err := chartutil.ReadValuesFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rendered, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			var made central
			for name, text := range rendered {
				if strings.HasSuffix(name, ".txt") {
					continue
				}
				for _, document := range documents(t, text) {
					object, kind, err := decoder.Decode(document, nil, nil)
					switch {
					case runtime.IsNotRegisteredError(err):
						made.certificate = document
						kinds["Certificate"] = true
					case err != nil:
						t.Errorf("%s: %v\n%s", name, err, document)
					default:
						kinds[kind.Kind] = true
						made.add(object)
					}
				}
			}
			checkCentral(t, made)
			if made.monitor != nil {
				checkServiceMonitor(t, made.monitor, made)
			}
			if made.rules != nil {
				checkRules(t, made.rules)
			}
			if made.certificate != nil {
				checkCertificate(t, made.certificate, made)
			}
			checkConfig(t, made.config)
			if made.budget == nil && file != filepath.Join(chartFolder, "ci", "placement.yaml") {
				t.Error("no PodDisruptionBudget")
			}
		})
	}
	for _, kind := range []string{"Deployment", "Service", "ConfigMap", "PodDisruptionBudget", "HorizontalPodAutoscaler", "NetworkPolicy",
		"ServiceMonitor", "PrometheusRule", "Certificate"} {
		if !kinds[kind] {
			t.Errorf("no values make a %s", kind)
		}
	}
}

func TestWrongValuesAreRefusedByName(t *testing.T) {
	redis := map[string]interface{}{"url": "redis://redis:6379"}
	cases := []struct {
		values map[string]interface{}
		says   string
	}{
		{map[string]interface{}{}, "redis.url must be given"},
		{map[string]interface{}{"redis": map[string]interface{}{"url": "http://redis"}}, "redis.url"},
		{map[string]interface{}{"redis": redis, "replica": 2}, "replica"},
		{map[string]interface{}{"redis": redis, "tls": map[string]interface{}{"enabled": true}}, "tls.secret"},
		{map[string]interface{}{"redis": redis, "autoscaling": map[string]interface{}{"minReplicas": 10}}, "autoscaling.minReplicas"},
		{map[string]interface{}{"redis": redis, "config": map[string]interface{}{"store": map[string]interface{}{"redis": "redis://x"}}},
			"config.store.redis is set by another value"},
		{map[string]interface{}{"redis": redis, "replicas": 0}, "replicas"},
		{map[string]interface{}{"redis": redis, "config": map[string]interface{}{"locks": map[string]interface{}{}}}, "config"},
		{map[string]interface{}{"redis": redis, "image": map[string]interface{}{"digest": "sha256:1"}}, "image.digest"},
		{map[string]interface{}{"redis": redis, "prometheusRule": map[string]interface{}{"runbookUrl": ""}}, "prometheusRule.runbookUrl"},
	}
	for _, wrong := range cases {
		_, err := render(t, wrong.values)
		checkSays(t, err, wrong.says)
	}
}

// checkSays looks for the text in the error. Helm writes a value as redis.url, from 3.18 on as '/redis/url'.
func checkSays(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil {
		t.Errorf("accepted, and nobody says %q", text)
		return
	}
	newer := "'/" + strings.ReplaceAll(text, ".", "/") + "'"
	if !strings.Contains(err.Error(), text) && !strings.Contains(err.Error(), newer) {
		t.Errorf("%v does not say %q", err, text)
	}
}

// The pods are made anew when their template differs.
func TestPodsAreKeptForSettingsThatTheDaemonReadsAgain(t *testing.T) {
	deployment := func(config map[string]interface{}) string {
		t.Helper()
		rendered, err := render(t, map[string]interface{}{
			"redis": map[string]interface{}{"url": "redis://redis:6379"}, "config": config})
		if err != nil {
			t.Fatal(err)
		}
		return rendered["lockkeeper/templates/deployment.yaml"]
	}
	section := func(name string, settings ...string) map[string]interface{} {
		values := map[string]interface{}{}
		for i := 0; i < len(settings); i += 2 {
			values[settings[i]] = settings[i+1]
		}
		return map[string]interface{}{name: values}
	}
	before := deployment(map[string]interface{}{})
	for _, kept := range []map[string]interface{}{
		section("lease", "max_ttl", "5m", "default_ttl", "1m"),
		section("waiters", "max_wait", "1m", "per_lock_max", "7"),
		section("log", "level", "debug"),
	} {
		if deployment(kept) != before {
			t.Errorf("%v makes other pods", kept)
		}
	}
	for _, other := range []map[string]interface{}{
		section("store", "connections", "3"), section("log", "format", "text"),
		section("audit", "to", "stdout"),
	} {
		if deployment(other) == before {
			t.Errorf("%v makes no other pods", other)
		}
	}
}

// A release that does not know the field refuses the whole object.
func TestBudgetLetsPodsThatAreNotReadyGoWhereKubernetesCan(t *testing.T) {
	for version, can := range map[string]bool{"v1.25.0": false, "v1.26.9": false, "v1.27.0": true, "v1.27.3-gke.100": true, "v1.34.2": true} {
		rendered, err := renderChart(t, load(t), map[string]interface{}{"redis": map[string]interface{}{"url": "redis://redis:6379"}}, version)
		if err != nil {
			t.Fatal(err)
		}
		budget := rendered["lockkeeper/templates/pod_disruption_budget.yaml"]
		if strings.Contains(budget, "unhealthyPodEvictionPolicy: AlwaysAllow\n") != can {
			t.Errorf("%s gets\n%s", version, budget)
		}
	}
}

func TestDigestOfTheImageCountsBeforeItsTag(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for image, values := range map[string]map[string]interface{}{
		`"lockkeeper:0.1.0"`:                {},
		`"lockkeeper:7"`:                    {"tag": "7"},
		`"lockkeeper@` + digest + `"`:       {"tag": "7", "digest": digest},
		`"example.com/lock@` + digest + `"`: {"repository": "example.com/lock", "digest": digest},
	} {
		rendered, err := render(t, map[string]interface{}{"redis": map[string]interface{}{"url": "redis://redis:6379"}, "image": values})
		if err != nil {
			t.Fatal(err)
		}
		if deployment := rendered["lockkeeper/templates/deployment.yaml"]; !strings.Contains(deployment, "image: "+image+"\n") {
			t.Errorf("%v is not %s", values, image)
		}
	}
}

func TestNotesNameTheAddress(t *testing.T) {
	rendered, err := render(t, map[string]interface{}{"redis": map[string]interface{}{"url": "redis://redis:6379"}})
	if err != nil {
		t.Fatal(err)
	}
	notes := rendered["lockkeeper/templates/NOTES.txt"]
	for _, part := range []string{"demo-lockkeeper.locks:7600", "There is no TLS"} {
		if !strings.Contains(notes, part) {
			t.Error(fmt.Sprintf("not %q in:\n%s", part, notes))
		}
	}
}

func TestAlertsNameTheRunbookOfTheValues(t *testing.T) {
	for url, values := range map[string]map[string]interface{}{
		"docs/operating/runbook.md":      {"enabled": true},
		"https://git.example.com/run.md": {"enabled": true, "runbookUrl": "https://git.example.com/run.md"},
	} {
		rendered, err := render(t, map[string]interface{}{"redis": map[string]interface{}{"url": "redis://redis:6379"}, "prometheusRule": values})
		if err != nil {
			t.Fatal(err)
		}
		rules := rendered["lockkeeper/templates/prometheus_rule.yaml"]
		if alerts, urls := strings.Count(rules, "- alert: "), strings.Count(rules, "runbook_url: "+url+"#lockkeeper"); alerts < 30 || urls != alerts {
			t.Errorf("%d of %d alerts name their section of %s", urls, alerts, url)
		}
	}
}
