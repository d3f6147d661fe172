#!/usr/bin/env python3
"""Both headers from Python: a robust mean of arrays, and an environment written in Python that ten
agents, three of them adversaries, learn together.

    make shared && python3 examples/integrations/python/example.py build/shared
"""
import ctypes as c
import sys

import resnharpg


def aggregate(rn, rule, f, rows):
    """one row of many; a row may be None, which convicts its sender"""
    n, dims = len(rows), {len(r) for r in rows if r is not None}
    if len(dims) != 1:  # ctypes would fill a short row with zeros
        raise ValueError(f"rows of {sorted(dims)} numbers: all have as many, and one is there")
    dim = dims.pop()
    vector = rn.agg_real * dim
    # with numpy: row.ctypes.data_as(POINTER(c_float)), of rows that are float32 and contiguous
    held = [None if r is None else vector(*r) for r in rows]
    table = (c.POINTER(rn.agg_real) * n)(*[r and c.cast(r, c.POINTER(rn.agg_real)) for r in held])
    desc = rn.agg_make_desc(rule, n, dim, f)
    scratch = c.create_string_buffer(rn.agg_scratch_size(desc))
    out = vector()
    status = rn.agg_aggregate(desc, table, out, scratch, len(scratch), None)
    if status not in (rn.AGG_OK, rn.AGG_INEXACT):
        why = c.create_string_buffer(1024)
        fault = rn.agg_explain(desc, why, len(why))  # field, value and bound; or it is the rows
        raise ValueError((rn.agg_status_text(status) if fault == rn.AGG_OK else why.value).decode())
    return list(out)


class Middle:
    """Somebody stands at x, sees x, and is to find the middle: a step left (0) or right (1)."""

    def __init__(self, rn):
        self.rn, self.x = rn, 0.0
        self.env = rn.rn_env(obs_dim=1, act_dim=1, actions=2)
        self.env.reset = rn.callback(rn.rn_env, "reset", self.reset)
        self.env.step = rn.callback(rn.rn_env, "step", self.step)

    def reset(self, _self, rng, obs):
        self.x = 2 * self.rn.rn_draw_uniform(rng) - 1
        obs[0] = self.x

    def step(self, _self, act, _rng, obs, reward):
        self.x += 0.1 if act[0] > 0 else -0.1
        obs[0] = self.x
        reward[0] = -self.x * self.x
        return self.rn.RN_RUNNING


class Broken(Middle):
    """raises in one step, as any Python may"""
    steps = 0

    def step(self, *given):
        self.steps += 1
        if self.steps == 500:
            raise ZeroDivisionError("in step 500")
        return super().step(*given)


def check(rn, status, desc=None):
    rn.raise_kept()  # of an environment: the call may have gone on without that agent
    if status != rn.RN_OK:
        why = c.create_string_buffer(1024)
        if desc:
            rn.rn_trainer_explain(desc, why, len(why))
        raise RuntimeError(why.value.decode() or rn.rn_status_text(status).decode())


def learn(rn, rounds, first=Middle):
    tasks = [first(rn)] + [Middle(rn) for _ in range(10)]  # ten train, the eleventh evaluates
    envs = (rn.rn_env * 11)(*[t.env for t in tasks])
    net, trainer = rn.rn_net(), c.c_void_p()
    shape = rn.rn_make_net_desc(1, 2)
    shape.hidden[0] = 8
    policy = rn.rn_make_net_policy(net, shape)
    desc = rn.rn_make_trainer_desc(10, 3, envs, policy)
    desc.method.horizon = 20
    desc.adversaries = 3
    before, after = c.c_double(), c.c_double()
    check(rn, rn.rn_trainer_create(trainer, desc), desc)
    try:
        check(rn, rn.rn_trainer_evaluate(trainer, tasks[10].env, 100, before))
        for _ in range(rounds):
            check(rn, rn.rn_trainer_run_round(trainer))
        check(rn, rn.rn_trainer_evaluate(trainer, tasks[10].env, 100, after))
    finally:
        rn.rn_trainer_destroy(trainer)
    return before.value, after.value


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return sys.argv[1:] not in (["--help"], ["-h"])
    rn = resnharpg.load(sys.argv[1])
    rows = [[1, 10], [3e38, -3e38], [2, 20], None, [3, 30]]
    robust = aggregate(rn, rn.AGG_MDA, 2, rows)
    print("MDA of five rows, one a giant, one missing:", robust)
    try:
        aggregate(rn, rn.AGG_MDA, 1, [[1, 10], [2], [3, 30]])
        return True  # a row that is too short must not become another one
    except ValueError as mistake:
        print("a row that is too short:", mistake)
    try:
        aggregate(rn, rn.AGG_MDA, 2, [[1, 10], [2, 20], [3, 30]])
        return True
    except ValueError as mistake:
        print("two liars of three:", mistake)
        if "f is 2" not in str(mistake):
            return True
    try:
        learn(rn, 50, Broken)
        return True
    except ZeroDivisionError as mistake:
        print("an environment that raises:", mistake)
    before, after = learn(rn, 50)
    print(f"an environment in Python: return {before:.0f} before, {after:.0f} after")
    return not (robust == [2, 20] and after > -5)


if __name__ == "__main__":
    sys.exit(main())
