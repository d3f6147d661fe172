// The first tab: two runs, the chosen rule and its ghost, learn for some milliseconds of each frame
// and play meanwhile; agents, stage, charts and words show how far they are.
"use strict";

const LEARN_MS = 8; // of a frame, which has 16.7 if there are 60 a second; drawing included
const SUSPICION_TOP = 4; // of a bar: 1 is usual

// ---- the race: two runs, chosen rule and ghost

const race = {};
const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function startRace() {
    const ok = wasm._web_start(
        set.task, set.n, set.f, set.rule, set.pre0, set.pre1, set.attack, set.seed, set.bad);
    Object.assign(race, {
        ok,
        busy: true, // the evaluation of what nobody taught yet
        credit: 0, // rounds that may begin
        steps: 0, // rounds asked for one by one
        stop: wasm._web_rounds(set.task),
        stepsPerMs: race.stepsPerMs || 200,
        round: 0,
        score: [[], []], // of each run: [round, return], ..
        cosine: [[], []],
        smooth: [[], []], // running means of it
        suspicion: new Array(set.n).fill(0),
        accused: 0, // a bit for each agent: its evidence has passed the limit, and that stands
        said: 0,
    });
    if (race.playing === undefined) race.playing = !isCalm();
    byId("refused").hidden = !!ok;
    byId("refused").textContent = ok ? "" : "Refused: " + text(wasm._web_text());
    makeAgents();
    makeScenes();
    showRace();
}

function finishRound() {
    race.busy = false;
    race.round = wasm._web_round();
    for (const who of [0, 1]) {
        if (race.round % wasm._web_every(set.task) === 0)
            race.score[who].push([race.round, wasm._web_score(who)]);
        const cosine = wasm._web_cosine(who);
        if (race.round === 0 || cosine < -1.5) continue;
        const smooth = race.smooth[who];
        const last = smooth.length ? smooth[smooth.length - 1][1] : cosine;
        race.cosine[who].push([race.round, cosine]);
        smooth.push([race.round, last + 0.15 * (cosine - last)]);
    }
    if (race.round > 0) readAgents();
    if (race.round >= race.stop) setPlaying(false);
    race.dirty = true;
}

function readAgents() {
    const address = wasm._web_suspicion();
    const evidence = wasm._web_evidence();
    if (address)
        numbers(address, set.n).forEach((x, i) => {
            const now = Math.min(x, 2 * SUSPICION_TOP); // a dropped row: infinite
            race.suspicion[i] += (race.round === 1 ? 1 : 0.15) * (now - race.suspicion[i]);
        });
    if (!evidence) return;
    const limit = wasm._web_evidence_limit();
    numbers(evidence, set.n).forEach((x, i) => { race.accused |= (x >= limit) << i; });
}

// a round that has begun is ended; the next one begins when it is asked for or due
function mayLearn() {
    if (race.busy) return true;
    if (race.steps > 0) race.steps--;
    else if (race.playing && race.credit >= 1) race.credit--;
    else return false;
    return (race.busy = true);
}

// Many short ticks, so that the clock is looked at often. How many steps a millisecond has differs
// from one part of a round to the next: less is believed at once, more by and by.
function learn(until) {
    for (let now = performance.now(); now < until && mayLearn();) {
        const budget = Math.ceil(Math.min(until - now, 1) * race.stepsPerMs);
        const done = wasm._web_tick(budget);
        const took = Math.max(performance.now() - now, 0.01);
        if (done) finishRound();
        else race.stepsPerMs = Math.min(budget / took, 1.1 * race.stepsPerMs, 1e5);
        now += took;
    }
}

function setPlaying(on) {
    race.playing = on;
    if (on && race.round >= race.stop) race.stop += wasm._web_rounds(set.task);
    byId("play").textContent = on ? "Pause" : "Play";
}

function turnAgent(i) {
    set.bad ^= 1 << i;
    wasm._web_set_adversaries(set.bad);
    if (race.round >= race.stop) setPlaying(true);
    writeLink();
    showRace();
}

// ---- agents

function makeAgents() {
    byId("agents").replaceChildren(...Array.from({ length: set.n }, (_, i) => {
        const item = document.createElement("li");
        item.innerHTML = `<button type="button"><span>${i + 1}</span></button>
            <div class="bar"><i></i></div><span class="accused"></span>`;
        item.firstChild.addEventListener("click", () => turnAgent(i));
        return item;
    }));
}

const isAccused = (i) => !!((race.accused >>> i) & 1);

