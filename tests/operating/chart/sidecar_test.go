// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	// A chart that depends on ours, as an application team would write it. docs/operating/sidecar.md shows its files.
	applicationFolder = "application"
	socket            = "unix:/run/lockkeeper/lockkeeper.sock"
)

type object = map[string]interface{}

func restartPolicyOf(container corev1.Container) string {
	if container.RestartPolicy == nil {
		return ""
	}
	return string(*container.RestartPolicy)
}

// loadApplication does what `helm dependency build` does: it puts the chart that Chart.yaml names below the application's.
func loadApplication(t *testing.T) *chart.Chart {
	t.Helper()
	application, err := loader.LoadDir(applicationFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range application.Metadata.Dependencies {
		if !strings.HasPrefix(dependency.Repository, "file://") {
			t.Fatalf("%s is not in the tree: %s", dependency.Name, dependency.Repository)
		}
		loaded, err := loader.LoadDir(filepath.Join(applicationFolder, strings.TrimPrefix(dependency.Repository, "file://")))
		if err != nil {
			t.Fatal(err)
		}
		application.AddDependency(loaded)
	}
	return application
}

type workload struct {
	kind string
	pod  corev1.PodTemplateSpec
}

// What the application's chart makes.
type release struct {
	workloads map[string]workload
	config    *corev1.ConfigMap
}

func decode(t *testing.T, rendered map[string]string) release {
	t.Helper()
	decoder := strictly(t)
	made := release{workloads: map[string]workload{}}
	for name, text := range rendered {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for _, document := range documents(t, text) {
			decoded, _, err := decoder.Decode(document, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			switch decoded := decoded.(type) {
			case *appsv1.Deployment:
				checkSelector(t, decoded)
				made.workloads["Deployment"] = workload{"Deployment", decoded.Spec.Template}
			case *batchv1.CronJob:
				made.workloads["CronJob"] = workload{"CronJob", decoded.Spec.JobTemplate.Spec.Template}
			case *corev1.ConfigMap:
				if made.config != nil {
					t.Errorf("two config maps")
				}
				made.config = decoded
			default:
				t.Errorf("nobody asked for this:\n%s", document)
			}
		}
	}
	if len(made.workloads) != 2 || made.config == nil {
		t.Fatalf("not a Deployment, a CronJob and a ConfigMap: %v", rendered)
	}
	return made
}

// renderApplication sets these values of our chart in the application's values.
func renderApplication(t *testing.T, lockkeeper object) (map[string]string, error) {
	t.Helper()
	return renderChart(t, loadApplication(t), object{"lockkeeper": lockkeeper}, "v1.29.0")
}

func made(t *testing.T, lockkeeper object) release {
	t.Helper()
	rendered, err := renderApplication(t, lockkeeper)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, rendered)
}

func TestRenderedSidecarIsWhatKubernetesAndTheDaemonTake(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(applicationFolder, "ci", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("too few values: %v %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			values, err := chartutil.ReadValuesFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rendered, err := renderChart(t, loadApplication(t), values, "v1.29.0")
			if err != nil {
				t.Fatal(err)
			}
			all := decode(t, rendered)
			checkConfig(t, all.config)
			for _, workload := range all.workloads {
				checkVolumes(t, workload.pod.Spec)
				checkSidecar(t, workload, all.config.Name)
				checkMemory(t, all.config, workload.pod.Spec.InitContainers[0])
				checkApplication(t, workload)
			}
		})
	}
}

var overHTTP = regexp.MustCompile(`^lockkeeper health --http [0-9.]+:7601$`)

