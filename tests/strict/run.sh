#!/bin/sh
# The warning matrix, with every warning an error, and the builds that must fail. Called by
# `make strict`.
# usage: tests/strict/run.sh BUILD_DIR DOCS_DIR
# WARN: the flags, DOC_WARN: those that examples of the documentation may break;
# STRICT_COMPILERS: gcc clang
# QUICK=1: of precision and linkage two pairs, not four; the tests in double with clang alone, as make
#          test compiles them with gcc, benches and examples with gcc alone
set -u
build=$1
docs=$2
mkdir -p "$build"

# one name, then a command whose success is the verdict; said at once, for lanes run side by side
expect() {
    cell=$(printf '  %-82s' "$1")
    shift
    for word; do if [ "$word" = no_cxx ]; then return; fi; done
    "$@" >"$build/log" 2>&1
    result=$?
    if [ $result -eq 0 ]; then
        echo "$cell ok"
    else
        echo "exit status $result" >>"$build/log" # all that a program may have to say
        printf '%s FAILED\n%s\n' "$cell" "$(sed 's/^/    | /' "$build/log" | tail -n 40)"
    fi
}

# stands for a C++ compiler that is not installed: what is asked of it is left out
no_cxx() { :; }

expect_failure() { # NAME TEXT command: the command must fail and say TEXT
    name=$1 text=$2
    shift 2
    expect "$name" fails_saying "$text" "$@"
}

fails_saying() {
    text=$1
    shift
    if "$@" >"$build/said" 2>&1; then
        echo "succeeded, but must fail: $*"
        return 1
    fi
    cat "$build/said"
    grep -q "$text" "$build/said"
}

run() { "$@" -o "$build/program" && "$build/program"; }

# what the implementation asks of the linker: nothing but what a C compiler may call by itself
# (without -fPIE: a table of constants with addresses in it would stand among the variables until it
# is relocated)
compiler_calls='mem(cpy|move|set|cmp)|__stack_chk_fail|__cpu_model|__cpu_indicator_init|__popcountdi2|_GLOBAL_OFFSET_TABLE_'
free_of_libraries() {
    "$@" -o "$build/only.o" || return 1
    nm -u "$build/only.o" | sed 's/.* //' | grep -v -x -E "$compiler_calls" >"$build/undefined"
    nm "$build/only.o" | grep -E ' [bBcCdD] ' >"$build/variables"
    if [ -s "$build/undefined" ] || [ -s "$build/variables" ]; then
        echo "undefined symbols:"; cat "$build/undefined"; echo "variables:"; cat "$build/variables"
        return 1
    fi
}