function showAgents() {
    [...byId("agents").children].forEach((item, i) => {
        const bad = (set.bad >>> i) & 1;
        const [button, bar, accused] = item.children;
        const suspicion = race.suspicion[i];
        button.setAttribute("aria-pressed", !!bad);
        button.setAttribute("aria-label", `Agent ${i + 1}, ${bad ? "adversary" : "honest"}, ` +
            `suspicion ${suspicion.toFixed(1)}${isAccused(i) ? ", accused" : ""}`);
        bar.title = "suspicion " + suspicion.toFixed(2);
        bar.firstChild.style.transform = `scaleY(${Math.min(suspicion / SUSPICION_TOP, 1)})`;
        accused.textContent = isAccused(i) ? "accused" : "";
    });
    const count = bits(set.bad).length;
    byId("bound").textContent = count > set.f
        ? `${count} adversaries, more than f = ${set.f}: nothing is promised.`
        : `${count} of ${set.n} are adversaries, f = ${set.f}.`;
}

// ---- the stage

const scenes = [];
const sizes = new Map(); // of pictures; to ask for one makes the browser lay out the page

function sizeOf(svg) {
    if (!sizes.has(svg)) sizes.set(svg, { w: svg.clientWidth, h: svg.clientHeight });
    return sizes.get(svg);
}


function makeScenes() {
    const colours = text(wasm._web_colours());
    for (const who of [0, 1]) {
        const svg = byId("scene-" + who);
        svg.replaceChildren();
        const tiles = svgNode("g", {}, svg);
        const ground = svgNode("line", { class: "ground" }, svg);
        const figure = svgNode("g", {}, svg);
        // the first of the table on top
        const limbs = [...colours].map((c) => svgNode("line", { class: "limb c" + c }));
        figure.append(...[...limbs].reverse());
        scenes[who] = { svg, tiles, ground, figure, limbs };
    }
}

// metres on the ground: every other one is a tile
function drawTiles(scene, left, scale, w, h, ground) {
    const low = Math.floor(-left / scale), high = Math.ceil((w - left) / scale);
    let d = "";
    for (let x = low; x <= high; x++)
        if (x % 2 === 0) d += `M${left + scale * x} ${ground}h${scale}V${h}h${-scale}z`;
    if (!scene.tiles.firstChild) svgNode("path", { class: "tile" }, scene.tiles);
    scene.tiles.firstChild.setAttribute("d", d);
}

function drawScene(who) {
    const scene = scenes[who], { w, h } = sizeOf(scene.svg);
    const ground = 0.86 * h;
    const scale = Math.min(ground / wasm._web_height(), w / wasm._web_width());
    const left = w / 2 - scale * wasm._web_camera(who);
    const capsule = numbers(wasm._web_figure(who), 5 * scene.limbs.length);
    scene.limbs.forEach((limb, i) => {
        const [ax, az, bx, bz, radius] = capsule.subarray(5 * i, 5 * i + 5);
        limb.setAttribute("x1", left + scale * ax);
        limb.setAttribute("y1", ground - scale * az);
        limb.setAttribute("x2", left + scale * bx);
        limb.setAttribute("y2", ground - scale * bz);
        limb.setAttribute("stroke-width", 2 * scale * radius);
    });
    scene.ground.setAttribute("x2", w);
    scene.ground.setAttribute("y1", ground);
    scene.ground.setAttribute("y2", ground);
    drawTiles(scene, left, scale, w, h, ground);
}

// ---- charts: lines are {points: [[x, y], ..], of: class, label}

function ticks(low, high, most) {
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const unit = [1, 2, 5, 10].find((u) => raw <= u * power) * power;
    const list = [];
    for (let k = Math.ceil(low / unit - 1e-9); k * unit <= high + 1e-9 * unit; k++)
        list.push(+(k * unit).toPrecision(12));
    return list;
}

// a group of a chart is written again if it changed
function writeLayer(svg, i, markup) {
    while (svg.children.length <= i) svgNode("g", {}, svg);
    const layer = svg.children[i];
    if (layer.written !== markup) layer.innerHTML = layer.written = markup;
}

function drawChart(svg, x, y, lines) {
    const { w, h } = sizeOf(svg);
    const box = { left: 40, right: w - 52, top: 8, bottom: h - 22 };
    const atX = (v) => box.left + ((v - x[0]) / (x[1] - x[0])) * (box.right - box.left);
    const clamp = (v) => Math.min(Math.max(v, y[0]), y[1]);
    const atY = (v) => box.bottom - ((clamp(v) - y[0]) / (y[1] - y[0])) * (box.bottom - box.top);
    let axes = "", curves = "";
    for (const t of ticks(y[0], y[1], 6))
        axes += `<line class="axis" x1="${box.left}" x2="${box.right}" y1="${atY(t)}"
            y2="${atY(t)}"/><text x="${box.left - 6}" y="${atY(t) + 4}"
            text-anchor="end">${t}</text>`;
    for (const t of ticks(x[0], x[1], w < 320 ? 4 : 6))
        axes += `<text x="${atX(t)}" y="${h - 6}" text-anchor="middle">${t}</text>`;
    const seen = lines.filter((line) => line.points.length);
    for (const line of seen) {
        const points = line.points.map((p) => atX(p[0]).toFixed(1) + " " + atY(p[1]).toFixed(1));
        curves += `<path class="curve ${line.of}" d="M${points.join("L")}"/>`;
    }
    const named = seen.filter((line) => line.label).map((line) => {
        const end = line.points[line.points.length - 1];
        return { ...line, x: atX(end[0]) + 4, y: atY(end[1]) + 4 };
    });
    [axes, curves, labels(named, box.bottom)].forEach((markup, i) => writeLayer(svg, i, markup));
}

