#!/usr/bin/env bash
# Installs what Lockstep is built from, and the packages named as arguments, on Debian 12 and Ubuntu
# 24.04. Does nothing when all of it is there already, so other scripts may call it freely.
set -euo pipefail

required=(
  cmake g++ ninja-build pkg-config
  libdnnl-dev ocl-icd-opencl-dev libfmt-dev libhdf5-dev libhwy-dev libpng-dev libssl-dev libzip-dev nlohmann-json3-dev zlib1g-dev
  libgtest-dev python3 python3-venv
  dataset-fashion-mnist
  "$@"
)
optional=(ccache) # builds again quickly

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "install_packages.sh: root or sudo is needed to install: ${missing[*]}" >&2
    exit 1
  fi
}

if ! command -v dpkg-query >/dev/null; then
  echo "install_packages.sh: knows Debian and Ubuntu only; elsewhere install: ${required[*]}" >&2
  exit 1
fi

missing=()
for package in "${required[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
as_root apt-get -qq update
as_root apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
for package in "${optional[@]}"; do
  is_installed "$package" || as_root apt-get -qq install -y --no-install-recommends "$package" \
    >/dev/null || echo "Going on without $package"
done
