# Sets the environment up: read by tools/environment.sh, which says what is wanted.
#
# Side by side, for most of it waits for the network or keeps one processor busy: packages; messages and services, which
# are built apart from them; kernels, as soon as numba is there.

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

# --- what runs beside the rest ------------------------------------------------------------------------------

jobs=
# Python in a process group of its own, which can be ended with all that it starts.
group() {
    exec "$venv/bin/python" -c 'import os, sys; os.setpgrp(); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])' "$@"
}
end_jobs() {
    rm -f -- "$venv/in-progress"
    for job in $jobs; do kill -- "-$job" 2>/dev/null || kill "$job" 2>/dev/null || true; done
}
trap end_jobs EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

show_log() {
    say "--- the end of .venv-$distro/$1"
    grep -v '^ *WARNING: ' "$venv/$1" | tail -n 15 >&2
    say "---"
}

# --- how far it is --------------------------------------------------------------------------------------------

count() { grep -c "$1" "$venv/$2" 2>/dev/null || true; }
# The last "n/m" that a log tells, in percent.
share() {
    last=$(grep -oE "$1" "$venv/$2" 2>/dev/null | tail -n 1 | tr -dc '0-9/')
    [ -z "$last" ] || printf '%s' "$((100 * ${last%/*} / ${last#*/}))"
}
percent() { if [ "$1" -lt "$2" ]; then printf '%s' "$((100 * $1 / $2))"; else printf 100; fi; }
minutes() { printf '%d:%02d' "$(($1 / 60))" "$(($1 % 60))"; }

# Prints how far each part is and how long the rest takes, by how long this much took.
progress() {
    start=$(date +%s)
    ticks=0
    # Not by a signal alone: one that comes before this has begun is lost.
    while [ -e "$venv/in-progress" ] && kill -0 $$ 2>/dev/null; do
        sleep 1 >/dev/null 2>&1  # who reads what this script says need not wait for it
        ticks=$((ticks + 1))
        [ "$((ticks % pause))" -eq 0 ] || continue
        packages=100 messages=100 compiled=100
        [ -z "$install" ] || packages=$((($(percent "$(count '^Collecting' setup.log)" "$number") +
            $(percent "$(du -sm "$venv" 2>/dev/null | cut -f1)" "$size")) / 2))
        [ -z "$build" ] || messages=$(share '\[[0-9]+/[0-9]+\]' interfaces.log)
        [ -z "$compile" ] || compiled=$(share 'compiled [0-9]+/[0-9]+' kernels.log)
        done_=$(((45 * packages + 30 * ${messages:-0} + 25 * ${compiled:-0}) / 100))
        gone=$(($(date +%s) - start))
        left=$((done_ < 10 ? usual - gone : gone * (100 - done_) / done_))
        text="$(minutes "$gone"), some $(minutes "$((left > 1 ? left : 1))") to go: packages $packages %"
        text="$text, messages ${messages:-0} %, kernels ${compiled:-0} %"
        if [ "$pause" -lt 5 ]; then printf '\r  %-76s' "$text" >&2; else say "  $text"; fi
    done
}

# --- the parts --------------------------------------------------------------------------------------------------

# Modules are compiled to bytecode when they are imported: half of what is installed never is.
pip_install() { "$venv/bin/python" -m pip --disable-pip-version-check install --no-compile "$@" >>"$venv/setup.log" 2>&1; }

install() {
    pip_install "$@" && return
    say ""
    show_log setup.log
    say "error: the packages could not be installed; the reason stands above."
    say "If it speaks of connections, names or 'no matching distribution': pip needs a network and a package index that has"
    say "the ROS 2 wheels (ros-rclpy and others); see 'pip config list'. Run the same command again: it starts afresh."
    exit 1
}

# Without the environment's programs on PATH: CMake would find ROS packages there that are being installed.
build_interfaces() {
    export PIP_CONSTRAINT="tools/constraints-$distro.txt" PIP_BUILD_CONSTRAINT="tools/constraints-$distro.txt" PATH="$outside"
    unset AMENT_PREFIX_PATH VIRTUAL_ENV
    group -m pip -v --disable-pip-version-check wheel --no-deps -w "$venv/interfaces" ./lie_dynamics_interfaces
}

