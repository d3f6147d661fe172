// The second tab: ten points of the plane to drag, every rule's answer, and what it promises.
"use strict";

const board = { points: [], answers: [], drag: null };
const ruleCount = () => kinds.rule.list.length;
const userUnits = () => 20 / (byId("board").clientWidth || 400); // of a pixel

function makeBoard() {
    const svg = byId("board");
    for (let k = -10; k <= 10; k += 2) {
        svgNode("line", { class: "grid", x1: k, x2: k, y1: -10, y2: 10 }, svg);
        svgNode("line", { class: "grid", y1: k, y2: k, x1: -10, x2: 10 }, svg);
    }
    board.ball = svgNode("circle", { class: "ball" }, svg);
    board.mean = [0, 1].map(() => svgNode("circle", { class: "mean" }, svg));
    for (let i = 0; i < POINTS; i++) board.points.push(makePoint(svg, i));
    for (let i = 0; i < ruleCount(); i++) {
        const group = svgNode("g", { class: "answer" }, svg);
        const cross = svgNode("path", { class: "cross" }, group);
        board.answers.push({ group, cross, label: svgNode("text", {}, group) });
    }
    svg.addEventListener("pointermove", dragPoint);
    svg.addEventListener("pointerup", dropPoint);
    svg.addEventListener("pointercancel", () => { board.drag = null; });
}

function makePoint(svg, i) {
    const group = svgNode("g", { class: "point", tabindex: 0, role: "button" }, svg);
    svgNode("circle", { class: "touch" }, group);
    svgNode("path", { class: "shape" }, group);
    svgNode("text", {}, group).textContent = i + 1;
    group.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return; // a menu's click is no answer
        board.drag = { i, x: event.clientX, y: event.clientY, moved: false };
        byId("board").setPointerCapture(event.pointerId);
        group.focus();
        event.preventDefault();
    });
    group.addEventListener("keydown", (event) => movePointByKey(event, i));
    return group;
}

function dragPoint(event) {
    const drag = board.drag;
    if (!drag) return;
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 4) drag.moved = true;
    if (!drag.moved) return;
    const box = byId("board").getBoundingClientRect(), side = Math.min(box.width, box.height);
    const at = (v, low, size) => ((v - low - size / 2) / side) * 20;
    placePoint(drag.i, at(event.clientX, box.left, box.width),
        -at(event.clientY, box.top, box.height));
}

