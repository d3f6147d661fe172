/* cartpole.h - CartPole-v1: a pole on a cart, two actions, 1 point a step, 500 steps at most
   SPDX-License-Identifier: MIT OR Unlicense

       cartpole pole;                         // yours; plain data
       rn_env env = cartpole_env(&pole);      // 4 observations: x, dx/dt, angle, d angle/dt; actions 0 left, 1 right

   The arithmetic is Gym's, operation by operation in double, with a sin and cos that round almost
   always correctly: the stored trajectories of Gym are met to the last bit. Ends: |x| > 2.4 or
   |angle| > 12 degrees (terminated), 500 steps (truncated). */
#ifndef CARTPOLE_H
#define CARTPOLE_H
#include "../../resnharpg.h"
#include <string.h> /* memcpy, memset */

typedef struct cartpole {
    double x, v, angle, spin;
    unsigned steps;
} cartpole;

#if defined(__GNUC__) && !defined(__clang__) && !defined(__TINYC__)
  #pragma GCC push_options
  #pragma GCC optimize("fp-contract=off",                                                          \
                       "no-tree-slp-vectorize") /* pairs of lanes cost more than they save here */
  #define CARTPOLE_FN static __attribute__((unused))
#elif defined(__GNUC__)
  #define CARTPOLE_FN static __attribute__((unused))
#else
  #define CARTPOLE_FN static
#endif
#if defined(__clang__)
  #pragma STDC FP_CONTRACT OFF
#endif

/* sin and cos for |a| <= 0.8, error just over half a unit in the last place for |a| < 0.25: the
   series, with what 1 - z/2 loses put back */
CARTPOLE_FN void cartpole_series(double a, double *s, double *c) {
    const double z = a * a, h = 0.5 * z, w = 1.0 - h;
    const double p =
        -1.6666666666666666e-1 +
        z * (8.333333333333333e-3 +
             z * (-1.984126984126984e-4 +
                  z * (2.7557319223985893e-6 +
                       z * (-2.505210838544172e-8 +
                            z * (1.6059043836821613e-10 + z * -7.647163731819816e-13)))));
    const double q = 4.1666666666666664e-2 +
                     z * (-1.388888888888889e-3 +
                          z * (2.48015873015873e-5 +
                               z * (-2.755731922398589e-7 +
                                    z * (2.08767569878681e-9 + z * (-1.1470745597729725e-11 +
                                                                    z * 4.779477332387385e-14)))));
    *s = a + a * z * p;
    *c = w + (((1.0 - w) - h) + z * z * q);
}

/* larger angles, which only come after the end: halve, then double */
CARTPOLE_FN void cartpole_sincos(double a, double *s, double *c) {
    int halvings = 0;
    if (!(a < 1e6 && a > -1e6)) a = 0;
    for (; a > 0.8 || a < -0.8; a *= 0.5) halvings++;
    cartpole_series(a, s, c);
    for (; halvings > 0; halvings--) {
        const double t = 2.0 * *s * *c;
        *c = 1.0 - 2.0 * *s * *s;
        *s = t;
    }
}

CARTPOLE_FN void cartpole_observe(const cartpole *p, rn_real *obs) {
    obs[0] = (rn_real)p->x;
    obs[1] = (rn_real)p->v;
    obs[2] = (rn_real)p->angle;
    obs[3] = (rn_real)p->spin;
}

/* one Euler step of 0.02 s with a push of 10 N to the left (0) or right (1) */
CARTPOLE_FN rn_step_result cartpole_move(cartpole *p, int right) {
    const double pole = 0.1, total = 0.1 + 1.0, half = 0.5, moment = 0.1 * 0.5, tau = 0.02;
    const double limit = 12 * 2 * 3.141592653589793 / 360;
    const double force = right ? 10.0 : -10.0;
    double s, c, push, turn, move;
    cartpole_sincos(p->angle, &s, &c);
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

CARTPOLE_FN void cartpole_reset(void *self, const agg_rng *rng, rn_real *obs) {
    cartpole *p = (cartpole *)self;
    p->x = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->v = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->angle = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->spin = 0.1 * rn_draw_uniform(rng) - 0.05;
    p->steps = 0;
    cartpole_observe(p, obs);
}

CARTPOLE_FN rn_step_result cartpole_step(void *self, const rn_real *act, const agg_rng *rng,
                                         rn_real *obs, double *reward) {
    cartpole *p = (cartpole *)self;
    const rn_step_result r = cartpole_move(p, act[0] > 0);
    (void)rng;
    cartpole_observe(p, obs);
    *reward = 1;
    return r;
}

/* 36 bytes: the four numbers and the step count, little-endian on every machine */
CARTPOLE_FN void cartpole_save(const void *self, void *bytes) {
    const cartpole *p = (const cartpole *)self;
    const double state[4] = {p->x, p->v, p->angle, p->spin};
    unsigned char *to = (unsigned char *)bytes;
    uint64_t bits;
    int i, b;
    for (i = 0; i < 4; i++) {
        memcpy(&bits, &state[i], 8);
        for (b = 0; b < 8; b++) to[8 * i + b] = (unsigned char)(bits >> (8 * b));
    }
    for (b = 0; b < 4; b++) to[32 + b] = (unsigned char)(p->steps >> (8 * b));
}

/* refuses numbers that are not finite and more than 500 steps */
CARTPOLE_FN int cartpole_load(void *self, const void *bytes) {
    const unsigned char *from = (const unsigned char *)bytes;
    double state[4];
    uint64_t bits;
    unsigned steps = 0;
    cartpole *p = (cartpole *)self;
    int i, b;
    for (i = 0; i < 4; i++) {
        for (b = 0, bits = 0; b < 8; b++) bits |= (uint64_t)from[8 * i + b] << (8 * b);
        memcpy(&state[i], &bits, 8);
        if (!(state[i] - state[i] == 0)) return 0;
    }
    for (b = 0; b < 4; b++) steps |= (unsigned)from[32 + b] << (8 * b);
    if (steps > 500) return 0;
    p->x = state[0];
    p->v = state[1];
    p->angle = state[2];
    p->spin = state[3];
    p->steps = steps;
    return 1;
}

CARTPOLE_FN rn_env cartpole_env(cartpole *self) {
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
#if defined(__clang__)
  #pragma STDC FP_CONTRACT DEFAULT
#elif defined(__GNUC__) && !defined(__TINYC__)
  #pragma GCC pop_options
#endif
#endif
