#!/bin/sh
# Runs a command inside the project's own environment, and sets that environment up first where needed:
#
#     tools/environment.sh python -m pytest        (ROS_DISTRO=jazzy selects Jazzy instead of Kilted)
#
# The environment is a virtual environment in the checkout (.venv-kilted or .venv-jazzy) with ROS 2 as wheels,
# this package in editable form and its test tools. A stamp inside says what it was made from; while that
# holds, nothing is installed and no network is needed. KERNELS=demo compiles only the kernels that the demo calls.
set -eu

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

root=$(cd -- "$(dirname -- "$0")/.." && pwd -P)
case $root in *:*) fail "the path of the checkout contains a colon, which library search paths cannot hold: $root" ;; esac
cd -- "$root"

# --- which ROS distribution -------------------------------------------------------------------------------

supported="kilted (default), jazzy"
distro=${ROS_DISTRO:-kilted}
if [ ! -f "tools/requirements-$distro.txt" ]; then
    # A sourced ROS installation sets ROS_VERSION along with ROS_DISTRO; somebody who types ROS_DISTRO does not.
    if [ -n "${ROS_VERSION:-}" ]; then
        say "note: a sourced ROS installation says ROS_DISTRO=$distro; supported here: $supported. Using kilted wheels."
        distro=kilted
    else
        fail "ROS_DISTRO=$distro is not supported. Supported: $supported."
    fi
fi
venv=$root/.venv-$distro

# --- an environment of its own: nothing of a sourced ROS, nothing of the user's DDS settings ----------------

unset PYTHONPATH PYTHONHOME LD_LIBRARY_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE
unset ROS_LOCALHOST_ONLY ROS_STATIC_PEERS ROS_DISCOVERY_SERVER ROS_SUPER_CLIENT ROS_SECURITY_ENABLE
unset FASTRTPS_DEFAULT_PROFILES_FILE FASTDDS_DEFAULT_PROFILES_FILE RMW_FASTRTPS_USE_QOS_FROM_XML CYCLONEDDS_URI
unset PYTHONDONTWRITEBYTECODE  # each of some hundred processes of a test run would compile all sources anew
export PYTHONNOUSERSITE=1 ROS_DISTRO="$distro" ROS_VERSION=2 ROS_PYTHON_VERSION=3
export RMW_IMPLEMENTATION=rmw_fastrtps_cpp AMENT_PREFIX_PATH="$venv"
export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"

# --- set-up --------------------------------------------------------------------------------------------------

# What the environment is made from, and for which place (virtual environments cannot be moved).
wanted() { { cat "tools/requirements-$distro.txt" setup.py; printf '%s' "$root"; } | cksum; }
kernels() { find lie_dynamics_ros/lie_dynamics -name '*.py' \( -path '*/kernels/*' -o -path '*/engine/*' \) -exec cksum {} + | sort | cksum; }
stamped() { [ -x "$venv/bin/python" ] && [ "$(cat "$venv/$1" 2>/dev/null)" = "$2" ]; }

compiler() { command -v c++ || command -v g++ || command -v clang++ || true; }
# Messages and services; built again where a compiler has turned up.
interfaces() { { cat "tools/constraints-$distro.txt"; compiler; find lie_dynamics_interfaces -type f -exec cksum {} + | sort; } | cksum; }

find_python() {
    no_venv=
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3.10 python3}; do
        "$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1 || continue
        if "$candidate" -c 'import venv, ensurepip' >/dev/null 2>&1; then printf '%s\n' "$candidate"; return; fi
        no_venv="$no_venv $candidate"
    done
    if [ -n "$no_venv" ]; then
        fail "found${no_venv}, but without the venv module. On Debian and Ubuntu: sudo apt install${no_venv}-venv"
    fi
    if [ -n "${PYTHON:-}" ]; then fail "PYTHON=$PYTHON does not run, or is not Python 3.10 to 3.13."; fi
    fail "no Python found. Wanted: python3.11 (3.10 to 3.13 will do) on PATH, or PYTHON=/path/to/python."
}

