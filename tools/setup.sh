#!/bin/sh
# tools/setup.sh [--missing] build|check|lint|docs: installs the packages that are missing, by apt and npm; elsewhere
# than on Debian and Ubuntu it names them. Asks sudo when not root. --missing installs nothing: it names what is
# missing and fails, or is silent.
set -eu

only_name=
if [ "${1:-}" = --missing ]; then
    only_name=yes
    shift
fi

build='build-essential:cc meson:meson ninja-build:ninja pkg-config:pkg-config libjansson-dev:=jansson libpcre2-dev:=libpcre2-8
libsqlite3-dev:=sqlite3 libsystemd-dev:=libsystemd libsmartcols-dev:=smartcols libmd-dev:=libmd libyaml-dev:=yaml-0.1 libncurses-dev:=ncursesw
libmicrohttpd-dev:=libmicrohttpd npm:npm'
lint="$build git:git python3:python3 universal-ctags:ctags-universal clang-format:clang-format clang-tidy:clang-tidy shellcheck:shellcheck"
check="$lint libcmocka-dev:=cmocka bats:bats tmux:tmux zsh:zsh fish:fish slurm-wlm:slurmctld munge:munged clang:clang python3-numpy:@/usr/lib/python3/dist-packages/numpy python3-scipy:@/usr/lib/python3/dist-packages/scipy python3-pandas:@/usr/lib/python3/dist-packages/pandas python3-statsmodels:@/usr/lib/python3/dist-packages/statsmodels r-base-core:Rscript sqlite3:sqlite3 strace:strace libclang-rt-dev:+fuzzer chromium-headless-shell:chromium-headless-shell python3-packaging:@/usr/lib/python3/dist-packages/packaging python3-jsonschema:@/usr/lib/python3/dist-packages/jsonschema prometheus:prometheus prometheus-node-exporter:prometheus-node-exporter python3-prometheus-client:@/usr/lib/python3/dist-packages/prometheus_client curl:curl jq:jq python3-click:@/usr/lib/python3/dist-packages/click python3-typer:@/usr/lib/python3/dist-packages/typer python3-absl:@/usr/lib/python3/dist-packages/absl python3-docopt:@/usr/lib/python3/dist-packages/docopt.py python3-fire:@/usr/lib/python3/dist-packages/fire python3-omegaconf:@/usr/lib/python3/dist-packages/omegaconf python3-configargparse:@/usr/lib/python3/dist-packages/configargparse.py"
docs='mkdocs:mkdocs'

case "${1:-build}" in
build) wanted=$build ;;
check) wanted=$check ;;
lint) wanted=$lint ;;
docs) wanted=$docs ;;
*) echo "usage: tools/setup.sh [--missing] build|check|lint|docs" >&2; exit 2 ;;
esac

# clang with its sanitizers and fuzzer: the runtime is a package of its own, named after clang's version.
fuzzer_works()
{
    command -v clang >/dev/null 2>&1 || return 1
    [ -n "$(find "$(clang -print-resource-dir)" -name 'libclang_rt.fuzzer*.a' 2>/dev/null | head -n 1)" ]
}

missing=
add()
{
    missing="$missing $1"
}
for row in $wanted; do
    package=${row%%:*}
    [ -z "$only_name" ] || [ "$package" != npm ] || continue # only this script uses it
    probe=${row#*:}
    case "$probe" in
    =*) { command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "${probe#=}"; } || add "$package" ;;
    +fuzzer) fuzzer_works || add "$package" ;;
    @*) [ -e "${probe#@}" ] || add "$package" ;;
    *) command -v "$probe" >/dev/null 2>&1 || add "$package" ;;
    esac
done
if [ -n "$only_name" ]; then
    [ -n "$missing" ] || exit 0
    echo "Missing (names of Debian packages):$missing" >&2
    echo "'make setup FOR=${1:-build}' installs them." >&2
    exit 1
fi

# Charts of the report, and for the tests what drives a browser. Without a network the rest is built all the same.
packages_of_npm()
{
    [ "${1:-build}" != docs ] || return 0
    cd "$(dirname "$0")/.."
    omit=--omit=dev
    [ "${1:-build}" = build ] || omit=
    if [ -d node_modules/uplot ] && { [ -n "$omit" ] || [ -d node_modules/playwright-core ]; }; then return; fi
    echo "Fetching by npm what package.json names (curves of the page)"
    # shellcheck disable=SC2086 # nothing, or one word
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error $omit >/dev/null ||
        echo "npm could not fetch what package.json names: reports are built without curves" >&2
}

if [ -z "$missing" ]; then
    packages_of_npm "$@"
    exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "Please install these (their names in Debian):$missing" >&2
    exit 1
fi
root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
        echo "Please install these as root:$missing" >&2
        exit 1
    }
    root=sudo
fi
echo "Installing by apt:$missing"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
packages=
for package in $missing; do
    [ "$package" != libclang-rt-dev ] || package=libclang-rt-$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)-dev
    packages="$packages $package"
done
# Into a file: a service that a package starts would keep this program's own output open for as long as it runs.
log=$(mktemp) policy=
trap 'rm -f "$log"; [ -z "$policy" ] || $root rm -f "$policy"' EXIT
# The tests start servers of their own: Prometheus' services do not begin now (Debian policy, invoke-rc.d), nor later.
case "$packages" in
*prometheus*)
    [ -e /usr/sbin/policy-rc.d ] || {
        policy=/usr/sbin/policy-rc.d
        printf '#!/bin/sh\nexit 101\n' | $root sh -c "cat >$policy && chmod 755 $policy"
    }
    ;;
esac
# shellcheck disable=SC2086 # the list is meant to be split
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    exit 1
}
for package in $packages; do
    case "$package" in
    prometheus | prometheus-node-exporter) [ ! -d /run/systemd/system ] || $root systemctl --quiet disable "$package" ;;
    esac
done
packages_of_npm "$@"