function dropPoint() {
    const drag = board.drag;
    board.drag = null;
    if (drag && !drag.moved) turnPoint(drag.i);
    else writeLink();
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function movePointByKey(event, i) {
    const way = ARROWS[event.key], far = event.shiftKey ? 1 : 0.2;
    if (forBrowser(event)) return;
    if (event.key === "Enter" || event.key === " ") turnPoint(i);
    else if (way)
        placePoint(i, set.points[2 * i] + far * way[0], set.points[2 * i + 1] + far * way[1]);
    else return;
    event.preventDefault();
    writeLink();
}

function placePoint(i, x, y) {
    const inside = (v) => Math.min(Math.max(v, -9.7), 9.7);
    set.points = set.points.slice();
    set.points[2 * i] = inside(x);
    set.points[2 * i + 1] = inside(y);
    showBoard();
}

function turnPoint(i) {
    set.pbad ^= 1 << i;
    writeLink();
    showBoard();
}

function aggregate() {
    const address = wasm._web_points() / 4;
    set.points.forEach((v, i) => { wasm.HEAPF32[address + i] = v; });
    wasm._web_aggregate(set.pf, set.ppre, set.pbad);
    const flat = numbers(wasm._web_answers(), 5 * ruleCount());
    return Array.from({ length: ruleCount() }, (_, i) => {
        const [status, x, y, error, lambda] = flat.subarray(5 * i, 5 * i + 5);
        return { ok: status <= 1, x, y, error, lambda };
    });
}

function showBoard() {
    if (set.tab !== 1) return;
    const u = userUnits(), answers = aggregate();
    const [mx, my] = numbers(wasm._web_honest_mean(), 2), diameter = wasm._web_diameter();
    byId("board").style.setProperty("--u", u);
    showPoints(u);
    board.mean.forEach((ring, k) => {
        for (const [key, v] of [["cx", mx], ["cy", -my], ["r", (k ? 3 : 9) * u]])
            ring.setAttribute(key, v);
    });
    const marked = answers[set.mark];
    const bounded = marked.ok && marked.lambda >= 0 && marked.lambda < Infinity;
    board.ball.setAttribute("cx", mx);
    board.ball.setAttribute("cy", -my);
    board.ball.setAttribute("r", bounded ? marked.lambda * diameter : 0);
    showAnswers(answers, u);
    showTable(answers, diameter);
    byId("promise").textContent = promise(marked, diameter);
}

function showPoints(u) {
    board.points.forEach((group, i) => {
        const x = set.points[2 * i], y = set.points[2 * i + 1], bad = (set.pbad >>> i) & 1;
        const r = 11 * u, [touch, shape, label] = group.children;
        const disc = `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
        const diamond = `M0 ${-1.25 * r}L${1.25 * r} 0L0 ${1.25 * r}L${-1.25 * r} 0z`;
        group.setAttribute("transform", `translate(${x} ${-y})`);
        group.setAttribute("class", bad ? "point bad" : "point");
        group.setAttribute("aria-pressed", !!bad);
        group.setAttribute("aria-label", `Point ${i + 1}, ${bad ? "adversary" : "honest"}, at ` +
            `${x.toFixed(1)}, ${y.toFixed(1)}. Arrows move it, Enter turns it.`);
        touch.setAttribute("r", 20 * u);
        shape.setAttribute("d", bad ? diamond : disc);
        label.setAttribute("y", 4 * u);
    });
}

// a name stands beside its cross if no other name is there; the marked rule's is placed first
function showAnswers(answers, u) {
    const taken = [], r = 6 * u;
    const order = [set.mark, ...answers.keys()];
    for (const i of new Set(order)) {
        const { group, cross, label } = board.answers[i], a = answers[i];
        const name = kinds.rule.list[i], chosen = i === set.mark;
        const width = 7.5 * u * name.length, x = a.x + 9 * u, y = -a.y + 4 * u;
        const free = a.ok && taken.every((t) => Math.abs(t.y - y) > 13 * u || x > t.x + t.width ||
            x + width < t.x);
        group.setAttribute("class", chosen ? "answer chosen" : "answer");
        const plus = `M${a.x - r} ${-a.y}h${2 * r}M${a.x} ${-a.y - r}v${2 * r}`;
        cross.setAttribute("d", a.ok ? plus : "");
        label.setAttribute("x", x);
        label.setAttribute("y", y);
        label.textContent = free ? name : "";
        if (free) taken.push({ x, y, width });
        if (chosen) byId("board").append(group);
    }
}

function makeTable() {
    byId("rules").replaceChildren(...kinds.rule.list.map((name, i) => {
        const row = document.createElement("tr");
        row.innerHTML = `
            <td><label><input type="radio" name="mark" value="${i}">${name}</label></td>
            <td><span class="gauge"><i></i><u></u></span></td>
            <td class="number"></td><td class="number"></td>`;
        row.querySelector("input").addEventListener("change", () => {
            set.mark = i;
            writeLink();
            showBoard();
        });
        return row;
    }));
}

function showTable(answers, diameter) {
    const top = 2; // diameters
    answers.forEach((a, i) => {
        const row = byId("rules").children[i], [, gauge, error, lambda] = row.children;
        const [bar, line] = gauge.firstChild.children;
        const ratio = diameter > 0 ? a.error / diameter : 0, stated = a.ok && a.lambda >= 0;
        row.className = i === set.mark ? "chosen" : "";
        row.querySelector("input").checked = i === set.mark;
        row.title = a.ok ? "" : text(wasm._web_reason(i, set.pf, set.ppre));
        bar.style.transform = `scaleX(${a.ok ? Math.min(ratio / top, 1) : 0})`;
        bar.className = stated && ratio > a.lambda + 1e-5 ? "out" : "";
        line.hidden = !(stated && a.lambda <= top);
        line.style.left = `calc(${(100 * a.lambda) / top}% - 1px)`;
        error.textContent = a.ok ? ratio.toFixed(2) : "–";
        lambda.textContent = !stated ? "" : a.lambda < Infinity ? a.lambda.toFixed(2) : "∞";
    });
}

function promise(a, diameter) {
    const name = kinds.rule.list[set.mark], count = bits(set.pbad).length;
    if (!a.ok) return `${name} refuses: ${text(wasm._web_reason(set.mark, set.pf, set.ppre))}`;
    const found = `${name} is off by ${a.error.toFixed(2)}; the honest diameter is ` +
        `${diameter.toFixed(2)}.`;
    if (count > set.pf) return `${found} ${count} adversaries, f = ${set.pf}: nothing is promised.`;
    if (a.lambda < 0) return `${found} No lambda is stated for it${set.ppre ? " here" : ""}.`;
    if (a.lambda === Infinity) return `${found} It promises nothing: lambda is infinite.`;
    return `${found} Promised: at most ${a.lambda.toFixed(2)} × ${diameter.toFixed(2)} = ` +
        `${(a.lambda * diameter).toFixed(2)}.`;
}

function scatter() {
    set.points = set.points.map(() => +(18 * Math.random() - 9).toFixed(2));
    writeLink();
    showBoard();
}
