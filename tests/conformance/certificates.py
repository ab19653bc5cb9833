# SPDX-License-Identifier: Apache-2.0
"""The certificates of one case: a CA, the daemon's certificate, and a CA that signed nothing."""

import os
import subprocess


def _make(folder, name, *more):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", *more],
                   cwd=folder, check=True, capture_output=True)
    os.chmod(os.path.join(folder, f"{name}.key"), 0o600)


def make(folder):
    """Makes ca.pem, daemon.pem, daemon.key and stranger.pem."""
    _make(folder, "ca")
    _make(folder, "stranger")
    _make(folder, "daemon", "-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")