// names at the ends of their lines, from the lowest up, each above the one before
function labels(named, bottom) {
    let out = "", free = bottom;
    for (const { of, label, x, y } of named.sort((a, b) => b.y - a.y)) {
        const at = Math.min(y, free);
        out += `<text class="of-${of}" x="${x}" y="${at}">${label}</text>`;
        free = at - 13;
    }
    return out;
}

function drawCharts() {
    const rule = kinds.rule.list[set.rule];
    const x = [0, Math.max(wasm._web_rounds(set.task), race.round)];
    const best = wasm._web_best(set.task);
    const all = race.score[0].concat(race.score[1]).map((p) => p[1]);
    const y = [Math.max(Math.min(0, ...all), -best / 3), Math.max(best, ...all)];
    drawChart(byId("chart-return"), x, [y[0], 1.04 * y[1]], [
        { points: race.score[1], of: "mean", label: "mean" },
        { points: race.score[0], of: "rule", label: rule },
    ]);
    drawChart(byId("chart-cosine"), x, [-1, 1.06], [
        { points: race.cosine[1], of: "mean raw" },
        { points: race.cosine[0], of: "rule raw" },
        { points: race.smooth[1], of: "mean", label: "mean" },
        { points: race.smooth[0], of: "rule", label: rule },
    ]);
}

// ---- words

const lastScore = (who) => {
    const list = race.score[who];
    return list.length ? list[list.length - 1][1] : undefined;
};

function wholeName() {
    const pre = [set.pre0, set.pre1].filter((p) => p > 0).map((p) => kinds.pre0.list[p]);
    return [...pre, kinds.rule.list[set.rule]].join(" + ");
}

function verdict() {
    const accused = bits((1 << set.n) - 1).filter(isAccused).map((i) => i + 1);
    const status = text(wasm._web_status());
    const cosine = race.smooth[0].length ? race.smooth[0][race.smooth[0].length - 1][1] : 0;
    return `After ${race.round} rounds ${kinds.rule.list[set.rule]}'s policy earns ` +
        `${lastScore(0).toFixed(0)}, the mean's ${lastScore(1).toFixed(0)}. ` +
        `The cosine of its steps to the honest mean is ${cosine.toFixed(2)} by now. ` +
        (accused.length ? `Accused: ${accused.join(", ")}. ` : "") +
        (status === "ok" ? "" : `No step: ${status}.`);
}

// seen after every round; told to screen readers every four seconds, and when it pauses
function speak() {
    const words = race.round > 0 ? verdict() : "";
    byId("verdict").textContent = words;
    if (race.playing && performance.now() - race.said < 4000) return;
    race.said = performance.now();
    byId("spoken").textContent = words;
    byId("chart-return").setAttribute("aria-label", "Learning curves. " + words);
    byId("chart-cosine").setAttribute("aria-label", "Cosines, round by round. " + words);
}

function showRace() {
    byId("round").textContent = race.round;
    byId("name-0").textContent = wholeName();
    document.querySelectorAll(".task-name").forEach((e) => {
        e.textContent = kinds.task.list[set.task];
    });
    for (const who of [0, 1]) {
        const score = lastScore(who);
        byId("score-" + who).textContent = score === undefined ? "" : "return " + score.toFixed(0);
    }
    showAgents();
    drawCharts();
    speak();
}

// twice a second is enough for words
function tellScenes() {
    for (const who of [0, 1]) {
        const note = `${kinds.task.list[set.task]}, step ${wasm._web_steps(who)} on the stage`;
        byId("scene-text-" + who).textContent = note;
    }
}

// ---- frames

const frames = { count: 0, own: [], gaps: [] }; // milliseconds of the last ones, for the test

function frame(now) {
    const gap = now - (frames.last || now), begin = performance.now();
    frames.last = now;
    requestAnimationFrame(frame);
    if (set.tab !== 0 || !race.ok) return;
    const speed = SPEEDS[set.speed];
    race.credit = speed < Infinity ? Math.min(race.credit + (speed * gap) / 1000, 2) : Infinity;
    if (race.playing || !isCalm()) wasm._web_play(Math.min(gap / 1000, 0.1));
    drawScene(0);
    drawScene(1);
    if (frames.count++ % 30 === 0) tellScenes();
    if (race.dirty) showRace();
    race.dirty = false;
    learn(begin + LEARN_MS); // with what drawing has left
    frames.own.push(performance.now() - begin);
    frames.gaps.push(gap);
    if (frames.own.length > 1000) frames.own.shift(), frames.gaps.shift();
}