// The daemon starts before all that use locks, stops after them, is probed over HTTP, and may do nothing else.
func checkSidecar(t *testing.T, workload workload, config string) {
	t.Helper()
	pod := workload.pod.Spec
	daemon := pod.InitContainers[0]
	if daemon.Name != "lockkeeperd" || restartPolicyOf(daemon) != "Always" {
		t.Errorf("%s: the first init container is %s, restarted %q", workload.kind, daemon.Name, restartPolicyOf(daemon))
	}
	if !reflect.DeepEqual(daemon.Env, []corev1.EnvVar{{Name: "LOCKKEEPER_SERVER", Value: socket}}) {
		t.Errorf("%s: the command line does not find the daemon: %v", workload.kind, daemon.Env)
	}
	if daemon.LivenessProbe != nil {
		t.Errorf("%s: a restart does not help while Redis is away", workload.kind)
	}
	for name, probe := range map[string]*corev1.Probe{"startup": daemon.StartupProbe, "readiness": daemon.ReadinessProbe} {
		if probe == nil || probe.Exec == nil || !overHTTP.MatchString(strings.Join(probe.Exec.Command, " ")) {
			t.Errorf("%s: the %s probe does not ask over HTTP: %v", workload.kind, name, probe)
		}
	}
	if daemon.StartupProbe != nil && daemon.StartupProbe.FailureThreshold < 1000000 {
		t.Errorf("%s: the startup probe gives up, and restarts the daemon", workload.kind)
	}
	security, yes, no := daemon.SecurityContext, true, false
	wanted := &corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		RunAsUser:    security.RunAsUser, RunAsGroup: security.RunAsUser, RunAsNonRoot: &yes,
		ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !reflect.DeepEqual(security, wanted) || security.RunAsUser == nil || *security.RunAsUser == 0 {
		t.Errorf("%s: the daemon may do more than it needs: %v", workload.kind, security)
	}
	if daemon.Resources.Requests.Memory().IsZero() || daemon.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: the daemon has no bounds: %v", workload.kind, daemon.Resources)
	}
	for _, volume := range pod.Volumes {
		switch volume.Name {
		case "lockkeeper-socket":
			if volume.EmptyDir == nil || volume.EmptyDir.Medium != corev1.StorageMediumMemory || volume.EmptyDir.SizeLimit == nil {
				t.Errorf("%s: the socket is kept in %v", workload.kind, volume.VolumeSource)
			}
		case "lockkeeper-config":
			if volume.ConfigMap == nil || volume.ConfigMap.Name != config {
				t.Errorf("%s: the configuration is not that of the release: %v", workload.kind, volume.VolumeSource)
			}
		}
	}
	for _, mount := range daemon.VolumeMounts {
		if mount.ReadOnly == (mount.Name == "lockkeeper-socket") {
			t.Errorf("%s: the daemon mounts %s read-only: %v", workload.kind, mount.Name, mount.ReadOnly)
		}
	}
	if workload.pod.Annotations["lockkeeper/config"] == "" {
		t.Errorf("%s: a changed setting would not reach its pods", workload.kind)
	}
}

// Each container beside the daemon finds the socket, and the pod's init containers come after the daemon.
func checkApplication(t *testing.T, workload workload) {
	t.Helper()
	pod := workload.pod.Spec
	for _, container := range append(append([]corev1.Container{}, pod.InitContainers[1:]...), pod.Containers...) {
		found := false
		for _, variable := range container.Env {
			found = found || variable.Name == "LOCKKEEPER_SERVER" && variable.Value == socket
		}
		if !found {
			t.Errorf("%s: %s is not told where the daemon is: %v", workload.kind, container.Name, container.Env)
		}
		found = false
		for _, mount := range container.VolumeMounts {
			found = found || mount.Name == "lockkeeper-socket" && mount.MountPath == filepath.Dir(strings.TrimPrefix(socket, "unix:")) && mount.ReadOnly
			if mount.Name != "lockkeeper-socket" && strings.HasPrefix(mount.Name, "lockkeeper-") {
				t.Errorf("%s: %s sees %s, which is the daemon's", workload.kind, container.Name, mount.Name)
			}
		}
		if !found {
			t.Errorf("%s: %s does not see the socket: %v", workload.kind, container.Name, container.VolumeMounts)
		}
	}
}

func TestSidecarTakesItsValues(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	all := made(t, object{
		"image":        object{"repository": "other", "tag": "7", "digest": digest},
		"redis":        object{"caSecret": "redis-ca", "passwordKey": "pass"},
		"drainSeconds": 7,
		"sidecar":      object{"runAsUser": 1234, "applicationSeconds": 100, "resources": object{"limits": object{"memory": "99Mi"}}},
	})
	for _, workload := range all.workloads {
		pod := workload.pod.Spec
		daemon := pod.InitContainers[0]
		if daemon.Image != "other@"+digest {
			t.Errorf("%s: the digest does not count: %s", workload.kind, daemon.Image)
		}
		if user := *daemon.SecurityContext.RunAsUser; user != 1234 {
			t.Errorf("%s: runs as %d", workload.kind, user)
		}
		if limit := daemon.Resources.Limits.Memory().String(); limit != "99Mi" {
			t.Errorf("%s: has %s", workload.kind, limit)
		}
		if grace := *pod.TerminationGracePeriodSeconds; grace != 100+7+10 {
			t.Errorf("%s: has %d s to end", workload.kind, grace)
		}
		secrets := map[string]string{}
		for _, volume := range pod.Volumes {
			if volume.Secret != nil {
				secrets[volume.Name] = volume.Secret.SecretName
			}
			if volume.Name == "lockkeeper-redis" && volume.Secret.Items[0].Key != "pass" {
				t.Errorf("%s: the password is %v", workload.kind, volume.Secret.Items)
			}
		}
		if !reflect.DeepEqual(secrets, map[string]string{"lockkeeper-redis": "lockkeeper-redis", "lockkeeper-redis-ca": "redis-ca"}) {
			t.Errorf("%s: has the secrets %v", workload.kind, secrets)
		}
	}
	for _, text := range []string{"timeout: 7s", "- " + socket, "redis_tls_ca_file: /run/secrets/lockkeeper/redis-ca/ca.crt"} {
		if !strings.Contains(all.config.Data["lockkeeper.yaml"], text) {
			t.Errorf("not %q in:\n%s", text, all.config.Data["lockkeeper.yaml"])
		}
	}
	image := made(t, object{"image": object{"tag": "7"}}).workloads["Deployment"].pod.Spec.InitContainers[0].Image
	if image != "REGISTRY/lockkeeper:7" {
		t.Errorf("the tag does not count: %s", image)
	}
}

