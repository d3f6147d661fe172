#!/bin/sh
# What a packager and a user do with the installed headers. Called by `make packaging`.
# usage: tests/packaging/run.sh BUILD_DIR
# Needs a C and a C++ compiler; says so if pkg-config or cmake is missing and leaves their part out.
set -eu
build=$1
here=tests/packaging
top=$(pwd)
warn="$WARN -Werror"
rm -rf "$build"
mkdir -p "$build"

checks=0
say() { checks=$((checks + 1)); printf '  %-60s ' "$1"; }
ok() { echo "ok ${1:-}"; }

say "make install DESTDIR= PREFIX="
make install DESTDIR="$top/$build/stage" PREFIX=/opt/rn
for header in aggregators.h resnharpg.h; do cmp $header "$build/stage/opt/rn/include/$header"; done
[ "$(find "$build/stage" -type f | wc -l)" -eq 3 ]
ok "2 headers and resnharpg.pc"

say "the same into a folder with a space in its name, and out"
ls >"$build/before"
make install DESTDIR="$top/$build/a stage" PREFIX="/my own/rn"
cmp resnharpg.h "$build/a stage/my own/rn/include/resnharpg.h"
if command -v pkg-config >/dev/null; then
    spaced=$(PKG_CONFIG_PATH="$build/a stage/my own/rn/share/pkgconfig" pkg-config --cflags resnharpg)
    eval "set -- $spaced" # as a shell that is given these flags would read them
    [ $# -eq 1 ] && [ "$1" = "-I/my own/rn/include" ]
fi
make uninstall DESTDIR="$top/$build/a stage" PREFIX="/my own/rn"
[ "$(find "$build/a stage" -type f | wc -l)" -eq 0 ]
ls | cmp - "$build/before" # no stray folder
ok

say "both headers and the pkg-config file have one version"
version=$(sed -n 's/^Version: //p' "$build/stage/opt/rn/share/pkgconfig/resnharpg.pc")
for header in aggregators.h resnharpg.h; do
    prefix=$(sed -n 's/^#define \([A-Z]*\)_VERSION_MAJOR.*/\1/p' $header)
    macros=$(sed -n "s/^#define ${prefix}_VERSION_[A-Z]* //p" $header | paste -s -d .)
    [ "$macros" = "$version" ] && head -n 1 $header | grep -q " v$version " && grep -q "^   $version (.*) "  $header
done
ok "$version"

flags="-I$build/stage/opt/rn/include"
if command -v pkg-config >/dev/null; then
    say "pkg-config --cflags"
    found=$(PKG_CONFIG_PATH="$build/stage/opt/rn/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$build/stage" \
        pkg-config --cflags --libs resnharpg | sed 's/ *$//')
    [ "$found" = "$flags" ]
    ok "$found"
else
    echo "  left out: pkg-config is not installed"
fi

say "a program of two C files"
# shellcheck disable=SC2086
${CC:-cc} -std=c99 $warn -O1 $flags $here/two_main.c $here/two_learner.c -o "$build/two"
"$build/two"
say "a C++ program"
# shellcheck disable=SC2086
${CXX:-c++} -std=c++11 $warn -O1 $flags $here/program.cpp -o "$build/program"
"$build/program"

say "examples/00_smallest.c beside the two headers, in \"a folder\""
alone="$build/a folder"
mkdir -p "$alone"
cp aggregators.h resnharpg.h examples/00_smallest.c "$alone"
# shellcheck disable=SC2086
(cd "$alone" && ${CC:-cc} -std=c99 $warn -O1 00_smallest.c -o smallest && ./smallest)
say "CartPole copied beside them"
cp examples/envs/env.h examples/envs/cartpole.h "$alone"
printf '%s\n' '#define RESNHARPG_IMPLEMENTATION' '#include "cartpole.h"' \
    'int main(void) { cartpole p; return cartpole_env(&p).obs_dim != 4; }' >"$alone/pole.c"
# shellcheck disable=SC2086
(cd "$alone" && ${CC:-cc} -std=c99 $warn -O0 pole.c -o pole && ./pole)
ok

if command -v cmake >/dev/null; then
    say "both with CMake"
    { cmake -S $here/cmake -B "$build/cmake" -DSOURCE="$top" -DCMAKE_BUILD_TYPE=Debug && cmake --build "$build/cmake"; } \
        >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
    "$build/cmake/two" >/dev/null
    "$build/cmake/program"
else
    echo "  left out: cmake is not installed"
fi

say "make uninstall"
make uninstall DESTDIR="$top/$build/stage" PREFIX=/opt/rn
[ "$(find "$build/stage" -type f | wc -l)" -eq 0 ]
ok
echo "$checks passed"
