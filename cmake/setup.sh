# Shared by bench/run and tests/run: what Debian 12 must have, and how a tree is configured and built. Sourced by bash
# with the working directory at the repository root.

# The one list of packages. Optional parts of the build are here too: the scripts give the whole.
build_packages=(
  g++ cmake ninja-build pkg-config ccache
  libabsl-dev libhwy-dev nlohmann-json3-dev libcli11-dev libgtest-dev libgmock-dev
  libhwloc-dev libpugixml-dev coinor-libclp-dev libbenchmark-dev
  libucx-dev libibverbs-dev
  libopenmpi-dev openmpi-bin libmpich-dev mpich
)
# What the tests need beyond: format, lint, fuzz targets, emulated servers and the kernels for AMD GPUs (hipcc: 66 MB).
# The versions are Debian 12's (14). nvcc is not in Debian: it is used where it is found.
test_packages=(clang clang-format clang-tidy libclang-rt-14-dev iproute2 hipcc)

say() { printf '\n== %s\n' "$*"; }

# install_packages NAME...: asks apt only for what dpkg does not have. Without root and without a silent sudo it prints
# the exact command and fails.
install_packages() {
  if ! command -v dpkg >/dev/null || ! command -v apt-get >/dev/null; then
    echo "Not a Debian: nothing is installed here; configuring says what is missing." >&2
    return 0
  fi
  local missing=() name
  for name in "$@"; do
    dpkg -s "$name" 2>/dev/null | grep -q '^Status: .* installed$' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    else
      {
        echo "These packages are missing and this is neither root nor a user with a silent sudo. Run once:"
        echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
      } >&2
      return 1
    fi
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -q || echo "apt-get update failed; trying with the lists at hand" >&2
  "${as_root[@]}" apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}"
}

# build_tree PRESET [TARGET]: configures (again, which is quick) and builds with progress. Joined with && because a
# caller that tests the result switches `set -e` off in here.
build_tree() {
  say "configuring preset $1" &&
    cmake --preset "$1" &&
    say "building preset $1${2:+, target $2}" &&
    cmake --build --preset "$1" ${2:+--target "$2"}
}
