// Controls, keys and the start. Classic scripts, not modules, so that the folder works without a
// server: settings.js, race.js and plane.js come before this one, and before them playground.js,
// which `make web` makes of playground.c.
"use strict";

function showTab() {
    ["race", "plane"].forEach((id, i) => {
        byId(id).hidden = set.tab !== i;
        byId("tab-" + id).setAttribute("aria-selected", set.tab === i);
        byId("tab-" + id).tabIndex = set.tab === i ? 0 : -1;
    });
    measure();
}

// sizes change with the window: ask again
function measure() {
    sizes.clear();
    if (set.tab === 1) showBoard();
    else if (race.score) drawCharts();
}

function takeLink() {
    readLink();
    showSettings();
    startRace();
    setPlaying(race.playing);
    showTab();
}

// another task comes with its recipe, but not over a rule that somebody chose
function changeTask(task) {
    const recipe = recipeOf(set.task);
    if (Object.keys(recipe).every((key) => set[key] === recipe[key]))
        Object.assign(set, recipeOf(task));
    set.task = task;
}

function changeSetting(key, value) {
    const ended = race.round >= race.stop;
    if (key === "task") changeTask(value);
    else set[key] = value;
    fit();
    showSettings();
    writeLink();
    if (key === "pf" || key === "ppre") showBoard();
    else if (key !== "speed") startRace();
    if (ended && race.round === 0) setPlaying(true); // what has ended was not paused by anybody
}

async function share() {
    const button = byId("share"), before = "Copy a link to this run";
    writeLink();
    try {
        await navigator.clipboard.writeText(location.href);
        button.textContent = "Copied";
    } catch {
        button.textContent = "The link is in the address bar";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
}

function stepOnce() {
    setPlaying(false);
    race.steps++;
}

function again() {
    startRace();
    setPlaying(true);
}

const KEYS = { " ": () => setPlaying(!race.playing), s: stepOnce, r: again };

function pressKey(event) {
    const busy = /^(BUTTON|SELECT|INPUT|SUMMARY)$/.test(event.target.tagName);
    const action = KEYS[event.key];
    if (set.tab !== 0 || !action || forBrowser(event)) return;
    if (busy && (event.key === " " || event.target.tagName !== "BUTTON")) return;
    event.preventDefault();
    action();
}

function listen() {
    for (const key of ["task", "n", "f", "rule", "pre0", "pre1", "attack", "speed", "pf", "ppre"])
        byId(key).addEventListener("input", (event) => changeSetting(key, +event.target.value));
    byId("seed").addEventListener("change", (event) => {
        const value = kinds.seed.read(event.target.value);
        changeSetting("seed", value === undefined ? set.seed : value);
    });
    byId("play").addEventListener("click", () => setPlaying(!race.playing));
    byId("step").addEventListener("click", stepOnce);
    byId("again").addEventListener("click", again);
    byId("share").addEventListener("click", share);
    byId("scatter").addEventListener("click", scatter);
    byId("reset").addEventListener("click", () => {
        Object.assign(set, { points: first.points, pbad: first.pbad });
        changeSetting("ppre", 0);
    });
    document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    ["race", "plane"].forEach((id, i) => {
        byId("tab-" + id).addEventListener("click", () => chooseTab(i));
        byId("tab-" + id).addEventListener("keydown", (event) => {
            if (forBrowser(event)) return;
            if (event.key === "ArrowLeft" || event.key === "ArrowRight") chooseTab(1 - i, true);
        });
    });
    addEventListener("keydown", pressKey);
    addEventListener("resize", measure);
    addEventListener("hashchange", takeLink);
}

function chooseTab(i, focus) {
    set.tab = i;
    writeLink();
    showTab();
    if (focus) byId(["tab-race", "tab-plane"][i]).focus();
}

// a page that cannot begin says so, where it would say why a desc is refused
function giveUp(why) {
    byId("refused").hidden = false;
    byId("refused").textContent = why;
}

async function begin() {
    if (typeof createPlayground === "undefined")
        return giveUp("There is no playground.js beside this page: `make web` builds it, and " +
            "build/web/index.html is the page to open.");
    try {
        wasm = await createPlayground();
    } catch (error) {
        return giveUp("This browser does not run it, which takes WebAssembly with SIMD: " +
            error.message);
    }
    makeKinds();
    fillLists();
    makeBoard();
    makeTable();
    listen();
    takeLink();
    requestAnimationFrame(frame);
    window.playground = { set, race, frames, wasm, kinds }; // for the test and the curious
}

begin();
