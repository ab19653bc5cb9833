# SPDX-License-Identifier: Apache-2.0
"""Puts the protos of the service into the package, compiled to one descriptor set.

The package makes its messages from it at import. So one wheel works with every protobuf from 3.21
on, which code made by protoc would not: that wants a runtime of its own age.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent.resolve()
PROTOS = (
    "lockkeeper/admin/v1/admin_service.proto",
    "lockkeeper/v1/error_reason.proto",
    "lockkeeper/v1/lock.proto",
    "lockkeeper/v1/lock_service.proto",
    "google/rpc/error_details.proto",
    "google/rpc/status.proto",
)


def proto_folder() -> Path:
    packed = HERE / "proto"  # in an sdist
    return packed if packed.is_dir() else HERE.parent.parent / "proto"


def compile_protos(target: Path) -> None:
    arguments = ["-I", str(proto_folder()), "--include_imports", f"--descriptor_set_out={target}", *PROTOS]
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        from grpc_tools import protoc
    except ImportError:
        if shutil.which("protoc") is None:
            sys.exit("building lockkeeper needs grpcio-tools or protoc")
        subprocess.run(["protoc", *arguments], check=True)
        return
    include = Path(protoc.__file__).parent / "_proto"
    if protoc.main(["protoc", *arguments[:2], "-I", str(include), *arguments[2:]]) != 0:
        sys.exit("protoc could not compile the protos of lockkeeper")


class BuildWithProtos(build_py):
    def run(self) -> None:
        super().run()
        compile_protos(Path(self.build_lib) / "lockkeeper" / "protos.binpb")


class SdistWithProtos(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        for name in PROTOS:
            copy = Path(base_dir) / "proto" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(proto_folder() / name, copy)


setup(cmdclass={"build_py": BuildWithProtos, "sdist": SdistWithProtos})
