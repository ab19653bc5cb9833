{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- /*
Named templates for a chart that depends on this one with `mode: sidecar` and adds the daemon to its own pods. Each is given the root
scope of that chart; if the dependency has an alias, .Subcharts.ALIAS. docs/operating/sidecar.md shows where each belongs.
*/}}

{{/* For initContainers, before all that use locks. It starts before the other containers, and is stopped after they have ended. */}}
{{- define "lockkeeper.sidecar.container" -}}
{{- $scope := get .Subcharts "lockkeeper" | default . }}
{{- include "lockkeeper.sidecar.check" $scope }}
{{- with $scope -}}
- name: lockkeeperd
  image: {{ include "lockkeeper.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  restartPolicy: Always
  args: ["--config", "/etc/lockkeeper/lockkeeper.yaml"]
  # For the command line, by kubectl exec.
  env: {{- include "lockkeeper.serverVariable" . | nindent 4 }}
  # The application starts when the store answers. The threshold is never reached, and there is no liveness probe: a restart does not help
  # while Redis is away, and the new daemon does not know what Redis should have.
  startupProbe:
    exec: {command: {{ include "lockkeeper.sidecar.probe" . }}}
    periodSeconds: 1
    timeoutSeconds: 3
    failureThreshold: 1000000
  {{- if .Values.sidecar.readiness }}
  readinessProbe:
    exec: {command: {{ include "lockkeeper.sidecar.probe" . }}}
    periodSeconds: 5
    timeoutSeconds: 3
  {{- end }}
  resources: {{- toYaml .Values.sidecar.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: {{ int64 .Values.sidecar.runAsUser }}
    runAsGroup: {{ int64 .Values.sidecar.runAsUser }}
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
    seccompProfile: {type: RuntimeDefault}
  volumeMounts:
    - {name: lockkeeper-socket, mountPath: /run/lockkeeper}
    {{- include "lockkeeper.volumeMounts" . | nindent 4 }}
{{- end }}
{{- end }}

{{/* Over HTTP nobody needs rights: over the socket a policy refuses the details, and the audit trail has a record of each probe. */}}
{{- define "lockkeeper.sidecar.probe" -}}
{{- $http := dig "server" "http_listen" "127.0.0.1:7601" .Values.config }}
{{- if or (not $http) (contains "://" $http) }}[lockkeeper, health, --server, {{ include "lockkeeper.socket" . | quote }}]
{{- else }}[lockkeeper, health, --http, {{ $http | quote }}]
{{- end }}
{{- end }}

{{/* For volumes. */}}
{{- define "lockkeeper.sidecar.volumes" -}}
{{- $scope := get .Subcharts "lockkeeper" | default . }}
{{- include "lockkeeper.sidecar.check" $scope -}}
- name: lockkeeper-socket
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{ include "lockkeeper.volumes" $scope }}
{{- end }}

{{/* For volumeMounts of each container that uses locks. */}}
{{- define "lockkeeper.sidecar.volumeMounts" -}}
{{- $scope := get .Subcharts "lockkeeper" | default . }}
{{- include "lockkeeper.sidecar.check" $scope -}}
- {name: lockkeeper-socket, mountPath: /run/lockkeeper, readOnly: true}
{{- end }}

{{/* For env of each container that uses locks. */}}
{{- define "lockkeeper.sidecar.env" -}}
{{- $scope := get .Subcharts "lockkeeper" | default . }}
{{- include "lockkeeper.sidecar.check" $scope }}
{{- include "lockkeeper.serverVariable" $scope }}
{{- end }}

{{/* For annotations of the pods: settings that the daemon reads at its start only make other pods. */}}
{{- define "lockkeeper.sidecar.annotations" -}}
{{- $scope := get .Subcharts "lockkeeper" | default . }}
{{- include "lockkeeper.sidecar.check" $scope }}
{{- include "lockkeeper.annotation" $scope }}
{{- end }}

{{/* For terminationGracePeriodSeconds: the application has its time to stop, then the daemon drains and has some time to end. */}}
{{- define "lockkeeper.sidecar.gracePeriodSeconds" -}}
{{- $scope := get .Subcharts "lockkeeper" | default . }}
{{- include "lockkeeper.sidecar.check" $scope }}
{{- add $scope.Values.sidecar.applicationSeconds $scope.Values.drainSeconds 10 }}
{{- end }}

{{- define "lockkeeper.serverVariable" -}}
- {name: LOCKKEEPER_SERVER, value: {{ include "lockkeeper.socket" . | quote }}}
{{- end }}

{{/* Whether the scope is one of this chart, and made for it. */}}
{{- define "lockkeeper.sidecar.check" -}}
{{- if not (and (hasKey .Values "mode") (hasKey .Values "sidecar")) }}{{ fail (printf "chart %s has no dependency lockkeeper that is switched on; if it has an alias, give .Subcharts.ALIAS to the template" .Chart.Name) }}{{ end }}
{{- if ne .Values.mode "sidecar" }}{{ fail (printf "%s.mode must be sidecar for the templates lockkeeper.sidecar" .Chart.Name) }}{{ end }}
{{- end }}
