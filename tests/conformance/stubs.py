# SPDX-License-Identifier: Apache-2.0
"""The service's messages and stubs for Python."""

import os
import shutil
import subprocess


def generate(root, folder):
    """The messages and stubs for Python, made by protoc, into the folder."""
    protos = ["google/rpc/status.proto", "google/rpc/error_details.proto"]
    for package in ("lockkeeper/v1", "lockkeeper/admin/v1"):
        protos += sorted(f"{package}/{name}" for name in os.listdir(f"{root}/proto/{package}") if name.endswith(".proto"))
    plugin = shutil.which("grpc_python_plugin") or "/usr/bin/grpc_python_plugin"
    subprocess.run(["protoc", f"-I{root}/proto", f"--python_out={folder}", f"--plugin=protoc-gen-grpc_python={plugin}",
                    f"--grpc_python_out={folder}", *protos], check=True)
