{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "lockkeeper.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* One release may have the chart twice, by aliases, each with a Redis of its own. */}}
{{- define "lockkeeper.selector" -}}
app.kubernetes.io/name: lockkeeper
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Chart.Name }}
{{- end }}

{{- define "lockkeeper.labels" -}}
{{ include "lockkeeper.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "lockkeeper.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "lockkeeper.tlsSecret" -}}
{{ .Values.tls.secret | default (printf "%s-tls" (include "lockkeeper.name" .)) }}
{{- end }}

{{- define "lockkeeper.socket" -}}
unix:/run/lockkeeper/lockkeeper.sock
{{- end }}

{{/* What is wrong with the values that the schema cannot say. */}}
{{- define "lockkeeper.check" -}}
{{- if not .Values.redis.url }}{{ fail "redis.url must be given: the Redis that all daemons share, such as redis://redis:6379" }}{{ end }}
{{- if and .Values.tls.enabled (not .Values.tls.secret) (not .Values.tls.certManager.enabled) }}{{ fail "tls.enabled needs tls.secret, or tls.certManager.enabled, which makes it" }}{{ end }}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuer.name) }}{{ fail "tls.certManager.issuer.name must be given" }}{{ end }}
{{- include "lockkeeper.checkStore" . }}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) }}{{ fail "autoscaling.minReplicas is more than autoscaling.maxReplicas" }}{{ end }}
{{- if eq .Values.mode "sidecar" }}
{{- $kubernetes := .Capabilities.KubeVersion.Version }}
{{- if semverCompare "<1.29.0-0" $kubernetes }}{{ fail (printf "mode: sidecar needs Kubernetes 1.29 or later, which starts native sidecars; this is %s. With helm template: --kube-version 1.29.0" $kubernetes) }}{{ end }}
{{- range list "tls" "autoscaling" "networkPolicy" "serviceMonitor" "prometheusRule" }}
{{- if (get $.Values .).enabled }}{{ fail (printf "%s.enabled needs mode: central" .) }}{{ end }}
{{- end }}
{{- range list "imagePullSecrets" "podAnnotations" "podLabels" "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- if get $.Values . }}{{ fail (printf "%s needs mode: central; with mode: sidecar the pod is that of your application" .) }}{{ end }}
{{- end }}
{{- if .Values.serviceAccount.name }}{{ fail "serviceAccount.name needs mode: central; with mode: sidecar the pod is that of your application" }}{{ end }}
{{- end }}
{{- end }}

{{/* Pods are replaced one after the other: daemons of both stores would run at the same time, and a lock could have two holders. */}}
{{- define "lockkeeper.checkStore" -}}
{{- $running := lookup "v1" "ConfigMap" .Release.Namespace (include "lockkeeper.name" .) }}
{{- if and $running (not .Values.redis.replace) }}
{{- $before := get (fromYaml (get $running.data "lockkeeper.yaml")) "store" }}
{{- $after := get (fromYaml (include "lockkeeper.config" .)) "store" }}
{{- $defaults := dict "redis" "" "key_prefix" "lk:" }}
{{- range list "redis" "key_prefix" }}
{{- if ne (get $before . | default (get $defaults .)) (get $after . | default (get $defaults .)) }}{{ fail (printf "store.%s would change while daemons run: some would use one store and some the other, and a lock could have two holders. End all daemons first, and wait for the longest lease (docs/operating/redis.md, Maintenance). redis.replace=true says that you have, or that it is the same store by another address" .) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Volumes of the daemon's files, and where it mounts them. Named so that they can stand beside those of an application. */}}
{{- define "lockkeeper.volumes" -}}
- name: lockkeeper-config
  configMap: {name: {{ include "lockkeeper.name" . }}}
{{- if .Values.redis.passwordSecret }}
- name: lockkeeper-redis
  secret:
    secretName: {{ .Values.redis.passwordSecret }}
    items: [{key: {{ .Values.redis.passwordKey }}, path: password}]
{{- end }}
{{- if .Values.redis.caSecret }}
- name: lockkeeper-redis-ca
  secret: {secretName: {{ .Values.redis.caSecret }}}
{{- end }}
{{- if .Values.redis.sentinelPasswordSecret }}
- name: lockkeeper-sentinel
  secret:
    secretName: {{ .Values.redis.sentinelPasswordSecret }}
    items: [{key: {{ .Values.redis.sentinelPasswordKey }}, path: password}]
{{- end }}
{{- if .Values.policy.tokensSecret }}
- name: lockkeeper-tokens
  secret: {secretName: {{ .Values.policy.tokensSecret }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "lockkeeper.volumeMounts" -}}
- {name: lockkeeper-config, mountPath: /etc/lockkeeper, readOnly: true}
{{- if .Values.redis.passwordSecret }}
- {name: lockkeeper-redis, mountPath: /run/secrets/lockkeeper/redis, readOnly: true}
{{- end }}
{{- if .Values.redis.caSecret }}
- {name: lockkeeper-redis-ca, mountPath: /run/secrets/lockkeeper/redis-ca, readOnly: true}
{{- end }}
{{- if .Values.redis.sentinelPasswordSecret }}
- {name: lockkeeper-sentinel, mountPath: /run/secrets/lockkeeper/sentinel, readOnly: true}
{{- end }}
{{- if .Values.policy.tokensSecret }}
- {name: lockkeeper-tokens, mountPath: /run/secrets/lockkeeper/tokens, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What the values say of lockkeeper.yaml, as an object. */}}
{{- define "lockkeeper.own" -}}
{{- $store := dict "redis" .Values.redis.url }}
{{- if .Values.redis.passwordSecret }}{{ $_ := set $store "redis_password_file" "/run/secrets/lockkeeper/redis/password" }}{{ end }}
{{- if .Values.redis.caSecret }}{{ $_ := set $store "redis_tls_ca_file" "/run/secrets/lockkeeper/redis-ca/ca.crt" }}{{ end }}
{{- if .Values.redis.sentinelPasswordSecret }}{{ $_ := set $store "sentinel_password_file" "/run/secrets/lockkeeper/sentinel/password" }}{{ end }}
{{- $server := dict "listen" (list (include "lockkeeper.socket" .)) }}
{{- if eq .Values.mode "central" }}
{{- /* HTTP, for probes and metrics, is without TLS. */}}
{{- $_ := set $server "http_listen" "0.0.0.0:7601" }}
{{- $_ := set $server "allow_insecure" true }}
{{- $_ := set $server "max_connection_age" (printf "%ds" (int .Values.connectionAgeSeconds)) }}
{{- if .Values.tls.enabled }}
{{- $scheme := ternary "mtls" "tls" .Values.tls.mutual }}
{{- $_ := set $server "listen" (list (printf "%s://0.0.0.0:7600" $scheme) (include "lockkeeper.socket" .)) }}
{{- $_ := set $server "tls_certificate_file" "/run/secrets/lockkeeper/tls/tls.crt" }}
{{- $_ := set $server "tls_key_file" "/run/secrets/lockkeeper/tls/tls.key" }}
{{- if .Values.tls.mutual }}{{ $_ := set $server "tls_client_ca_file" "/run/secrets/lockkeeper/tls/ca.crt" }}{{ end }}
{{- else }}
{{- $_ := set $server "listen" (list "0.0.0.0:7600") }}
{{- end }}
{{- end }}
{{- $access := dict }}
{{- if .Values.policy.file }}{{ $_ := set $access "policy_file" "/etc/lockkeeper/policy.yaml" }}{{ end }}
{{- if .Values.policy.tokensSecret }}{{ $_ := set $access "tokens_file" "/run/secrets/lockkeeper/tokens/tokens.yaml" }}{{ end }}
{{- $own := dict "server" $server "store" $store "drain" (dict "timeout" (printf "%ds" (int .Values.drainSeconds))) }}
{{- if $access }}{{ $_ := set $own "access" $access }}{{ end }}
{{- toYaml $own }}
{{- end }}

{{/* Changes with each setting that the daemon reads at its start only. The others arrive in the running pods. */}}
{{- define "lockkeeper.startConfig" -}}
{{- $reloaded := list "lease.default_ttl" "lease.max_ttl" "lease.by_prefix" "waiters.max_wait" "waiters.per_lock_max" "waiters.per_principal_max" "waiters.slow_wait" "log.level" }}
{{- $config := fromYaml (include "lockkeeper.config" .) }}
{{- range $reloaded }}
{{- $key := splitList "." . }}
{{- $settings := get $config (first $key) }}
{{- if $settings }}{{ $_ := unset $settings (last $key) }}{{ end }}
{{- if not $settings }}{{ $_ := unset $config (first $key) }}{{ end }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* Other settings make other pods, but for those that the daemon reads again, as it does certificates, passwords, policy and tokens. */}}
{{- define "lockkeeper.annotation" -}}
lockkeeper/config: {{ include "lockkeeper.startConfig" . | sha256sum | trunc 32 | quote }}
{{- end }}

{{/* lockkeeper.yaml: what the values say, and what `config` says besides. gRPC may take half of the memory that the pods have by default, and
the waiters of one principal most of that: docs/reference/limits.md, Memory. */}}
{{- define "lockkeeper.config" -}}
{{- $own := fromYaml (include "lockkeeper.own" .) }}
{{- range $section, $settings := $own }}
{{- range $key, $value := $settings }}
{{- if hasKey (get $.Values.config $section | default dict) $key }}{{ fail (printf "config.%s.%s is set by another value of this chart" $section $key) }}{{ end }}
{{- end }}
{{- end }}
{{- $isCentral := eq .Values.mode "central" }}
{{- $server := dict "request_memory_max" (ternary 512 128 $isCentral) }}
{{- $waiters := dict "per_principal_max" (ternary 25000 5000 $isCentral) }}
{{- toYaml (merge $own (deepCopy .Values.config) (dict "log" (dict "format" "json") "server" $server "waiters" $waiters)) }}
{{- end }}