# shellcheck disable=SC2086
check_header() { # HEADER without .h, its prefix, C compiler, C++ compiler
    code=$(echo "$1" | tr '[:lower:]' '[:upper:]')_IMPLEMENTATION
    use=tests/strict/$1.c
    c="$3 -std=c99 $warn -Wstrict-prototypes -I."
    cxx="$4 -std=c++11 -x c++ $warn -I."
    for language in "$c" "$cxx"; do
        for real in "" -DAGG_DOUBLE; do
            for linkage in "" "-D$2_STATIC"; do
                case ${QUICK:+$real$linkage} in "-DAGG_DOUBLE" | "-D$2_STATIC") continue ;; esac
                expect "$1.h, ${language%% -W*} $real $linkage" run $language $optimised $real $linkage "$use"
            done
            for option in "-D$2_STATIC -DSTRICT_UNUSED" "-D$code" -DAGG_NO_DISPATCH -march=native; do
                expect "$1.h, ${language%% -W*} $real $option" $language -fsyntax-only $real $option "$use"
            done
        done
    done
    for standard in c11 c17; do
        expect "$1.h, $3 -std=$standard" $3 -std=$standard $warn -I. -fsyntax-only "$use"
    done
    for standard in c++14 c++17 c++20; do
        expect "$1.h, $4 -std=$standard" $4 -std=$standard -x c++ $warn -I. -fsyntax-only "$use"
    done
    for level in -O0 -O2; do
        expect "$1.h, $3 $level: needs no library, has no variables" \
            free_of_libraries $c $level -fno-pie -DNDEBUG -DRN_NO_STDLIB -DSTRICT_IMPLEMENTATION_ONLY -c "$use"
    done
    for real in "" -DAGG_DOUBLE; do
        expect "$1.h, $3 $real: code" \
            $c $real -DSTRICT_IMPLEMENTATION_ONLY -c "$use" -o "$build/code$real.o"
        expect "$1.h, $3 $real: user" $c $real -DSTRICT_USER -c "$use" -o "$build/user$real.o"
        expect "$1.h, $4 $real: user" $cxx $real -DSTRICT_USER -c "$use" -o "$build/cxx$real.o"
        expect "$1.h, $3: code and user $real link without -lm" \
            $3 "$build/code$real.o" "$build/user$real.o" -o "$build/program"
        expect "$1.h, $4: C code and C++ user $real" $4 "$build/code$real.o" "$build/cxx$real.o" -o "$build/program"
    done
    expect_failure "$1.h, $3: float code, double user must not link" "undefined" \
        $3 "$build/code.o" "$build/user-DAGG_DOUBLE.o" -o "$build/program"
    expect_failure "$1.h, $3: double code, float user must not link" "undefined" \
        $3 "$build/code-DAGG_DOUBLE.o" "$build/user.o" -o "$build/program"
    for flag in -ffast-math -ffinite-math-only -Ofast -D_M_FP_FAST "-ffast-math -fno-associative-math"; do
        expect_failure "$1.h, $3 $flag must not compile" "\.h: -ffast-math" $3 $flag -I. -fsyntax-only "$use"
    done
    case $3 in clang*) return ;; esac # has no such flags, or says nothing of them: check_hostile
    for flag in -funsafe-math-optimizations -freciprocal-math "-ffast-math -fno-finite-math-only" \
        "-fassociative-math -fno-signed-zeros -fno-trapping-math" -fno-signed-zeros; do
        expect_failure "$1.h, $3 $flag must not compile" "\.h: -funsafe" $3 $flag -I. -fsyntax-only "$use"
    done
    expect_failure "$1.h, $3 -fsingle-precision-constant must not compile" "must_be_double" \
        $3 -fsingle-precision-constant -I. -fsyntax-only "$use"
    for flag in -mfpmath=387 -mfpmath=both; do
        expect_failure "$1.h, $3 $flag must not compile" "excess precision" $3 $flag -I. -fsyntax-only "$use"
    done
}

# What is not refused is harmless: NaN and Inf are found under these flags as under none.
harmless="-fno-trapping-math -fno-math-errno -frounding-math -fsignaling-nans -fassociative-math -ftrapping-math"
harmless_clang="-fno-honor-nans -fno-honor-infinities -ffast-math,-fhonor-infinities -ffast-math,-fhonor-nans
    -ffast-math,-fno-finite-math-only -funsafe-math-optimizations -ffp-contract=fast -fno-signed-zeros
    -Ofast,-fno-fast-math -ffp-model=strict -fno-honor-nans,-march=native -fno-honor-nans,-DAGG_NO_DISPATCH"
# shellcheck disable=SC2086
check_hostile() { # C compiler, C++ compiler
    case $1 in clang*) sets="$harmless_clang -fno-honor-nans,-DAGG_DOUBLE" ;; *) sets=$harmless ;; esac
    for flags in $sets -O0 -O1,-DAGG_DOUBLE; do
        flags=$(echo "$flags" | tr , ' ')
        expect "$1 $flags: NaN and Inf are found" run $1 -std=c99 -O2 $flags -I. tests/strict/hostile.c
    done
    expect "$2: NaN and Inf are found" run $2 -std=c++11 -x c++ -O1 -I. tests/strict/hostile.c
    expect "$1 tests/strict/hostile.c" $1 -std=c99 $warn -I. -fsyntax-only tests/strict/hostile.c
}

