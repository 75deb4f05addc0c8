# Sourced by the scripts beside it: finds Pythons and makes environments. Needs nothing but Python 3.11+ with pip.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Compiled files are kept: compiling the tests anew takes each worker longer than collecting them.
unset PYTHONDONTWRITEBYTECODE
# Two workers share two cores: threads of numpy's linear algebra would wait for each other, busily.
export OPENBLAS_NUM_THREADS=1

# Prints "version path" of every usable Python 3.11+, the oldest first.
pythons() {
    local candidate
    for candidate in python3 python3.{11..19} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
        "$candidate" -c '
import sys, ensurepip, venv
if sys.version_info >= (3, 11) and sys.version_info.releaselevel == "final":
    print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null || true
    done | sort -t. -k2,2n -u
}

# An environment, made or brought up to date: environment NAME PYTHON EXTRAS [GROUP]. Sets $python. EXTRAS are those of
# users, GROUP is a dependency group. The ground of maps is installed in every environment.
environment() {
    local folder=".venv/$1" stamp
    stamp="$3 ${4:-} $(cat pyproject.toml ground/pyproject.toml constraints.txt | cksum)"
    python="$folder/bin/python"
    if [ "$(cat "$folder/stamp" 2>/dev/null)" != "$stamp" ]; then
        echo "Making the environment $folder (once, about a minute) ..."
        "$2" -m venv --clear "$folder"
        # The pip of older Pythons knows no dependency groups.
        "$python" -m pip install --quiet --quiet --disable-pip-version-check "pip>=25.1"
        "$python" -m pip install --quiet --quiet -e ".[$3]" -e ./ground ${4:+--group "$4"} -c constraints.txt
        echo "$stamp" > "$folder/stamp"
    fi
}

# A browser for the tests of pages, where one can be had; without one these tests skip, and say so.
browser() {
    local name root=""
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" > /dev/null; then return 0; fi
    done
    command -v apt-get > /dev/null || return 0
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2> /dev/null || return 0
        root="sudo -n"
    fi
    echo "Installing Chromium (once) ..."
    $root apt-get update -qq > /dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq chromium > /dev/null 2>&1 ||
        echo "That failed: tests of pages will skip."
}

# A broker for the tests of MQTT, where one can be had; without one these tests skip, and say so.
broker() {
    local root=""
    if command -v mosquitto > /dev/null || [ -x /usr/sbin/mosquitto ]; then return 0; fi
    command -v apt-get > /dev/null || return 0
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2> /dev/null || return 0
        root="sudo -n"
    fi
    echo "Installing mosquitto (once) ..."
    $root apt-get update -qq > /dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq mosquitto > /dev/null 2>&1 ||
        echo "That failed: tests of MQTT will skip."
}

# Java 17 or later for Spark, found or installed; fails where it cannot be had.
java17() {
    local root=""
    if java -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])'; then return 0; fi
    command -v apt-get > /dev/null || return 1
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2> /dev/null || return 1
        root="sudo -n"
    fi
    echo "Installing Java 17 (once) ..."
    $root apt-get update -qq > /dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq openjdk-17-jre-headless > /dev/null 2>&1
}

# The Pythons found, a line each, and the oldest of them.
found=$(pythons)
[ -n "$found" ] || { echo "No Python 3.11 or later was found: install one, with venv and pip."; exit 1; }
read -r oldest oldest_path <<< "$(head -n 1 <<< "$found")"
