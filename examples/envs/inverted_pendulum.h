/* inverted_pendulum.h - MuJoCo's InvertedPendulum (Gym v2, v4): push a cart on a rail so that its pole stays up
   SPDX-License-Identifier: MIT OR Unlicense

       inverted_pendulum pole;                         // yours; plain data
       rn_env env = inverted_pendulum_env(&pole);      // 4 observations: x, angle, dx/dt, d angle/dt; 1 action, -3 .. 3

   The model of MuJoCo 2.2.2 in double: a cart of 10.5 kg on a rail of +-1 m, a pole of 5 kg that leans by 0.1 degrees,
   friction, soft stops at the rail's ends and at +-90 degrees. 25 control steps a second, of two Runge-Kutta steps.
   One control step is within 1e-14 of MuJoCo's. The same bits everywhere: own sin and cos, no fused multiply-add.
   Action: the cart is pushed with 100 N times it, clamped to +-3; a NaN counts as 0. Reward: 1 for every step, the last
   one too. Ends: |angle| > 0.2 or anything not finite (terminated). It never truncates: Gym's limit of 1000 steps is
   the horizon of the trainer and of the evaluation. */
#ifndef INVERTED_PENDULUM_H
#define INVERTED_PENDULUM_H
#include "../../resnharpg.h"
#include <string.h> /* memcpy, memset */

typedef struct inverted_pendulum {
    double x, angle, v, spin; /* the cart's place; the pole's angle from upright, positive towards +x; their speeds */
} inverted_pendulum;

#if defined(__GNUC__) && !defined(__clang__) && !defined(__TINYC__)
  #pragma GCC push_options
  #pragma GCC optimize("fp-contract=off", "no-tree-slp-vectorize") /* pairs of lanes cost more than they save here */
  #define INVERTED_PENDULUM_FN static __attribute__((unused))
#elif defined(__GNUC__)
  #define INVERTED_PENDULUM_FN static __attribute__((unused))
#else
  #define INVERTED_PENDULUM_FN static
#endif
#if defined(__clang__)
  #pragma STDC FP_CONTRACT OFF
#endif

/* sin and cos to about one unit in the last place: a = k pi/2 + r with |r| <= pi/4, then the series. Adding 1.5 * 2^52
   rounds to an integer and leaves it in the low bits. Angles beyond 1e5, which no run reaches, and NaN count as 0. */
INVERTED_PENDULUM_FN void inverted_pendulum_sincos(double a, double *s, double *c) {
    const double round = 6755399441055744.0;
    double k, r, z, z2, h, w, p, q;
    uint64_t bits;
    if (!(a < 1e5 && a > -1e5)) a = 0;
    k = a * 0.6366197723675814 + round;
    memcpy(&bits, &k, 8);
    k -= round;
    r = (a - k * 1.5707963267341256) - k * 6.077100506506192e-11; /* pi/2 in two parts; k times the first is exact */
    z = r * r;
    h = 0.5 * z;
    w = 1.0 - h;
    z2 = z * z;
    p = (-1.6666666666666666e-1 + z * 8.333333333333333e-3) + z2 * ((-1.984126984126984e-4 +
        z * 2.7557319223985893e-6) + z2 * ((-2.505210838544172e-8 + z * 1.6059043836821613e-10) +
        z2 * -7.647163731819816e-13));
    q = (4.1666666666666664e-2 + z * -1.388888888888889e-3) + z2 * ((2.48015873015873e-5 +
        z * -2.755731922398589e-7) + z2 * ((2.08767569878681e-9 + z * -1.1470745597729725e-11) +
        z2 * 4.779477332387385e-14));
    p = r + r * z * p;
    q = w + (((1.0 - w) - h) + z2 * q);
    *s = bits & 1 ? q : p;
    *c = bits & 1 ? p : q;
    if (bits & 2) *s = -*s;
    if ((bits + 1) & 2) *c = -*c;
}

/* A stop: once a joint is past its range it is wanted to accelerate by `aim` or more towards the inside (side = +1 or
   -1). The force f >= 0 that sees to it gives way: side * acceleration - aim = -soft f. weight: 1/inertia at rest. */
typedef struct inverted_pendulum_stop { double side, aim, soft; } inverted_pendulum_stop;