# No identifier of ours is a macro of other people's headers: every word is compared with the list of
# their macros, and ours are compiled after theirs.
macros() { # COMPILER HEADER..., to standard output
    compiler=$1
    shift
    for header; do echo "#include <$header>"; done | $compiler -dM -E -x c -
}
names_are_free() { # COMPILER HEADER without .h, THEIRS...
    compiler=$1 ours=$2
    shift 2
    macros "$compiler" float.h stddef.h stdint.h string.h stdlib.h assert.h >"$build/own.macros"
    macros "$compiler" "$@" >"$build/their.macros" || return 1
    gcc -w -fpreprocessed -dD -E -P "$ours.h" >"$build/words" || return 1
    awk -f tests/strict/names.awk "$build/own.macros" "$build/their.macros" "$build/words"
}
# shellcheck disable=SC2086
check_names() { # C compiler, C++ compiler, THEIRS...
    c=$1 cxx=$2
    if ! command -v "${cxx%% *}" >/dev/null; then cxx=no_cxx; fi
    shift 2
    if ! macros "$c" "$@" >/dev/null 2>&1; then
        echo "MISSING: $c finds no $*: not compared"
        return
    fi
    before=$(for header; do printf ' -include %s' "$header"; done)
    for ours in aggregators resnharpg; do
        expect "$ours.h, $c: no name is a macro of $*" names_are_free "$c" $ours "$@"
        for real in "" -DAGG_DOUBLE; do
            expect "$ours.h, $c -std=c99 $real after $*" \
                $c -std=gnu99 $real $before -Werror -I. -fsyntax-only tests/strict/$ours.c
            case "$* $real" in complex.h*) continue ;; esac # in C++ it is another header
            expect "$ours.h, $cxx -std=c++11 $real after $*" \
                $cxx -std=gnu++11 -x c++ $real $before -Werror -I. -fsyntax-only tests/strict/$ours.c
        done
    done
}
check_all_names() {
    printf '#define theta 1\n#define rni_norm(x) x\n#define round(x) x\n' >"$build/planted.h"
    expect_failure "names that are macros are noticed" "theta: is a macro" \
        names_are_free "gcc -I$build" resnharpg planted.h
    check_names gcc g++ complex.h
    check_names gcc g++ sys/param.h sys/types.h sys/sysmacros.h termios.h signal.h unistd.h ctype.h
    check_names gcc g++ X11/Xlib.h X11/Xutil.h X11/Xos.h
    check_names x86_64-w64-mingw32-gcc x86_64-w64-mingw32-g++ winsock2.h windows.h
    check_names "gcc -Itests/strict" "g++ -Itests/strict -DSTRICT_IMPLEMENTATION_ONLY" arduino.h
}

# Builds of two files that do not agree, and languages that will not do.
# shellcheck disable=SC2086
check_odd_builds() { # HEADER without .h, C compiler, C++ compiler
    use=tests/strict/$1.c
    for short in "" -fshort-enums; do
        expect "$1.h, $2 $short: code" $2 -std=c99 -I. $short -Werror \
            -DSTRICT_IMPLEMENTATION_ONLY -c "$use" -o "$build/code$short.o"
        expect "$1.h, $2 $short: user" $2 -std=c99 -I. $short -Werror \
            -DSTRICT_USER -c "$use" -o "$build/user$short.o"
    done
    expect "$1.h, $2: code without, user with -fshort-enums" \
        run $2 "$build/code.o" "$build/user-fshort-enums.o"
    expect "$1.h, $2: code with, user without -fshort-enums" \
        run $2 "$build/code-fshort-enums.o" "$build/user.o"
    for flag in "$2 -std=c99" "$3 -std=c++11 -x c++"; do
        expect "$1.h, $flag -fshort-enums: enums are as large as int" \
            $flag -I. -fshort-enums -fsyntax-only tests/strict/enums.c
    done
    for standard in c89 gnu89 iso9899:199409; do
        expect "$1.h, $2 -std=$standard: one error" one_error $2 -std=$standard -I. -include "$1.h" \
            -DAGGREGATORS_IMPLEMENTATION -DRESNHARPG_IMPLEMENTATION -fsyntax-only -x c /dev/null
    done
    casts="-Wold-style-cast -Wzero-as-null-pointer-constant"
    case $3 in clang*) ;; *) casts="$casts -Wuseless-cast" ;; esac
    for real in "" -DAGG_DOUBLE; do
        expect "$1.h, $3 $real $casts" $3 -std=c++11 -x c++ $warn $casts $real -I. \
            -DSTRICT_IMPLEMENTATION_ONLY -fsyntax-only "$use"
    done
}

# clang in the clothes of MSVC. Without MSVC's own headers: those that clang brings along will do.
# shellcheck disable=SC2086
check_clang_cl() {
    cl="clang --driver-mode=cl --target=x86_64-pc-windows-msvc"
    if ! command -v clang >/dev/null; then
        echo "MISSING: clang is not installed, clang-cl is not checked"
        return
    fi
    cl="$cl /W4 -Werror -I. -Itests/portability/freestanding -DRN_NO_STDLIB -DAGG_ASSERT(x)=((void)0) -fsyntax-only"
    for language in "/TC /std:c11" "/TP /std:c++14"; do
        for option in "" -DAGG_DOUBLE "-DRN_STATIC -DAGG_STATIC -DSTRICT_UNUSED"; do
            for header in aggregators resnharpg; do
                expect "$header.h, clang-cl /W4 $language $option" \
                    $cl $language $option -- tests/strict/$header.c
            done
        done
    done
    expect_failure "clang-cl /fp:fast must not compile" "/fp:fast" \
        $cl /TC /fp:fast -- tests/strict/aggregators.c
}

