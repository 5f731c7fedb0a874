#!/bin/sh
# Installs the Debian packages that are missing (root), or prints the one line that does (not root, exit 1), and makes the
# Python environment build/venv of tests/requirements.txt. Does nothing, quickly, when everything is there.
set -eu
cd "$(dirname "$0")/.."

packages="cmake ninja-build g++ make pkg-config libgtest-dev libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev
libxxhash-dev libsodium-dev libhwloc-dev prometheus-cpp-dev libmicrohttpd-dev libncurses-dev
python3-venv python3-dev ca-certificates valgrind binutils"
# Daemons that tests start by themselves; without them those tests are skipped. Not where their installation would start them for good.
if [ "$(id -u)" -eq 0 ] && [ ! -d /run/systemd/system ]; then
  packages="$packages openssh-client openssh-server slurm-wlm munge iproute2"
fi

missing=
for package in $packages; do
  case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" in
    "install ok installed") ;;
    *) missing="$missing $package" ;;
  esac
done

if [ -n "$missing" ]; then
  install="apt-get install -y --no-install-recommends$missing"
  if [ "$(id -u)" -ne 0 ]; then
    echo "holdfast: packages are missing; as root: apt-get update && $install" >&2
    exit 1
  fi
  echo "holdfast: installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  # A fresh image has no package lists, an old one stale lists: update only if the installation fails without.
  if ! $install </dev/null >"$log" 2>&1; then
    apt-get update -q </dev/null >"$log" 2>&1 || { cat "$log" >&2; echo "holdfast: apt-get update failed" >&2; exit 1; }
    $install </dev/null >"$log" 2>&1 || { cat "$log" >&2; echo "holdfast: apt-get install failed" >&2; exit 1; }
  fi
  rm -f "$log"
fi

# Debian's own interpreter: the one that python3-venv and python3-dev belong to.
stamp=build/venv/.requirements
if ! cmp -s tests/requirements.txt "$stamp"; then
  echo "holdfast: making build/venv"
  mkdir -p build
  /usr/bin/python3 -m venv build/venv
  build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt </dev/null
  cp tests/requirements.txt "$stamp"
fi
