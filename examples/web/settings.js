// What the page can be set to: the lists that the headers have names for, and the link that holds
// it all. Words of a link may come from anybody: what is unknown or out of range is not taken.
"use strict";

let wasm; // playground.c, once it is there
const SPEEDS = [1, 2, 5, 10, 20, Infinity]; // rounds a second, at most
const POINTS = 10; // of the plane
const forBrowser = (key) => key.ctrlKey || key.altKey || key.metaKey; // back, find, ..: not ours
const byId = (id) => document.getElementById(id);
const text = (address) => wasm.UTF8ToString(address);
const numbers = (address, count) => wasm.HEAPF64.subarray(address / 8, address / 8 + count);
const svgNode = (name, attributes, parent) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (parent) parent.append(node);
    return node;
};

// ---- settings: what a link holds, and the controls that show it

// of an enumeration of the headers, by name: names stay when numbers change
function names(nameOf) {
    const list = [];
    for (let i = 0; nameOf(i); i++) list.push(text(nameOf(i)));
    return list;
}

const whole = (low, high) => ({
    read: (word) => (/^\d+$/.test(word) && +word >= low && +word <= high ? +word : undefined),
    write: String,
});
const oneOf = (list) => ({
    read: (word) => (list.includes(word) ? list.indexOf(word) : undefined),
    write: (index) => list[index],
    list,
});
// a set of numbers from 1 on, as bits: "8.9.10"
const members = (most) => ({
    read: (word) => {
        const list = word === "" ? [] : word.split(".").map(Number);
        const good = list.every((i) => Number.isInteger(i) && i >= 1 && i <= most);
        return good ? list.reduce((mask, i) => mask | (1 << (i - 1)), 0) : undefined;
    },
    write: (mask) => bits(mask).map((i) => i + 1).join("."),
});
const places = {
    read: (word) => {
        const list = word.split("_");
        const good = list.length === 2 * POINTS &&
            list.every((x) => /^-?\d+(\.\d+)?$/.test(x) && Math.abs(x) <= 10);
        return good ? list.map(Number) : undefined;
    },
    write: (list) => list.map((x) => +x.toFixed(2)).join("_"),
};

const bits = (mask) => [...Array(32).keys()].filter((i) => (mask >>> i) & 1);

// seven honest points and three adversaries, near enough to be taken for honest by some
const FIRST_POINTS = [
    -2.5, 1, -1, 2.6, -3.6, -0.8, -0.6, -1.2, 0.9, 1.1, -2, -2.4, 1.6, 3.4, 3.2, -4.2, 4.4, -2.9,
    2.2, -5.6,
];

// kind, value at first; filled in when the lists are known
let kinds;
const first = {
    tab: 0, task: 0, n: 10, f: 3, rule: 0, pre0: 0, pre1: 0, attack: 0, seed: 1, speed: 3,
    bad: 0b1110000000, pf: 3, ppre: 0, pbad: 0b1110000000, mark: 0, points: FIRST_POINTS,
};
const set = { ...first };

function makeKinds() {
    const rule = oneOf(names(wasm._web_rule_name));
    const pre = oneOf(names(wasm._web_pre_name));
    kinds = {
        tab: oneOf(["race", "plane"]),
        task: oneOf(names(wasm._web_task_name)),
        n: whole(3, 20),
        f: whole(0, 9),
        rule,
        pre0: pre,
        pre1: pre,
        attack: oneOf(names(wasm._web_attack_name)),
        seed: whole(0, 0xffffffff),
        speed: whole(0, SPEEDS.length - 1),
        bad: members(20),
        pf: whole(0, 4),
        ppre: pre,
        pbad: members(POINTS),
        mark: rule,
        points: places,
    };
}

// the rule of a task's recipe, and what stands before it
const recipeOf = (task) => ({
    rule: wasm._web_recipe_rule(task),
    pre0: wasm._web_recipe_pre(task, 0),
    pre1: wasm._web_recipe_pre(task, 1),
});
const firstOf = (task) => ({ ...first, task, ...recipeOf(task) });

// what is missing, unknown or out of range is as it is at first
function readLink() {
    const words = new URLSearchParams(location.hash.slice(1));
    const given = (key) => (words.has(key) ? kinds[key].read(words.get(key)) : undefined);
    const usual = firstOf(given("task") || 0);
    for (const key in kinds) {
        const value = given(key);
        set[key] = value === undefined ? usual[key] : value;
    }
    fit();
}

function writeLink() {
    const words = new URLSearchParams(), usual = { ...firstOf(set.task), task: 0 };
    for (const key in kinds) {
        const word = kinds[key].write(set[key]);
        if (word !== kinds[key].write(usual[key])) words.set(key, word);
    }
    history.replaceState(null, "", "#" + words);
}

// f below half of n; adversaries among the agents
function fit() {
    set.f = Math.min(set.f, mostF());
    set.bad &= (1 << set.n) - 1;
}

const mostF = () => Math.floor((set.n - 1) / 2);

function showSettings() {
    byId("f").max = mostF();
    for (const key in kinds) if (byId(key)) byId(key).value = set[key];
    for (const key of ["n", "f", "pf"]) byId(key + "-text").value = set[key];
    const speed = SPEEDS[set.speed];
    byId("speed-text").value = speed < Infinity ? speed + " rounds/s" : "as fast as it can";
}

function fillLists() {
    for (const key of ["task", "rule", "pre0", "pre1", "attack", "ppre"])
        byId(key).replaceChildren(...kinds[key].list.map((name, i) => new Option(name, i)));
}