// Whether the application is in service while Redis is away is its own decision. When it starts is not.
func TestSidecarWithoutReadinessLeavesThePodInService(t *testing.T) {
	for _, workload := range made(t, object{"sidecar": object{"readiness": false}}).workloads {
		daemon := workload.pod.Spec.InitContainers[0]
		if daemon.ReadinessProbe != nil || daemon.StartupProbe == nil || daemon.LivenessProbe != nil {
			t.Errorf("%s: not the startup probe alone: %v", workload.kind, daemon)
		}
	}
}

// The network of the pod is not opened, unless the values say so.
func TestSidecarIsProbedWhereItListens(t *testing.T) {
	for http, wanted := range map[string]string{
		"0.0.0.0:7611": "--http 0.0.0.0:7611", "": "--server " + socket, "tls://0.0.0.0:7601": "--server " + socket,
	} {
		all := made(t, object{"config": object{"server": object{"http_listen": http}}})
		probe := all.workloads["Deployment"].pod.Spec.InitContainers[0].ReadinessProbe
		if got := strings.Join(probe.Exec.Command, " "); got != "lockkeeper health "+wanted {
			t.Errorf("http_listen %q is probed by %q", http, got)
		}
	}
}

func TestSidecarListensOnItsSocketOnly(t *testing.T) {
	server := settings(t, made(t, object{}).config)["server"]
	if !reflect.DeepEqual(server["listen"], []interface{}{socket}) || server["http_listen"] != nil {
		t.Errorf("listens otherwise: %v", server)
	}
}

func TestSidecarsAreKeptForSettingsThatTheDaemonReadsAgain(t *testing.T) {
	annotation := func(config object) string {
		return made(t, object{"config": config}).workloads["Deployment"].pod.Annotations["lockkeeper/config"]
	}
	before := annotation(object{})
	if annotation(object{"lease": object{"max_ttl": "5m"}}) != before {
		t.Error("lease.max_ttl makes other pods")
	}
	if annotation(object{"store": object{"connections": 3}}) == before {
		t.Error("store.connections makes no other pods")
	}
}

// Two daemons of one pod, or of two charts of one release, have names of their own by their aliases.
func TestSidecarIsFoundByItsAlias(t *testing.T) {
	application := loadApplication(t)
	application.Metadata.Dependencies[0].Alias = "locks"
	application.Values["locks"] = application.Values["lockkeeper"]
	_, err := renderChart(t, application, object{}, "v1.29.0")
	checkSays(t, err, "if it has an alias, give .Subcharts.ALIAS to the template")

	call := regexp.MustCompile(`(include "lockkeeper\.sidecar\.\w+") \.`)
	for _, template := range application.Templates {
		template.Data = call.ReplaceAll(template.Data, []byte("$1 .Subcharts.locks"))
	}
	rendered, err := renderChart(t, application, object{}, "v1.29.0")
	if err != nil {
		t.Fatal(err)
	}
	all := decode(t, rendered)
	if all.config.Name != "demo-locks" {
		t.Errorf("the configuration is %s", all.config.Name)
	}
	for _, workload := range all.workloads {
		checkSidecar(t, workload, "demo-locks")
	}
}

