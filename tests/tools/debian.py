"""Installs Debian packages, where that is possible and permitted."""

import os
import shutil
import subprocess


def may_install() -> bool:
    """Whether this is a Debian-like machine on which this user may install packages."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def install(*packages: str) -> bool:
    """Install these packages. The package lists are fetched only if the first try fails without them."""
    command = ["apt-get", "install", "--yes", "--no-install-recommends", "-qq", *packages]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for prepare in (None, ["apt-get", "update", "-qq"]):
        if prepare and subprocess.run(prepare, env=environment, check=False).returncode:
            return False
        if not subprocess.run(command, env=environment, check=False, capture_output=prepare is None, stdin=subprocess.DEVNULL).returncode:
            return True
    return False