no_interfaces() {
    say ""
    show_log interfaces.log
    say "note: building lie_dynamics_interfaces failed; the reason stands above. The nodes run without services."
}

install= build= compile=
part stamp "$(wanted)" || install=yes
if ! stamped interfaces-stamp "$(interfaces)" && [ -f lie_dynamics_interfaces/package.xml ] && [ -n "$(compiler)" ]; then build=yes; fi
if ! part kernels-stamp "$(kernels)" && [ -f lie_dynamics_ros/lie_dynamics/engine/__main__.py ]; then compile=yes; fi

case ${FOR:-} in
    demo) prefix=demo- extras= number=75 size=640 usual=120 program='tools/kernels.py demo'
        what="its packages (100 MB to fetch)" ;;
    *) prefix= extras=test,lint number=110 size=1800 usual=240 program=tools/kernels.py
        what="its packages and those of the tests (300 MB to fetch)" ;;
esac
pause=20
[ ! -t 2 ] || pause=2

if [ -n "$install" ]; then
    if [ ! -x "$venv/bin/python" ] || ! { [ -s "$venv/stamp" ] || [ -s "$venv/demo-stamp" ]; }; then
        python=$(find_python)
        say "Setting up .venv-$distro (once; some $((usual / 60)) minutes on two idle cores): $("$python" -V 2>&1), ROS 2 $distro, $what."
        [ -n "$(compiler)" ] ||
            say "note: no C++ compiler found (c++, g++ or clang++; Debian and Ubuntu: sudo apt install g++). Only the services of the nodes need one."
        rm -rf -- "$venv"
        "$python" -m venv "$venv" || fail "$python -m venv failed."
    else
        say "Bringing .venv-$distro up to date: $what."
        [ "$(cat "$venv/demo-stamp" 2>/dev/null)" = "$(wanted)" ] || rm -f -- "$venv/demo-stamp"
        rm -f -- "$venv/stamp"
    fi
    : >"$venv/setup.log"
fi
[ -z "$build" ] || say "  building messages and services (once per version of them)"
[ -z "$compile" ] || say "  compiling the numerical kernels${FOR:+ that the $FOR calls} (once per version of them)"
: >"$venv/interfaces.log"
: >"$venv/kernels.log"
: >"$venv/in-progress"
progress 9>&- & watch=$!
jobs="$watch"

if [ -n "$build" ]; then
    rm -rf -- "$venv/interfaces"
    build_interfaces >"$venv/interfaces.log" 2>&1 & building=$!
    jobs="$jobs $building"
fi
if [ -n "$install" ]; then
    install 'setuptools>=70.1,<80'
    install --no-build-isolation --config-settings editable_mode=compat -e '.[demo]'
fi
if [ -n "$compile" ]; then
    group $program >"$venv/kernels.log" 2>&1 & compiling=$!
    jobs="$jobs $compiling"
fi
if [ -n "$install" ]; then
    install --no-build-isolation --config-settings editable_mode=compat -r "tools/requirements-$distro.txt" ${extras:+-e ".[$extras]"}
    for script in "$venv"/bin/lie_dynamics_*; do  # by the names that ROS has for them, too
        [ ! -x "$script" ] || [ -e "$venv/bin/${script##*/lie_dynamics_}" ] || ln -s "${script##*/}" "$venv/bin/${script##*/lie_dynamics_}"
    done
    wanted >"$venv/${prefix}stamp"
fi
if [ -n "$build" ]; then
    if wait "$building" && pip_install --no-deps --force-reinstall "$venv"/interfaces/*.whl; then
        interfaces >"$venv/interfaces-stamp"
    else
        no_interfaces
    fi
else
    interfaces >"$venv/interfaces-stamp"
fi
if [ -n "$compile" ]; then
    if wait "$compiling"; then
        kernels >"$venv/${prefix}kernels-stamp"
    else
        say ""
        show_log kernels.log
        say "note: compiling the kernels failed; the reason stands above. They will be compiled when first needed."
    fi
fi
jobs=$watch
end_jobs
trap - EXIT INT TERM
[ "$pause" -gt 5 ] || printf '\r  %-76s\n' "ready" >&2
