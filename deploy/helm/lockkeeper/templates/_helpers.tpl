{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "lockkeeper.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "lockkeeper.selector" -}}
app.kubernetes.io/name: lockkeeper
app.kubernetes.io/instance: {{ .Release.Name }}
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

{{/* lockkeeper.yaml: what the values say, over what `config` says. */}}
{{- define "lockkeeper.config" -}}
{{- $store := dict "redis" .Values.redis.url }}
{{- if .Values.redis.passwordSecret }}{{ $_ := set $store "redis_password_file" "/run/secrets/lockkeeper/redis/password" }}{{ end }}
{{- if .Values.redis.caSecret }}{{ $_ := set $store "redis_tls_ca_file" "/run/secrets/lockkeeper/redis-ca/ca.crt" }}{{ end }}
{{- $server := dict "http_listen" "0.0.0.0:7601" }}
{{- if .Values.tls.enabled }}
{{- $scheme := ternary "mtls" "tls" .Values.tls.mutual }}
{{- $_ := set $server "listen" (list (printf "%s://0.0.0.0:7600" $scheme) "unix:/run/lockkeeper/lockkeeper.sock") }}
{{- $_ := set $server "tls_certificate_file" "/run/secrets/lockkeeper/tls/tls.crt" }}
{{- $_ := set $server "tls_key_file" "/run/secrets/lockkeeper/tls/tls.key" }}
{{- if .Values.tls.mutual }}{{ $_ := set $server "tls_client_ca_file" "/run/secrets/lockkeeper/tls/ca.crt" }}{{ end }}
{{- else }}
{{- $_ := set $server "listen" (list "0.0.0.0:7600") }}
{{- end }}
{{- $_ := set $server "allow_insecure" true }}
{{- $access := dict }}
{{- if .Values.policy.file }}{{ $_ := set $access "policy_file" "/etc/lockkeeper/policy.yaml" }}{{ end }}
{{- if .Values.policy.tokensSecret }}{{ $_ := set $access "tokens_file" "/run/secrets/lockkeeper/tokens/tokens.yaml" }}{{ end }}
{{- $own := dict "server" $server "store" $store "log" (dict "format" "json") "drain" (dict "timeout" (printf "%ds" (int .Values.drainSeconds))) }}
{{- if $access }}{{ $_ := set $own "access" $access }}{{ end }}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) }}
{{- end }}
