#!/bin/sh
# The game of examples/integrations/sdl_chipmunk, without a player. Called by `make gamecheck`.
# usage: tests/game.sh GAME SEEDS BUILD_DIR
# It learns to land with so many fresh seeds, and not by the mean; it plays, in a window of Xvfb if
# there is one, else without, keeps to its share of the frame and lands, and so does pilot.c.
set -eu
game=$1
seeds=$2
build=$3
mkdir -p "$build"

within() { # SECONDS COMMAND...: nothing here may wait for ever, however busy the machine is
    limit=$1
    shift
    code=0
    timeout "$limit" "$@" || code=$?
    [ $code -ne 124 ] || echo "not done after $limit s: $*"
    return $code
}

echo "fresh seeds, three of ten corrupted:"
within $((300 + 300 * seeds)) "$game" --train "$seeds" --seed 101 --corrupt 3

echo "the mean instead, which must fail:"
code=0
within 600 "$game" --train 1 --seed 101 --corrupt 3 --mean || code=$?
[ $code -eq 1 ] || { echo "it does not fail, or not by its landings: status $code"; exit 1; }

echo "a game:"
if ! command -v Xvfb >/dev/null; then
    echo "  (without a window: Xvfb is not installed)"
    within 3600 "$game" --headless --seconds 5 --corrupt 3 --check --picture "$build/game.bmp"
    exit
fi
rm -f "$build/display"
Xvfb -displayfd 3 -noreset -screen 0 1024x768x24 3>"$build/display" 2>"$build/xvfb.log" &
server=$!
player=
trap 'kill $player $server 2>/dev/null || true' EXIT
tries=0
while [ ! -s "$build/display" ] && [ $tries -lt 60 ]; do # a busy machine takes its time
    sleep 1
    tries=$((tries + 1))
done
[ -s "$build/display" ] || { echo "Xvfb does not start:"; cat "$build/xvfb.log"; exit 1; }
DISPLAY=:$(cat "$build/display")
SDL_VIDEODRIVER=x11 # not another one, if that fails
export DISPLAY SDL_VIDEODRIVER
within 3600 "$game" --seconds 5 --corrupt 3 --check --picture "$build/game.bmp"

plays() { kill -0 "$player" 2>/dev/null; }

if command -v xdotool >/dev/null; then
    echo "a player: makes the window larger, corrupts two, changes the rule and back, flies, leaves:"
    "$game" --seconds 600 --picture "$build/played.bmp" >"$build/played" &
    player=$!
    window=
    tries=0
    while [ -z "$window" ] && plays && [ $tries -lt 120 ]; do # not --sync: it waits for ever
        sleep 1
        window=$(xdotool search --onlyvisible --name lander | head -n 1) || true
        tries=$((tries + 1))
    done
    [ -n "$window" ] || { echo "its window does not come:"; cat "$build/played"; exit 1; }
    xdotool windowsize "$window" 1000 700 windowfocus "$window"
    tries=0
    while [ "$(xdotool getwindowfocus)" != "$window" ] && [ $tries -lt 60 ]; do
        sleep 1
        tries=$((tries + 1))
    done
    xdotool key 8 9 m m g space
    xdotool keydown Up && sleep 1 && xdotool keyup Up
    sleep 10
    tries=0
    while plays && [ $tries -lt 120 ]; do # until it is heard, and the game has said what it came to
        xdotool key Escape
        sleep 1
        tries=$((tries + 1))
    done
    ! plays || { echo "it does not end by Escape:"; cat "$build/played"; exit 1; }
    code=0
    wait $player || code=$?
    player=
    [ $code -eq 0 ] || { echo "it ends with status $code:"; cat "$build/played"; exit 1; }
    grep '^suspected: . of 2' "$build/played" ||
        { echo "the keys 8 and 9 have not corrupted two:"; cat "$build/played"; exit 1; }
fi
