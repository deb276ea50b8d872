#!/usr/bin/env bash
# Installs PJRT plugins for the kinds of devices named as arguments, where Lockstep finds them: a Python
# environment of its own below the cache folder. Does nothing for kinds that are there already.
#   scripts/install_plugins.sh xla_cpu          XLA on the processor, for tests
#   scripts/install_plugins.sh cuda             NVIDIA GPUs, with CUDA's libraries
#   scripts/install_plugins.sh cuda-compiler    the same plugin as a compiler only, no GPU needed
#   scripts/install_plugins.sh rocm | tpu       AMD GPUs, Google TPUs
set -euo pipefail
cd "$(dirname "$0")/.."

packages_of() {
  case "$1" in
    xla_cpu) echo lammps-jax-pjrt-cpu==0.11.2 ;;
    cuda) echo "jax-cuda13-pjrt==0.12.0.1 jax-cuda13-plugin[with-cuda]" ;;
    # What the compiler loads: assembler, linker and device library of CUDA's toolkit.
    cuda-compiler) echo jax-cuda13-pjrt==0.12.0.1 nvidia-nvjitlink==13.5.37 \
      nvidia-cuda-nvcc==13.5.37 nvidia-cuda-runtime==13.5.37 nvidia-nvvm==13.5.37 ;;
    rocm) echo jax-rocm7-pjrt ;;
    tpu) echo libtpu ;;
    *) echo "install_plugins.sh: knows xla_cpu, cuda, cuda-compiler, rocm and tpu: $1" >&2; exit 2 ;;
  esac
}

if [ $# -eq 0 ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi

# A relative XDG_CACHE_HOME counts as none, as the library has it.
case "${XDG_CACHE_HOME:-}" in
  /*) folder="$XDG_CACHE_HOME/lockstep/pjrt" ;;
  *) folder="$HOME/.cache/lockstep/pjrt" ;;
esac
for kind in "$@"; do
  packages=$(packages_of "$kind")
  done="$folder/installed-$kind"
  if [ "$(cat "$done" 2>/dev/null)" = "$packages" ]; then
    continue
  fi
  scripts/install_packages.sh
  echo "Installing the $kind plugin: $packages"
  [ -x "$folder/bin/pip" ] || python3 -m venv "$folder"
  # --no-deps: the plugins are plain libraries; what else they name is for Python programs.
  if [ "$kind" = cuda ]; then
    "$folder/bin/pip" install --quiet $packages
  else
    "$folder/bin/pip" install --quiet --no-deps $packages
  fi
  echo "$packages" > "$done"
done