one_error() {
    "$@" >"$build/said" 2>&1
    cat "$build/said"
    [ "$(grep -c error: "$build/said")" -eq 1 ] && grep -q 'error:.*C99' "$build/said"
}

# shellcheck disable=SC2086
check_greatest() { # C compiler, C++ compiler
    for language in "$1 -std=c99 $warn -Wstrict-prototypes" "$2 -std=c++11 -x c++ $warn"; do
        expect "${language%% -W*} tests/greatest.h" run_greatest $language tests/strict/greatest.c
    done
}

run_greatest() { # 3 pass, 7 fail, 1 skips, and the exit status says that some failed
    "$@" -o "$build/program" || return 1
    ! "$build/program" >"$build/said" 2>&1 || return 1
    cat "$build/said"
    grep -q '^Pass: 3, fail: 7, skip: 1\.$' "$build/said"
}

# shellcheck disable=SC2086
check_sources() { # C compiler: what uses the headers is as clean as they are
    for file in tests/*.c bench/*.c examples/*.c; do
        [ -e "$file" ] || continue
        if grep -q '<zmq\.h>' "$file" && ! macros "$1" zmq.h >/dev/null 2>&1; then
            echo "MISSING: $1 finds no zmq.h: $file is not checked"
            continue
        fi
        for real in "" -DAGG_DOUBLE; do
            case $file$real in bench/*-DAGG_DOUBLE | examples/*-DAGG_DOUBLE) continue ;; esac
            case ${QUICK:+$1$real$file} in gcc-DAGG* | gcctests/* | clang[be]* | clangtests/*) continue ;; esac
            expect "$1 -std=c99 $real $file" \
                $1 -std=c99 $warn -Wstrict-prototypes -I. -fsyntax-only $real "$file"
        done
    done
}

# shellcheck disable=SC2086
check_docs() { # C compiler, C++ compiler
    for file in "$docs"/*.c; do
        name="documentation, ${file##*/}"
        expect "$1 -std=c99 $name" $1 -std=c99 $warn $DOC_WARN -I. -fsyntax-only "$file"
        expect "$2 -std=c++11 $name" $2 -std=c++11 -x c++ $warn $DOC_WARN -I. -fsyntax-only "$file"
    done
}

# what for, then the C compiler: its C++ compiler, and how to optimise, to the function
with_compiler() { # FUNCTION, C compiler
    case $2 in # some of gcc's warnings come with optimisation only, clang's never do
    clang*) plus=clang++${2#clang} optimised=-O0 ;;
    *) plus=g++${2#gcc} optimised=-O2 ;;
    esac
    if ! command -v "$2" >/dev/null; then
        echo "MISSING: $2 is not installed, its half of the matrix is not checked"
        return
    fi
    if ! command -v "$plus" >/dev/null; then
        echo "MISSING: $plus is not installed, $2 is checked for C alone"
        plus=no_cxx
    fi
    "$1" "$2" "$plus"
}

check_aggregators() { check_header aggregators AGG "$@"; }
check_resnharpg() { check_header resnharpg RN "$@"; }
check_users() {
    "$1" --version | head -n 1
    for header in aggregators resnharpg; do check_odd_builds $header "$@"; done
    check_hostile "$@"
    check_greatest "$@"
    check_sources "$1"
    check_docs "$@"
}

lane() { # NAME FUNCTION ARGUMENT...: side by side with the others, in a directory of its own
    (
        build=$build/$1
        mkdir -p "$build"
        shift
        "$@"
    ) &
}

all_lanes() {
    for compiler in ${STRICT_COMPILERS:-gcc clang}; do
        for part in aggregators resnharpg users; do
            lane "$compiler-$part" with_compiler "check_$part" "$compiler"
        done
    done
    lane names check_all_names
    lane clang-cl check_clang_cl
    wait
}

warn="$WARN -Werror"
all_lanes 2>&1 | tee "$build/all.log"
cells=$(grep -c -E '^  .* (ok|FAILED)$' "$build/all.log")
broken=$(grep -c -E '^  .* FAILED$' "$build/all.log")
echo
# once more, at the end: of a long log often only the end is seen
awk '/ FAILED$/ { said = 1; print; next } !/^    \| / { said = 0 } said' "$build/all.log"
echo "strict: $cells checks, $broken failed"
[ "$broken" -eq 0 ] && [ "$cells" -gt 0 ]
