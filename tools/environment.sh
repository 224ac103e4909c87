#!/bin/sh
# Runs a command inside the project's own environment, and sets that environment up first where needed:
#
#     tools/environment.sh python -m pytest        (ROS_DISTRO=kilted selects Kilted instead of Jazzy)
#
# The environment is a virtual environment in the checkout (.venv-jazzy or .venv-kilted) with ROS 2 as wheels,
# this package in editable form and its test tools. A stamp inside says what it was made from; while that
# holds, nothing is installed and no network is needed; tools/set_up.sh is what does it. FOR=demo sets up no more than
# the demo needs: not what the tests need, and no kernels but those that the demo calls.
set -eu

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

root=$(cd -- "$(dirname -- "$0")/.." && pwd -P)
case $root in *:*) fail "the path of the checkout contains a colon, which library search paths cannot hold: $root" ;; esac
cd -- "$root"

# --- which ROS distribution -------------------------------------------------------------------------------

supported="jazzy (default), kilted"
distro=${ROS_DISTRO:-jazzy}
if [ ! -f "tools/requirements-$distro.txt" ]; then
    # A sourced ROS installation sets ROS_VERSION along with ROS_DISTRO; somebody who types ROS_DISTRO does not.
    if [ -n "${ROS_VERSION:-}" ]; then
        say "note: a sourced ROS installation says ROS_DISTRO=$distro; supported here: $supported. Using jazzy wheels."
        distro=jazzy
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
outside=$PATH
export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH"

# --- set-up --------------------------------------------------------------------------------------------------

# What the environment is made from, and for which place (virtual environments cannot be moved).
wanted() { { cat "tools/requirements-$distro.txt" setup.py; printf '%s' "$root"; } | cksum; }
kernels() { find lie_dynamics_ros/lie_dynamics -name '*.py' \( -path '*/kernels/*' -o -path '*/engine/*' \) -exec cksum {} + | sort | cksum; }
stamped() { [ -x "$venv/bin/python" ] && [ "$(cat "$venv/$1" 2>/dev/null)" = "$2" ]; }

compiler() { command -v c++ || command -v g++ || command -v clang++ || true; }
# Messages and services; built again where a compiler has turned up.
interfaces() { { cat "tools/constraints-$distro.txt"; compiler; find lie_dynamics_interfaces -type f -exec cksum {} + | sort; } | cksum; }

# Parts for the demo alone have stamps of their own.
part() { stamped "$1" "$2" || { [ "${FOR:-}" = demo ] && stamped "demo-$1" "$2"; }; }
ready() { part stamp "$(wanted)" && stamped interfaces-stamp "$(interfaces)" && part kernels-stamp "$(kernels)"; }

if ! ready; then
    # One set-up at a time; the second comer finds it done.
    if command -v flock >/dev/null; then exec 9>"$venv.lock"; flock 9; fi
    # shellcheck source=tools/set_up.sh
    ready || . tools/set_up.sh
    exec 9>&-
fi

[ $# -eq 0 ] || exec "$@"
