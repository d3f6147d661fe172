#!/bin/sh
# The shared library: what it shows, and Python and C++ on it. Called by `make languages`.
# usage: tests/languages.sh DIR      DIR: with libresnharpg.so, as `make shared` leaves it
set -eu
dir=$1
library=$dir/libresnharpg.so
warn="$WARN -Werror"

say() { printf '  %-60s ' "$1"; }

show() { # COMMAND: what it says; its failure is ours
    echo
    "$@" >"$dir/said" || { cat "$dir/said"; exit 1; }
    sed 's/^/    /' "$dir/said"
}

say "it shows every function of the API, and nothing else"
nm -D --defined-only "$library" | sed -n 's/.* [TW] \([a-z0-9_]*\).*/\1/p' | sort >"$dir/shown"
nm -D --defined-only "$library" | grep -v -E ' (T (agg|rn)_|A RESNHARPG_)' && exit 1
grep -o -E '\b(agg|rn)_[a-z0-9_]+\(' "$dir/resnharpg.i" | tr -d '(' | sort -u >"$dir/named"
grep -v -x -F -f "$dir/shown" "$dir/named" | grep -v -x agg_job && exit 1
echo "ok, $(wc -l <"$dir/shown") functions"

say "its name has the version, and it needs libc alone"
version=$(sed -n 's/^#define RN_VERSION_M[AJINOR]* //p' resnharpg.h | paste -s -d .)
objdump -p "$library" | grep -q "SONAME *libresnharpg.so.$version\$"
[ "$(objdump -p "$library" | grep -c NEEDED)" -eq 1 ]
echo "ok, libresnharpg.so.$version"

say "C++"
# shellcheck disable=SC2086
${CXX:-c++} -std=c++11 -O1 $warn -I. examples/integrations/cpp/example.cpp -L"$dir" \
    -Wl,-rpath,"$(cd "$dir" && pwd)" -lresnharpg -o "$dir/example"
show "$dir/example"

say "Python"
if command -v python3 >/dev/null; then
    show python3 -B examples/integrations/python/example.py "$dir"
else
    echo "left out: python3 is not installed"
fi