func TestWrongValuesOfSidecarsAreRefusedByName(t *testing.T) {
	for says, values := range map[string]object{
		"mode":                                  {"mode": "both"},
		"sidecar.runAsUser":                     {"sidecar": object{"runAsUser": 0}},
		"sidecar.applicationSeconds":            {"sidecar": object{"applicationSeconds": "30s"}},
		"sidecar.readiness":                     {"sidecar": object{"readiness": "no"}},
		"sidecar":                               {"sidecar": object{"liveness": true}},
		"redis.url":                             {"redis": object{"url": "http://redis"}},
		"redis.url must be given":               {"redis": object{"url": ""}},
		"lockkeeper.mode must be sidecar":       {"mode": "central"},
		"tls.enabled needs mode: central":       {"tls": object{"enabled": true, "secret": "certificate"}},
		"serviceMonitor.enabled needs mode":     {"serviceMonitor": object{"enabled": true}},
		"nodeSelector needs mode: central":      {"nodeSelector": object{"kubernetes.io/arch": "amd64"}},
		"serviceAccount.name needs mode":        {"serviceAccount": object{"name": "locks"}},
		"config.server.listen is set by":        {"config": object{"server": object{"listen": "127.0.0.1:7600"}}},
		"config.drain.timeout is set by":        {"config": object{"drain": object{"timeout": "1m"}}},
		"config.store.redis_password_file is s": {"config": object{"store": object{"redis_password_file": "/password"}}},
	} {
		_, err := renderApplication(t, values)
		checkSays(t, err, says)
		if !strings.Contains(says, " ") {
			checkSays(t, err, "values don't meet the specifications of the schema")
		}
	}
}

func TestSidecarNeedsAReleaseThatStartsIt(t *testing.T) {
	for version, refused := range map[string]bool{
		"v1.25.0": true, "v1.28.9": true, "v1.28.9-gke.100": true, "v1.29.0": false, "v1.29.0-gke.100": false, "v1.34.2": false,
	} {
		_, err := renderChart(t, loadApplication(t), object{}, version)
		if refused {
			checkSays(t, err, "mode: sidecar needs Kubernetes 1.29 or later, which starts native sidecars; this is v1.2")
		} else if err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	if _, err := renderChart(t, load(t), object{"redis": object{"url": "redis://redis:6379"}}, "v1.25.0"); err != nil {
		t.Errorf("the central service needs no sidecars: %v", err)
	}
}

// A chart may have a value that leaves the daemon out. Then its templates must not ask for it.
func TestSidecarThatIsSwitchedOffIsMissed(t *testing.T) {
	application := loadApplication(t)
	application.Metadata.Dependencies[0].Condition = "lockkeeper.enabled"
	_, err := renderChart(t, application, object{"lockkeeper": object{"enabled": false}}, "v1.29.0")
	checkSays(t, err, "lockkeeper.sidecar.")
}

// The manifests of deploy/kubernetes and the chart say the same of the daemon.
func TestSidecarIsThatOfTheManifests(t *testing.T) {
	pod := made(t, object{"image": object{"repository": "lockkeeper", "tag": "latest"}}).workloads["Deployment"].pod.Spec
	text, err := os.ReadFile("../../../deploy/kubernetes/sidecar/sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var manifest appsv1.Deployment
	if err := sigsyaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatal(err)
	}
	written := manifest.Spec.Template.Spec
	if *pod.TerminationGracePeriodSeconds != *written.TerminationGracePeriodSeconds {
		t.Errorf("%d s to end, and %d s", *pod.TerminationGracePeriodSeconds, *written.TerminationGracePeriodSeconds)
	}
	if !reflect.DeepEqual(pod.Containers[0].Env, written.Containers[0].Env) {
		t.Errorf("%v and %v", pod.Containers[0].Env, written.Containers[0].Env)
	}
	common := func(container corev1.Container) string {
		container.Env, container.VolumeMounts, container.ImagePullPolicy = nil, nil, ""
		container.SecurityContext.RunAsGroup = nil
		text, err := sigsyaml.Marshal(container)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if ours, theirs := common(pod.InitContainers[0]), common(written.InitContainers[0]); ours != theirs {
		t.Errorf("the chart makes\n%s\nand the manifest is\n%s", ours, theirs)
	}
}

func TestNotesOfASidecarNameNoDeployment(t *testing.T) {
	rendered, err := render(t, object{"mode": "sidecar", "redis": object{"url": "redis://redis:6379"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range rendered {
		switch filepath.Base(name) {
		case "NOTES.txt":
			if !strings.Contains(text, "has the configuration of sidecars") || strings.Contains(text, "deployment/") {
				t.Errorf("the notes say:\n%s", text)
			}
		case "configmap.yaml":
		default:
			if strings.TrimSpace(text) != "" {
				t.Errorf("%s is not empty:\n%s", name, text)
			}
		}
	}
}
