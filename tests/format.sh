#!/bin/sh
# The format of all C files of the repository, by .clang-format. Made by `make format`, checked by
# `make lint`.
# usage: tests/format.sh fix | check     check: status 1 and the list of files if some differ
# Versions of the tool differ in what they do: with another one than 14 it is left out, and says so.
set -u
wanted=14

leave_out() {
    echo "skipped: format: $1"
    exit 0
}

tool=clang-format
if command -v clang-format-$wanted >/dev/null; then tool=clang-format-$wanted; fi
command -v $tool >/dev/null || leave_out "clang-format is not installed"
version=$($tool --version | sed 's/.*version \([0-9]*\).*/\1/')
[ "$version" = $wanted ] || leave_out "clang-format is version $version, not $wanted"
files=$(git ls-files '*.c' '*.h' '*.cpp' | grep -v '^tests/golden\.h$') # made by a program
[ -n "$files" ] || leave_out "git lists no files"

case $1 in
fix)
    # shellcheck disable=SC2086
    $tool -i $files
    ;;
check)
    differ=
    for file in $files; do
        $tool "$file" | cmp -s "$file" - || differ="$differ $file"
    done
    if [ -n "$differ" ]; then
        echo "FAILED: format, make format mends it:$differ"
        exit 1
    fi
    # shellcheck disable=SC2086
    echo "clean: format of $(echo $files | wc -w) files"
    ;;
esac