pip_install() { "$venv/bin/python" -m pip --disable-pip-version-check install "$@" >>"$venv/setup.log" 2>&1; }

show_log() {
    say "--- the end of .venv-$distro/setup.log"
    grep -v '^WARNING: ' "$venv/setup.log" | tail -n 15 >&2
    say "---"
}

install() {
    pip_install "$@" && return
    show_log
    say "error: the packages could not be installed; the reason stands above."
    say "If it speaks of connections, names or 'no matching distribution': pip needs a network and a package index that has"
    say "the ROS 2 wheels (ros-rclpy and others); see 'pip config list'. Run the same command again: it starts afresh."
    exit 1
}

set_up() {
    if [ ! -x "$venv/bin/python" ] || [ ! -s "$venv/stamp" ]; then
        python=$(find_python)
        say "Setting up .venv-$distro (once): $("$python" -V 2>&1), ROS 2 $distro wheels with Fast DDS, this package, its test tools."
        [ -n "$(compiler)" ] ||
            say "note: no C++ compiler found (c++, g++ or clang++; Debian and Ubuntu: sudo apt install g++). Only the services of the nodes need one."
        rm -rf -- "$venv"
        "$python" -m venv "$venv" || fail "$python -m venv failed."
        say "  installing packages (some 300 MB to fetch, 1.7 GB on disk) ..."
    else
        say "Bringing .venv-$distro up to date: the requirements have changed."
        rm -f -- "$venv/stamp"
    fi
    install 'setuptools>=70.1,<80'
    install --no-build-isolation --config-settings editable_mode=compat -r "tools/requirements-$distro.txt" -e '.[test,lint]'
    wanted >"$venv/stamp"
}

build_interfaces() {
    [ -f lie_dynamics_interfaces/package.xml ] || return 0
    if [ -n "$(compiler)" ]; then
        say "  building messages and services (once per version of them; a minute) ..."
        # Building happens in an environment of its own, which follows these variables.
        if ! (
            export PIP_CONSTRAINT="tools/constraints-$distro.txt" PIP_BUILD_CONSTRAINT="tools/constraints-$distro.txt"
            pip_install --no-deps --force-reinstall ./lie_dynamics_interfaces
        ); then
            show_log
            say "note: building lie_dynamics_interfaces failed; the reason stands above. The nodes run without services."
            return 0
        fi
    fi
    interfaces >"$venv/interfaces-stamp"
}

compile_kernels() {
    [ -f lie_dynamics_ros/lie_dynamics/engine/__main__.py ] || return 0
    case ${KERNELS:-} in
        demo) say "  compiling the kernels that the demo calls (once per version of them; half a minute) ..."
            set -- demo-kernels-stamp lie_dynamics_ros.demo.kernels ;;
        *) say "  compiling the numerical kernels (once per version of them; a minute) ..."
            set -- kernels-stamp lie_dynamics_ros.lie_dynamics.engine ;;
    esac
    if "$venv/bin/python" -m "$2" >&2; then
        kernels >"$venv/$1"
    else
        say "note: compiling the kernels failed; the reason stands above. They will be compiled when first needed."
    fi
}

compiled() { stamped kernels-stamp "$1" || { [ "${KERNELS:-}" = demo ] && stamped demo-kernels-stamp "$1"; }; }
ready() { stamped stamp "$(wanted)" && stamped interfaces-stamp "$(interfaces)" && compiled "$(kernels)"; }

if ! ready; then
    # One set-up at a time; the second comer finds it done.
    if command -v flock >/dev/null; then exec 9>"$venv.lock"; flock 9; fi
    stamped stamp "$(wanted)" || set_up
    stamped interfaces-stamp "$(interfaces)" || build_interfaces
    compiled "$(kernels)" || compile_kernels
    exec 9>&-
fi

[ $# -eq 0 ] || exec "$@"
