#!/usr/bin/env bash
# Installs the Debian packages that are missing for building, testing and running HIERA.
# Does nothing where all are there. Needs root or sudo only if something is missing.
set -euo pipefail

packages=(
  # Building.
  cmake ninja-build g++ make pkg-config ca-certificates
  librocksdb-dev libfmt-dev libcli11-dev libxxhash-dev libssl-dev libpng-dev
  # Testing and benchmarks.
  libgtest-dev libbenchmark-dev libxsmm-dev strace binutils python3
  # Running: compilers that candidates are built with, and the library space.
  clang-19 libopenblas0-pthread
)

# A package is there where dpkg says so, or where its program comes from elsewhere.
missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "These Debian packages are missing and neither root nor sudo is available to install" \
      "them: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