INVERTED_PENDULUM_FN inverted_pendulum_stop inverted_pendulum_stop_at(double q, double v, double range, double weight) {
    const double d0 = 0.9, d1 = 0.95, width = 0.001, time = 0.04; /* impedance rises from d0 to d1; time constant */
    const double depth = (q < 0 ? -q : q) - range, x = depth / width;
    inverted_pendulum_stop stop = { 0, -1, 1 }; /* inside: no force is wanted, whatever the acceleration */
    double d;
    if (!(depth > 0)) return stop;
    d = x >= 1 ? d1 : d0 + (d1 - d0) * (x <= 0.5 ? 2 * x * x : 1 - 2 * (1 - x) * (1 - x));
    stop.side = q < 0 ? 1 : -1;
    stop.aim = depth * d / (d1 * d1 * time * time) - 2 / (d1 * time) * (stop.side * v);
    stop.soft = weight * (1 - d) / d;
    return stop;
}
/* forces f >= 0 of two stops with slacks w = A f + b >= 0, of which f_i w_i = 0; A is symmetric and positive definite,
   so there is one answer: the second stop silent, or the first, or both push */
INVERTED_PENDULUM_FN void inverted_pendulum_push_back(double a00, double a01, double a11, double b0, double b1,
                                                      double *f0, double *f1) {
    *f0 = b0 < 0 ? -b0 / a00 : 0;
    *f1 = 0;
    if (a01 * *f0 + b1 >= 0) return;
    *f0 = 0;
    *f1 = b1 < 0 ? -b1 / a11 : 0;
    if (a01 * *f1 + b0 >= 0) return;
    *f0 = (a01 * b1 - a11 * b0) / (a00 * a11 - a01 * a01);
    *f1 = (a01 * b0 - a00 * b1) / (a00 * a11 - a01 * a01);
}
/* accelerations under a force on the cart: M (dv, dspin) = forces, with the pole's centre of mass at (px, pz) from the
   hinge, so that it moves with (v + pz spin, -px spin) */
