# Sourced by quickstart.sh and test.sh: installs what is missing, then configures the Release build in build/.
# Debian 12/13, Ubuntu 22.04/24.04. Quick when nothing is missing. Packages in $RIDGELINE_PACKAGES come on top.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(g++ cmake ninja-build libboost-dev libboost-program-options-dev libyaml-cpp-dev libeigen3-dev libfmt-dev
          nlohmann-json3-dev libsqlite3-dev catch2 libbenchmark-dev libjs-chart.js ${RIDGELINE_PACKAGES:-})

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  echo "Installing: ${missing[*]}" >&2
  if ((EUID == 0)); then as_root=(); else as_root=(sudo); fi
  "${as_root[@]}" apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
fi

jobs=$(nproc)
configure() {  # configure PRESET [ARGS...]
  local preset=$1
  shift
  cmake --preset "$preset" "$@" >build-configure.log 2>&1 || { cat build-configure.log >&2; rm -f build-configure.log; exit 1; }
  rm -f build-configure.log
}
