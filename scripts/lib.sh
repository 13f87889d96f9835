# Shared by the scripts of this folder; to be sourced.

set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What each package is for stands in docs/dependencies.md.
build_packages=(
  g++ cmake ninja-build
  libcli11-dev libfmt-dev nlohmann-json3-dev
  libhdf5-dev libtiff-dev zlib1g-dev libbz2-dev liblz4-dev libzstd-dev libssl-dev libxxhash-dev libfftw3-dev
  libopenblas-dev
  ocl-icd-opencl-dev opencl-clhpp-headers
  libopenmpi-dev
  libplplot-dev plplot-driver-cairo fonts-dejavu-core
  libprotobuf-dev protobuf-compiler libpugixml-dev libffi-dev uuid-dev
  libboost-filesystem-dev libboost-system-dev
)
# A vendor's XRT is used as it is; Debian's beside it would only be in its way.
vendor_xrt=''
for folder in "${XILINX_XRT:-}" /opt/xilinx/xrt; do
  [ -z "$folder" ] || [ ! -e "$folder/include/xrt/xrt_device.h" ] || vendor_xrt=${vendor_xrt:-$folder}
done
[ -n "$vendor_xrt" ] || build_packages+=(libxrt-dev)
test_packages=(
  libgtest-dev libgmock-dev clang-format clang python3-clang clang-19 clang-tidy-19 valgrind g++-aarch64-linux-gnu qemu-user-static
  python3 python3-venv python3-pytest python3-numpy python3-scipy python3-h5py python3-matplotlib
  python3-pyfai python3-fabio python3-silx python3-hdf5plugin bitshuffle hdf5-filter-plugin
  pocl-opencl-icd python3-pyopencl graphviz
  openmpi-bin iproute2
)

say() { printf '\n== %s\n' "$*"; }

# Installs those of the packages that are missing, and asks nothing.
install_packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  say "Installing packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Not root and no sudo: install these packages, then run this again." >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
