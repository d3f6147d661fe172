/* cartpole.h - CartPole-v1: a pole on a cart, two actions, 1 point a step, 500 steps at most
   SPDX-License-Identifier: MIT OR Unlicense

       cartpole pole;                         // yours; plain data
       rn_env env = cartpole_env(&pole);      // 4 observations, 2 actions

   The arithmetic is Gym's, operation by operation in double, with a sin and cos that round almost
   always correctly: the stored trajectories of Gym are met to the last bit.
   Observation: x, dx/dt, angle, d angle/dt.
   Action: 0 left, 1 right.
   Reward: 1 for every step.
   Terminated: |x| > 2.4 or |angle| > 12 degrees. Truncated: 500 steps. */
#ifndef CARTPOLE_H
#define CARTPOLE_H
#include "env.h"

typedef struct cartpole {
    double x, v, angle, spin;
    unsigned steps;
} cartpole;

ENV_BEGIN

ENV_FN void cartpole_observe(const cartpole *p, rn_real *obs) {
    obs[0] = (rn_real)p->x;
    obs[1] = (rn_real)p->v;
    obs[2] = (rn_real)p->angle;
    obs[3] = (rn_real)p->spin;
}

/* one Euler step of 0.02 s with a push of `force` newtons, to the right if it is positive; half:
   metres from the pivot to the middle of the pole */
ENV_INLINE rn_step_result cartpole_push(cartpole *p, double force, double half) {
    const double pole = 0.1, total = 0.1 + 1.0, moment = 0.1 * half, tau = 0.02;
    const double limit = 12 * 2 * 3.141592653589793 / 360;
    double s, c, push, turn, move;
    env_sincos_horner(p->angle, &s, &c);
    push = (force + moment * (p->spin * p->spin) * s) / total;
    turn = (9.8 * s - c * push) / (half * (4.0 / 3.0 - pole * (c * c) / total));
    move = push - moment * turn * c / total;
    p->x = p->x + tau * p->v;
    p->v = p->v + tau * move;
    p->angle = p->angle + tau * p->spin;
    p->spin = p->spin + tau * turn;
    p->steps++;
    if (p->x < -2.4 || p->x > 2.4 || p->angle < -limit || p->angle > limit) return RN_TERMINATED;
    return p->steps >= 500 ? RN_TRUNCATED : RN_RUNNING;
}

/* Gym's pole: 10 N to the left (0) or right (1), half a metre */
ENV_FN rn_step_result cartpole_move(cartpole *p, int right) {
    return cartpole_push(p, right ? 10.0 : -10.0, 0.5);
}

ENV_FN void cartpole_reset(void *self, const agg_rng *rng, rn_real *obs) {
    cartpole *p = (cartpole *)self;
    p->x = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->v = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->angle = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->spin = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->steps = 0;
    cartpole_observe(p, obs);
}

ENV_FN rn_step_result cartpole_step(void *self, const rn_real *act, const agg_rng *rng,
                                    rn_real *obs, double *reward) {
    cartpole *p = (cartpole *)self;
    const rn_step_result r = cartpole_move(p, act[0] > 0);
    (void)rng;
    cartpole_observe(p, obs);
    *reward = 1;
    return r;
}

/* 36 bytes: the four numbers and the step count */
ENV_FN void cartpole_save(const void *self, void *bytes) {
    const cartpole *p = (const cartpole *)self;
    const double state[4] = {p->x, p->v, p->angle, p->spin};
    unsigned char *to = (unsigned char *)bytes;
    int b;
    env_put(state, 4, to);
    for (b = 0; b < 4; b++) to[32 + b] = (unsigned char)(p->steps >> (8 * b));
}

/* refuses numbers that are not finite and more than 500 steps */
ENV_FN int cartpole_load(void *self, const void *bytes) {
    const unsigned char *from = (const unsigned char *)bytes;
    double state[4];
    unsigned steps = 0;
    cartpole *p = (cartpole *)self;
    int i;
    env_get(state, 4, from);
    for (i = 0; i < 4; i++) {
        steps |= (unsigned)from[32 + i] << (8 * i);
        if (!(state[i] - state[i] == 0)) return 0;
    }
    if (steps > 500) return 0;
    p->x = state[0];
    p->v = state[1];
    p->angle = state[2];
    p->spin = state[3];
    p->steps = steps;
    return 1;
}

ENV_FN rn_env cartpole_env(cartpole *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = self;
    e.reset = cartpole_reset;
    e.step = cartpole_step;
    e.obs_dim = 4;
    e.act_dim = 1;
    e.actions = 2;
    e.state_size = 36;
    e.save = cartpole_save;
    e.load = cartpole_load;
    return e;
}

ENV_END
#endif
