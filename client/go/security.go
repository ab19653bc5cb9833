// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc/credentials"
)

// config reads the files.
func (t TLS) config() (*tls.Config, *Error) {
	config := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, invalid("tls.ca_file", err.Error())
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, invalid("tls.ca_file", "`"+t.CAFile+"` has no certificate in PEM form")
		}
	}
	switch {
	case t.CertificateFile == "" && t.KeyFile == "":
		return config, nil
	case t.KeyFile == "":
		return nil, invalid("tls.certificate_file", "needs its key too")
	case t.CertificateFile == "":
		return nil, invalid("tls.key_file", "needs its certificate too")
	}
	pair, err := tls.LoadX509KeyPair(t.CertificateFile, t.KeyFile)
	if err != nil {
		return nil, invalid("tls.certificate_file", err.Error())
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// reloadingTLS reads the files for each connection, so that whoever renews them need not restart the program.
type reloadingTLS struct {
	credentials.TransportCredentials // of the last files that could be read
	files                            TLS
}

func newReloadingTLS(files TLS) (*reloadingTLS, *Error) {
	config, err := files.config()
	if err != nil {
		return nil, err
	}
	return &reloadingTLS{credentials.NewTLS(config), files}, nil
}

func (r *reloadingTLS) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (
	net.Conn, credentials.AuthInfo, error,
) {
	with := r.TransportCredentials
	if config, err := r.files.config(); err == nil { // else they are being written: the old ones are right until then
		with = credentials.NewTLS(config)
	}
	return with.ClientHandshake(ctx, authority, conn)
}

func (r *reloadingTLS) Clone() credentials.TransportCredentials {
	return &reloadingTLS{r.TransportCredentials.Clone(), r.files}
}

// tokenFile is the bearer token of a file. It is read again when the file changes.
type tokenFile struct {
	path    string
	mu      sync.Mutex
	seen    os.FileInfo
	token   string
	version int
}

const tokenBytesMax = 64 << 10

func openTokenFile(path string) (*tokenFile, *Error) {
	if path == "" {
		return nil, nil
	}
	file := &tokenFile{path: path}
	if err := file.read(); err != nil {
		return nil, err
	}
	return file, nil
}

func (f *tokenFile) read() *Error {
	info, err := os.Stat(f.path)
	if err != nil {
		return invalid("token_file", err.Error())
	}
	if info.Size() > tokenBytesMax {
		return invalid("token_file", "`"+f.path+"` is longer than 64 KiB")
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return invalid("token_file", err.Error())
	}
	token := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case token == "":
		return invalid("token_file", "`"+f.path+"` is empty")
	case strings.Contains(token, "\n"):
		return invalid("token_file", "`"+f.path+"` has more than one line")
	}
	f.seen = info
	if token != f.token {
		f.token = token
		f.version++
	}
	return nil
}

// current returns the token, and a version that rises when it changes. What cannot be read at the moment counts as unchanged.
func (f *tokenFile) current() (string, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err == nil && (!os.SameFile(info, f.seen) || info.Size() != f.seen.Size() || !info.ModTime().Equal(f.seen.ModTime())) {
		_ = f.read() // it is being written: the next call finds it whole
	}
	return f.token, f.version
}

// versionNow is 0 without a file.
func (f *tokenFile) versionNow() int {
	if f == nil {
		return 0
	}
	_, version := f.current()
	return version
}

// GetRequestMetadata and RequireTransportSecurity make it credentials.PerRPCCredentials. Options.complete has checked where it may go.
func (f *tokenFile) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, _ := f.current()
	return map[string]string{"authorization": "Bearer " + token}, nil
}

func (f *tokenFile) RequireTransportSecurity() bool { return false }
