// The playground of examples/web in real Chromium: does it learn, do its controls act, does a link
// restore everything, can it be used by keyboard, on a phone and in the dark, and are its numbers
// those of the headers? Called by tests/web/run.sh.
// usage: node page.js PAGE_DIR WORK_DIR CHROMIUM [PICTURE]
"use strict";
const fs = require("fs");
const path = require("path");
const [pageDir, work, executablePath, picture] = process.argv.slice(2);
const { chromium } = require(path.resolve(work, "node_modules/playwright-core"));
const address = "file://" + path.resolve(pageDir, "index.html");
const PATIENCE = 240000; // milliseconds until a wait is given up: a busy machine takes its time

let checks = 0, failures = 0;
const complaints = []; // of the browser: console, exceptions, requests that leave the folder

function check(ok, what, found) {
    checks++;
    if (ok) return;
    failures++;
    console.log(`FAILED: ${what}` + (found === undefined ? "" : `: ${JSON.stringify(found)}`));
}

const same = (a, b, what) =>
    check(JSON.stringify(a) === JSON.stringify(b), what, { found: a, expected: b });
const near = (a, b, what) => check(Math.abs(a - b) < 1e-5, what, { found: a, expected: b });
const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.floor(q * (list.length - 1))];

let browser;

async function open(hash, options) {
    const context = await browser.newContext({
        offline: true, viewport: { width: 1200, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    page.on("console", (m) => complaints.push(m.type() + ": " + m.text()));
    page.on("pageerror", (e) => complaints.push("exception: " + e.message));
    page.on("request", (r) => {
        if (!/^(file|data):/.test(r.url())) complaints.push("request: " + r.url());
    });
    await page.goto(address + hash);
    await page.waitForFunction(() => window.playground);
    return page;
}

const close = (page) => page.context().close();
const ask = (page, what) => page.evaluate(`(${what})(playground)`);
const round = (page) => ask(page, "(p) => p.race.round");
const setting = (page, key) => ask(page, `(p) => p.set.${key}`);
const word = (page, key) => ask(page, `(p) => p.kinds.${key}.write(p.set.${key})`);
// done and shown: words and pictures follow in the next frame
const untilRound = (page, n) => page.waitForFunction((m) => playground.race.round >= m &&
    +document.getElementById("round").textContent >= m, n);
// a schedule that does not end, and so pause, while a busy machine comes to the next line
const endless = (page) => ask(page, "(p) => { p.race.stop = Infinity; }");
// as bits: NaN and -0 are told apart too
const curve = (page, n) => page.evaluate((rounds) => {
    const hex = (x) => {
        const view = new DataView(new ArrayBuffer(8));
        view.setFloat64(0, x);
        return view.getBigUint64(0).toString(16).padStart(16, "0");
    };
    const { score, cosine } = playground.race;
    const last = (who, t) => score[who].filter((p) => p[0] <= t).pop()[1];
    return Array.from({ length: rounds + 1 }, (_, t) => [0, 1].flatMap((who) =>
        [hex(last(who, t)), hex(t ? cosine[who][t - 1][1] : 0)]));
}, n);
const stored = (name) => JSON.parse(fs.readFileSync(path.resolve(work, name)));

// ---- the first tab

async function learns() {
    const page = await open("#speed=5");
    await untilRound(page, 100);
    const score = await ask(page, "(p) => p.race.score.map((s) => s.slice(-5).map((x) => x[1]))");
    check(score[0].every((x) => x >= 475), "CWTM ends at 475 or more", score[0]);
    check(score[1].every((x) => x < 100), "the mean is led astray", score[1]);
    same(await curve(page, 30), stored("cartpole.json"),
        "30 rounds have the bits of the program without a browser");
    const accused = await page.locator(".accused:text('accused')").count();
    check(accused >= 2, "adversaries are accused", accused);
    check(!(await ask(page, "(p) => p.race.playing")), "it pauses at the end of its schedule");
    check(/After 100 rounds CWTM's policy earns/.test(await page.textContent("#verdict")),
        "the verdict is in words");
    const label = await page.getAttribute("#chart-return", "aria-label");
    check(/After 100 rounds/.test(label), "the chart has a text", label);
    await page.screenshot({ path: path.resolve(work, "learned.png"), fullPage: true });
    await page.click("#agents button >> nth=0"); // goes on, with four
    await untilRound(page, 101);
    await page.waitForFunction(() => !playground.race.playing); // of the second schedule
    await page.selectOption("#attack", { label: "zero" });
    await untilRound(page, 1); // nobody has paused it, so it plays
    await close(page);
}

// opened where it was not built, and in a browser that cannot run it
async function saysWhyItCannotBegin() {
    const cases = [
        [path.join(__dirname, "../../examples/web"), undefined, /`make web` builds it/],
        [pageDir, () => { delete window.WebAssembly; }, /WebAssembly/]];
    for (const [folder, before, words] of cases) {
        const page = await (await browser.newContext({ offline: true })).newPage();
        if (before) await page.addInitScript(before);
        await page.goto("file://" + path.resolve(folder, "index.html"));
        await page.waitForFunction(() => document.getElementById("refused").textContent);
        check(words.test(await page.textContent("#refused")), "why it cannot begin: " + words,
            await page.textContent("#refused"));
        check(await page.isVisible("#refused"), "and this can be seen");
        await close(page);
    }
}

// Are 60 frames a second held? Said, not checked: no test depends on time. Beside it a loop of as
// many milliseconds as the page may take, with nothing in it: what the machine allows.
const SHARE = 8;
const spin = (ms) => {
    const turn = () => {
        for (const end = performance.now() + ms; performance.now() < end;);
        requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
};

async function holdsFrames() {
    const page = await open("");
    await untilRound(page, 40);
    const { own, gaps } = await ask(page, "(p) => p.frames");
    await page.click("#play");
    await page.evaluate(spin, SHARE);
    await ask(page, "(p) => { p.frames.gaps.length = 0; }");
    await page.waitForFunction((n) => playground.frames.gaps.length >= n,
        Math.min(gaps.length, 300));
    const others = await ask(page, "(p) => p.frames.gaps");
    const late = (list) => (100 * list.filter((g) => g > 20).length) / list.length;
    const gap = quantile(gaps, 0.5), ours = quantile(own, 0.5);
    check(gaps.length > 0 && own.length > 0, "frames are counted", gaps.length);
    console.log(`${gaps.length} frames while learning at the default settings: median ` +
        `${gap.toFixed(1)} ms, ${ours.toFixed(1)} of them ours; over 20 ms: ` +
        `${late(gaps).toFixed(1)} %, with an empty loop ${late(others).toFixed(1)} %: ` +
        `60 frames a second are ${gap < 20 && late(gaps) < 20 ? "held" : "NOT held"}`);
    await close(page);
}

async function controlsAct() {
    const page = await open("#speed=5");
    await endless(page);
    await untilRound(page, 3);
    await page.click("#play");
    await page.focus("#f");
    await page.keyboard.press("ArrowLeft");
    same(await setting(page, "f"), 2, "the slider of f");
    same(await page.textContent("#f-text"), "2", "f is shown");
    same(await round(page), 0, "another f starts again");
    await page.focus("#n");
    await page.keyboard.press("End");
    same(await page.locator("#agents li").count(), 20, "twenty agents");
    same(await page.evaluate(overflowing), [], "twenty agents fit");
    same(await page.getAttribute("#f", "max"), "9", "f goes below half");
    await page.keyboard.press("Home");
    same([await setting(page, "n"), await setting(page, "f")], [3, 1], "f shrinks with n");
    same(await setting(page, "bad"), 0, "no adversary is left among three");
    await page.selectOption("#rule", { label: "GM" });
    await page.selectOption("#pre1", { label: "NNM" });
    same(await page.textContent("#name-0"), "NNM + GM", "rule and pre-aggregation");
    await page.selectOption("#attack", { label: "random action" });
    same(await word(page, "attack"), "random action", "attack");
    await page.fill("#seed", "77");
    await page.press("#seed", "Enter");
    same(await setting(page, "seed"), 77, "seed");
    await page.fill("#seed", "-3");
    await page.press("#seed", "Enter");
    same([await setting(page, "seed"), await page.inputValue("#seed")], [77, "77"],
        "a seed out of range is not taken");
    await page.focus("#speed");
    await page.keyboard.press("Home");
    same(await page.textContent("#speed-text"), "1 rounds/s", "speed");
    const hash = await page.evaluate(() => location.hash);
    same(hash, "#n=3&f=1&rule=GM&pre1=NNM&attack=random+action&seed=77&speed=0&bad=",
        "the link follows");
    await close(page);
}

async function pausesAndSteps() {
    const page = await open("#speed=5");
    await endless(page);
    await untilRound(page, 2);
    await page.click("#play");
    await page.waitForFunction(() => !playground.race.busy);
    const at = await round(page);
    await page.waitForTimeout(300);
    same(await round(page), at, "a pause is a pause");
    for (let i = 1; i <= 3; i++) {
        await page.click("#step");
        await untilRound(page, at + i);
    }
    await page.waitForTimeout(300);
    same(await round(page), at + 3, "three rounds, one by one");
    await page.evaluate(() => document.activeElement.blur());
    await page.evaluate(() => { for (const _ of "ab") document.getElementById("step").click(); });
    await untilRound(page, at + 5);
    await page.keyboard.press("s");
    await untilRound(page, at + 6);
    await page.keyboard.press("Space");
    await untilRound(page, at + 8);
    await page.keyboard.press("Space");
    same(await page.textContent("#play"), "Play", "space pauses");
    await page.waitForFunction(() => !playground.race.busy);
    await page.evaluate(() => { playground.set.speed = 0; }); // a round a second
    const begin = Date.now();
    await page.keyboard.press("r");
    await page.waitForFunction((n) => playground.race.round < n, at + 8); // r starts again
    await page.waitForTimeout(2000);
    const made = await round(page);
    check(made <= 2 + (Date.now() - begin) / 1000, "a round a second at the lowest speed", made);
    await close(page);
}

// the mean among honest agents is the honest mean; adversaries turn it away at once
async function agentsTurn() {
    const page = await open("#rule=mean&pre0=none&pre1=none&bad=&speed=5");
    await endless(page);
    await untilRound(page, 5);
    await page.click("#play");
    await page.waitForFunction(() => !playground.race.busy);
    const cosines = () => ask(page, "(p) => p.race.cosine[0].map((x) => x[1])");
    check((await cosines()).every((x) => x > 0.999999), "nobody lies, the cosine is 1");
    const before = await round(page);
    for (const i of [1, 4, 5, 9]) await page.click(`#agents button >> nth=${i}`);
    const button = page.locator("#agents button").nth(4);
    same(await button.getAttribute("aria-pressed"), "true", "agent 5 is pressed");
    check(/^Agent 5, adversary/.test(await button.getAttribute("aria-label")), "and named so");
    check(/more than f = 3/.test(await page.textContent("#bound")), "four are more than f");
    same(await page.evaluate(() => location.hash.match(/bad=[^&]*/)[0]), "bad=2.5.6.10",
        "the link says who");
    await page.click("#step");
    await untilRound(page, before + 1);
    const last = (await cosines()).pop();
    check(last < 0.9999, "four adversaries turn the mean away", last);
    await button.focus();
    await page.keyboard.press("Space");
    same(await button.getAttribute("aria-pressed"), "false", "space turns an agent");
    same(await round(page), before + 1, "and plays nothing");
    await close(page);
}

async function linksRestore() {
    const hash = "#n=7&f=1&rule=GM&pre0=ARC&pre1=bucketing&attack=inner+product&seed=5&speed=5&" +
        "bad=1.3";
    const pages = [await open(hash), await open(hash)];
    for (const page of pages) await untilRound(page, 6);
    const [one, two] = [await curve(pages[0], 6), await curve(pages[1], 6)];
    same(one, two, "the same link, the same bits");
    same(await ask(pages[0], "(p) => JSON.stringify(p.set)"),
        await ask(pages[1], "(p) => JSON.stringify(p.set)"), "all settings");
    same([await word(pages[0], "rule"), await word(pages[0], "bad"), await setting(pages[0], "n")],
        ["GM", "1.3", 7], "as the link says");
    await Promise.all([ // it says so for two seconds, from when the clipboard has answered
        pages[0].waitForFunction(() =>
            /^(Copied|The link is)/.test(document.getElementById("share").textContent)),
        pages[0].click("#share")]);
    const link = await pages[0].evaluate(() => location.hash);
    await pages[1].evaluate(() => { location.hash = "#seed=9"; });
    await pages[1].waitForFunction(() => playground.set.seed === 9 && playground.set.n === 10);
    await pages[1].evaluate((h) => { location.hash = h; }, link);
    await pages[1].waitForFunction(() => playground.set.seed === 5);
    await untilRound(pages[1], 6);
    same(await curve(pages[1], 6), one, "and again, by the link that was made");
    for (const page of pages) await close(page);
}

async function hostileLinks() {
    const first = await open("");
    const usual = await ask(first, "(p) => JSON.stringify(p.set)");
    await close(first);
    const bad = ["#n=1e9&f=-1&rule=%3Cscript%3E&seed=abc&bad=99&points=NaN&speed=6&task=__proto__",
        "#points=" + "_".repeat(19), "#points=11" + "_0".repeat(19), "#bad=1.5.x&n=2&f=10&pbad=11",
        "#%%%&&==&n", "#seed=4294967296&mark=none&tab=none&pre0=&ppre=clipping&pf=5"];
    for (const hash of bad) {
        const page = await open(hash);
        same(await ask(page, "(p) => JSON.stringify(p.set)"), usual, "unknown words: " + hash);
        await untilRound(page, 1);
        await close(page);
    }
}

async function refusalsAreExplained() {
    const page = await open("#rule=Bulyan");
    check(/^Refused: .*Bulyan survives at most 1 of 10/.test(await page.textContent("#refused")),
        "why it is refused", await page.textContent("#refused"));
    await page.selectOption("#rule", { label: "Krum" });
    check(await page.isHidden("#refused"), "and then no more");
    await untilRound(page, 2);
    await close(page);
}

// two rounds with each attack, each rule and each pre-aggregation; then with nobody honest
async function everyChoiceRuns() {
    const page = await open("#f=1&speed=5");
    for (const key of ["attack", "rule", "pre0"])
        for (const name of await ask(page, `(p) => p.kinds.${key}.list`)) {
            await page.selectOption("#" + key, { label: name });
            await untilRound(page, 2);
            check(await page.isHidden("#refused"), `${key}: ${name}`);
            check(await ask(page, "(p) => p.race.score.flat(2).every(Number.isFinite)"),
                `${key}: ${name}: numbers`);
        }
    await page.selectOption("#attack", { label: "NaN" });
    await page.evaluate(() => { location.hash = "#bad=1.2.3.4.5.6.7.8.9.10&attack=NaN&speed=5"; });
    await page.waitForFunction(() => playground.set.bad === 1023);
    await untilRound(page, 2);
    const words = await page.textContent("#verdict");
    check(/No step: more than f rows are missing/.test(words), "why there is no step", words);
    await close(page);
}

async function legsMove() {
    const page = await open("#task=HalfCheetah&speed=5");
    same(await page.locator("#scene-0 .limb").count(), 8, "eight limbs");
    same(await page.textContent("#name-0"), "NNM + MDA", "the recipe of the task");
    const limb = () => page.getAttribute("#scene-0 .limb >> nth=2", "y1");
    const before = await limb();
    await untilRound(page, 5);
    check((await limb()) !== before, "it moves");
    const seen = await page.$eval("#scene-0", (svg) => [...svg.querySelectorAll(".limb")].every(
        (e) => e.x1.baseVal.value > 0 && e.x1.baseVal.value < svg.clientWidth));
    check(seen, "the camera goes along");
    same(await curve(page, 5), stored("half_cheetah.json"), "5 rounds have the bits");
    await page.selectOption("#task", { label: "InvertedPendulum" });
    await untilRound(page, 2);
    same(await page.locator("#scene-0 .limb").count(), 2, "cart and pole");
    await page.selectOption("#task", { label: "CartPole" });
    same(await page.textContent("#name-0"), "CWTM", "another task, another recipe");
    await page.selectOption("#rule", { label: "Krum" });
    await page.selectOption("#task", { label: "HalfCheetah" });
    same(await page.textContent("#name-0"), "Krum", "but a rule that was chosen stays");
    await close(page);
}

// ---- the second tab, beside rules written anew

const columns = (points) => [0, 1].map((k) => points.filter((_, i) => i % 2 === k));
const average = (list) => list.reduce((a, b) => a + b, 0) / list.length;
const sorted = (list) => [...list].sort((a, b) => a - b);
const answers = {
    mean: (points) => columns(points).map(average),
    CWMed: (points) => columns(points).map((c) => average(sorted(c).slice(4, 6))),
    CWTM: (points, f) => columns(points).map((c) => average(sorted(c).slice(f, 10 - f))),
};

async function checkBoard(page, what) {
    const points = await setting(page, "points"), f = await setting(page, "pf");
    const flat = await ask(page,
        "(p) => [...p.wasm.HEAPF64.subarray(p.wasm._web_answers() / 8).slice(0, 110)]");
    const list = await ask(page, "(p) => p.kinds.mark.list");
    for (const name in answers) {
        const i = list.indexOf(name), expected = answers[name](points, f);
        near(flat[5 * i + 1], expected[0], `${name}'s x, ${what}`);
        near(flat[5 * i + 2], expected[1], `${name}'s y, ${what}`);
    }
    const bad = await setting(page, "pbad");
    const honest = [...Array(10).keys()].filter((i) => !((bad >> i) & 1))
        .map((i) => [points[2 * i], points[2 * i + 1]]);
    const diameter = Math.max(...honest.flatMap((a) => honest.map((b) =>
        Math.hypot(a[0] - b[0], a[1] - b[1]))));
    const ball = await page.$eval("#board .ball", (e) => ["cx", "cy", "r"].map((k) =>
        +e.getAttribute(k)));
    near(ball[0], average(honest.map((p) => p[0])), "the ball's x, " + what);
    near(ball[1], -average(honest.map((p) => p[1])), "the ball's y, " + what);
    near(ball[2], ((2 * f) / (10 - f)) * diameter, "MDA's radius, " + what);
}

async function planeAnswers() {
    const page = await open("#tab=plane");
    check(await page.isVisible("#board"), "the tab of the link");
    same(await page.locator("#rules tr").count(), 22, "every rule");
    await checkBoard(page, "at first");
    const box = await page.locator("#board").boundingBox();
    const at = (x, y) => [box.x + (box.width * (10 + x)) / 20,
        box.y + (box.height * (10 - y)) / 20];
    const points = await setting(page, "points");
    await page.mouse.move(...at(points[0], points[1]));
    await page.mouse.down();
    await page.mouse.move(...at(5, 5), { steps: 4 });
    await page.mouse.up();
    const moved = await setting(page, "points");
    check(Math.hypot(moved[0] - 5, moved[1] - 5) < 0.1, "a point goes with the mouse", moved);
    same(await setting(page, "pbad"), 896, "dragging turns nobody");
    await checkBoard(page, "dragged");
    await page.mouse.click(...at(5, 5));
    same(await setting(page, "pbad"), 897, "a click turns a point");
    check(/nothing is promised/.test(await page.textContent("#promise")), "four of three");
    await page.mouse.click(...at(5, 5), { button: "right" });
    same(await setting(page, "pbad"), 897, "a right click turns nobody");
    await page.locator("#board .point").nth(1).focus();
    await page.keyboard.press("Alt+ArrowRight");
    near((await setting(page, "points"))[2], points[2], "with Alt an arrow is the browser's");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Shift+ArrowDown");
    const keyed = await setting(page, "points");
    near(keyed[2], points[2] + 0.2, "an arrow moves a point");
    near(keyed[3], points[3] - 1, "with shift by more");
    await page.keyboard.press("Enter");
    same(await setting(page, "pbad"), 899, "Enter turns a point");
    await page.focus("#pf");
    await page.keyboard.press("ArrowLeft");
    same(await setting(page, "pf"), 2, "f of the plane");
    await checkBoard(page, "by keyboard");
    await page.locator("#rules label", { hasText: /^Bulyan$/ }).click();
    check(/Bulyan refuses: f is 2/.test(await page.textContent("#promise")), "why Bulyan refuses",
        await page.textContent("#promise"));
    await page.locator("#rules label", { hasText: /^mean$/ }).click();
    check(+(await page.getAttribute("#board .ball", "r")) === 0, "the mean has no ball");
    await page.selectOption("#ppre", { label: "NNM" });
    same(await word(page, "ppre"), "NNM", "a pre-aggregation");
    const again = await open(await page.evaluate(() => location.hash));
    same(await ask(again, "(p) => JSON.stringify(p.kinds.points.write(p.set.points))"),
        await ask(page, "(p) => JSON.stringify(p.kinds.points.write(p.set.points))"),
        "a link holds the points");
    await page.click("#scatter");
    check((await word(page, "points")) !== (await word(again, "points")), "scattered");
    await page.click("#reset");
    same(await setting(page, "pbad"), 896, "reset");
    await close(again);
    await close(page);
}

// ---- everybody

async function tabsByKeyboard() {
    const page = await open("");
    await page.focus("#tab-race");
    await page.keyboard.press("ArrowRight");
    same(await page.evaluate(() => document.activeElement.id), "tab-plane", "the other tab");
    check(await page.isVisible("#plane") && !(await page.isVisible("#race")), "is shown");
    await page.keyboard.press("ArrowLeft");
    check(await page.isVisible("#race"), "and back");
    await close(page);
}

const nameless = () => [...document.querySelectorAll("button, input, select, [role=img], " +
    "[role=button], [role=group], [role=tabpanel], form")].filter((e) => {
    const by = e.getAttribute("aria-labelledby");
    const words = e.getAttribute("aria-label") || (by && document.getElementById(by).textContent) ||
        (e.labels && [...e.labels].map((l) => l.textContent).join("")) || e.textContent;
    return !words.trim() && e.checkVisibility();
}).map((e) => e.outerHTML.slice(0, 80));

const overflowing = () => [...document.querySelectorAll(".card *")].filter((e) => {
    const card = e.closest(".card").getBoundingClientRect(), box = e.getBoundingClientRect();
    return e.checkVisibility() && !e.closest("svg") && (box.right > card.right + 1 ||
        box.left < card.left - 1);
}).map((e) => e.outerHTML.slice(0, 80));

// WCAG's contrast of two colours "rgb(r, g, b)"
const contrasts = () => {
    const probe = document.body.appendChild(document.createElement("i"));
    const light = (name) => {
        probe.style.color = `var(--${name})`;
        const rgb = getComputedStyle(probe).color.match(/[\d.]+/g).map((v) => v / 255);
        const [r, g, b] = rgb.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const pairs = [["text", "card"], ["text", "page"], ["soft", "card"], ["soft", "page"],
        ["on-strong", "honest"], ["on-strong", "bad"], ["bad", "card"], ["honest", "card"],
        ["good", "card"]];
    return pairs.map(([a, b]) => {
        const [x, y] = [light(a), light(b)];
        return { pair: a + " on " + b, is: (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05) };
    });
};

async function everybodyCanUseIt() {
    for (const colorScheme of ["light", "dark"])
        for (const tab of ["race", "plane"]) {
            const what = `${colorScheme}, ${tab}`;
            const phone = { viewport: { width: 360, height: 740 }, colorScheme, hasTouch: true };
            const page = await open(`#tab=${tab}&speed=5`, phone);
            if (tab === "race") await untilRound(page, 40); // somebody is accused by then
            const width = await page.evaluate(() => document.documentElement.scrollWidth);
            check(width <= 360, "no wider than a phone, " + what, width);
            same(await page.evaluate(overflowing), [], "nothing leaves its card, " + what);
            same(await page.evaluate(nameless), [], "everything has a name, " + what);
            for (const c of await page.evaluate(contrasts))
                check(c.is >= 4.5, `contrast, ${what}, ${c.pair}`, c.is);
            if (tab === "plane") {
                await page.locator("#board .point").nth(2).tap();
                same(await setting(page, "pbad"), 900, "a finger turns a point");
            }
            await page.screenshot({
                path: path.resolve(work, `phone_${colorScheme}_${tab}.png`), fullPage: true });
            await close(page);
        }
    const calm = await open("", { reducedMotion: "reduce" });
    same(await calm.textContent("#play"), "Play", "who wants no motion starts it");
    await calm.waitForTimeout(300);
    same(await ask(calm, "(p) => p.wasm._web_steps(0)"), 0, "until then nothing moves");
    await close(calm);
}

async function draw(file, hash, options) {
    const page = await open(hash, options);
    await ask(page, "(p) => { p.race.stop = 60; }");
    if (!/plane/.test(hash)) await untilRound(page, 60);
    await page.locator("footer").evaluate((e) => e.remove());
    await page.screenshot({ path: file, fullPage: true });
    await close(page);
}

async function drawAll() {
    const size = { viewport: { width: 980, height: 760 } };
    for (const colorScheme of ["light", "dark"])
        for (const tab of ["race", "plane"])
            await draw(path.resolve(work, `${colorScheme}_${tab}.png`), `#tab=${tab}`,
                { ...size, colorScheme });
    if (picture) await draw(picture, "", size);
}

async function main() {
    browser = await chromium.launch({
        executablePath, args: ["--no-sandbox"], timeout: PATIENCE });
    const only = process.env.ONLY; // a test by name
    for (const test of [learns, saysWhyItCannotBegin, holdsFrames, controlsAct, pausesAndSteps,
        agentsTurn, linksRestore, hostileLinks, refusalsAreExplained, everyChoiceRuns, legsMove,
        planeAnswers, tabsByKeyboard, everybodyCanUseIt, drawAll]) {
        const begin = Date.now(), before = failures;
        if (only && test.name !== only) continue;
        try {
            await test();
        } catch (error) {
            check(false, test.name, error.message);
        }
        for (const context of browser.contexts()) await context.close(); // of a test that failed
        console.log(`${failures > before ? "FAILED" : "ok"}  ${test.name} ` +
            `(${((Date.now() - begin) / 1000).toFixed(1)} s)`);
    }
    same(complaints, [], "the browser complains of nothing");
    await browser.close();
    console.log(`${checks} checks, ${failures} failed; pictures: ${work}/*.png`);
    process.exit(failures ? 1 : 0);
}

main().catch((error) => {
    console.log("FAILED: the browser does not start, or went away: " + error.message);
    process.exit(1);
});