INVERTED_PENDULUM_FN void inverted_pendulum_accelerate(const inverted_pendulum *p, double force,
                                                       double *dv, double *dspin) {
    const double total = 15.490567153329286, pole = 5.0185916413633063, inertia = 0.64042426924369633; /* about hinge */
    const double lean = 0.0005, half = 0.3, gravity = 9.81, friction = 1;
    const inverted_pendulum_stop rail = inverted_pendulum_stop_at(p->x, p->v, 1, 0.083674338058595865);
    const inverted_pendulum_stop flat = inverted_pendulum_stop_at(p->angle, p->spin, 1.5707963267948966,
                                                                  2.023912919848819);
    double s, c, px, pz, m, by_det, push, turn, f0, f1;
    inverted_pendulum_sincos(p->angle, &s, &c);
    px = lean * c + half * s;
    pz = half * c - lean * s;
    m = pole * pz;
    by_det = 1 / (total * inertia - m * m);
    push = force - friction * p->v + pole * px * (p->spin * p->spin);
    turn = pole * gravity * px - friction * p->spin;
    if (rail.side != 0 || flat.side != 0) {
        inverted_pendulum_push_back(inertia * by_det + rail.soft, -m * by_det * rail.side * flat.side,
                                    total * by_det + flat.soft,
                                    rail.side * (inertia * push - m * turn) * by_det - rail.aim,
                                    flat.side * (total * turn - m * push) * by_det - flat.aim, &f0, &f1);
        push += rail.side * f0;
        turn += flat.side * f1;
    }
    *dv = (inertia * push - m * turn) * by_det;
    *dspin = (total * turn - m * push) * by_det;
}
/* p + h (speed of `at`, acceleration) */
INVERTED_PENDULUM_FN inverted_pendulum inverted_pendulum_ahead(const inverted_pendulum *p, double h,
                                                               const inverted_pendulum *at, double dv, double dspin) {
    inverted_pendulum next;
    next.x     = p->x     + h * at->v;
    next.angle = p->angle + h * at->spin;
    next.v     = p->v     + h * dv;
    next.spin  = p->spin  + h * dspin;
    return next;
}
/* one Runge-Kutta step of 0.02 s */
INVERTED_PENDULUM_FN void inverted_pendulum_physics(inverted_pendulum *p, double ctrl) {
    const double h = 0.02, force = 100 * (ctrl > 3 ? 3 : ctrl < -3 ? -3 : ctrl == ctrl ? ctrl : 0);
    inverted_pendulum k2, k3, k4;
    double v1, v2, v3, v4, s1, s2, s3, s4;
    inverted_pendulum_accelerate(p, force, &v1, &s1);
    k2 = inverted_pendulum_ahead(p, 0.5 * h, p, v1, s1);
    inverted_pendulum_accelerate(&k2, force, &v2, &s2);
    k3 = inverted_pendulum_ahead(p, 0.5 * h, &k2, v2, s2);
    inverted_pendulum_accelerate(&k3, force, &v3, &s3);
    k4 = inverted_pendulum_ahead(p, h, &k3, v3, s3);
    inverted_pendulum_accelerate(&k4, force, &v4, &s4);
    p->x     += h / 6 * (p->v    + 2 * (k2.v    + k3.v)    + k4.v);
    p->angle += h / 6 * (p->spin + 2 * (k2.spin + k3.spin) + k4.spin);
    p->v     += h / 6 * (v1 + 2 * (v2 + v3) + v4);
    p->spin  += h / 6 * (s1 + 2 * (s2 + s3) + s4);
}
/* one control step: two physics steps */
INVERTED_PENDULUM_FN rn_result inverted_pendulum_move(inverted_pendulum *p, double ctrl) {
    double zero; /* NaN if a number is not finite */
    inverted_pendulum_physics(p, ctrl);
    inverted_pendulum_physics(p, ctrl);
    zero = 0 * p->x + 0 * p->angle + 0 * p->v + 0 * p->spin;
    return zero == 0 && p->angle <= 0.2 && p->angle >= -0.2 ? RN_RUNNING : RN_TERMINATED;
}
INVERTED_PENDULUM_FN void inverted_pendulum_observe(const inverted_pendulum *p, rn_real *obs) {
    obs[0] = (rn_real)p->x;
    obs[1] = (rn_real)p->angle;
    obs[2] = (rn_real)p->v;
    obs[3] = (rn_real)p->spin;
}
INVERTED_PENDULUM_FN void inverted_pendulum_reset(void *self, const agg_rng *rng, rn_real *obs) {
    inverted_pendulum *p = (inverted_pendulum *)self;
    p->x     = 0.02 * rn_uniform(rng) - 0.01;
    p->angle = 0.02 * rn_uniform(rng) - 0.01;
    p->v     = 0.02 * rn_uniform(rng) - 0.01;
    p->spin  = 0.02 * rn_uniform(rng) - 0.01;
    inverted_pendulum_observe(p, obs);
}
INVERTED_PENDULUM_FN rn_result inverted_pendulum_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                                      double *reward) {
    inverted_pendulum *p = (inverted_pendulum *)self;
    const rn_result r = inverted_pendulum_move(p, (double)act[0]);
    (void)rng;
    inverted_pendulum_observe(p, obs);
    *reward = 1;
    return r;
}
/* 32 bytes: the four numbers, little-endian on every machine */
INVERTED_PENDULUM_FN void inverted_pendulum_save(const void *self, void *bytes) {
    const inverted_pendulum *p = (const inverted_pendulum *)self;
    const double state[4] = { p->x, p->angle, p->v, p->spin };
    unsigned char *to = (unsigned char *)bytes;
    uint64_t bits;
    int i, b;
    for (i = 0; i < 4; i++) {
        memcpy(&bits, &state[i], 8);
        for (b = 0; b < 8; b++) to[8 * i + b] = (unsigned char)(bits >> (8 * b));
    }
}
/* refuses NaN and numbers beyond 1000, which no run reaches */
INVERTED_PENDULUM_FN int inverted_pendulum_load(void *self, const void *bytes) {
    const unsigned char *from = (const unsigned char *)bytes;
    inverted_pendulum *p = (inverted_pendulum *)self;
    double state[4];
    uint64_t bits;
    int i, b;
    for (i = 0; i < 4; i++) {
        for (b = 0, bits = 0; b < 8; b++) bits |= (uint64_t)from[8 * i + b] << (8 * b);
        memcpy(&state[i], &bits, 8);
        if (!(state[i] <= 1000 && state[i] >= -1000)) return 0;
    }
    p->x = state[0];
    p->angle = state[1];
    p->v = state[2];
    p->spin = state[3];
    return 1;
}
INVERTED_PENDULUM_FN rn_env inverted_pendulum_env(inverted_pendulum *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = self;
    e.reset = inverted_pendulum_reset;
    e.step = inverted_pendulum_step;
    e.obs_dim = 4;
    e.act_dim = 1;
    e.act_low = -3;
    e.act_high = 3;
    e.state_size = 32;
    e.save = inverted_pendulum_save;
    e.load = inverted_pendulum_load;
    return e;
}
#if defined(__clang__)
  #pragma STDC FP_CONTRACT DEFAULT
#elif defined(__GNUC__) && !defined(__TINYC__)
  #pragma GCC pop_options
#endif
#endif
