/* scaled.h - an environment whose observations are about as large as their noise: each number less
   its mean, divided by its deviation
   SPDX-License-Identifier: MIT OR Unlicense

       hopper body;
       scaled legs;                                    // yours; plain data, keep it where it is
       rn_env env = scaled_env(&legs, hopper_env(&body));
       scaled_measure(&legs, 100, 250, 0.6);           // 100 trajectories of random actions
       scaled_copy(&other, &legs);                     // the same units for every other agent

   All agents of a federation must have the SAME units, those that evaluate too: theta stands for a
   policy of the scaled observations, and with other units it is another policy. So the units are
   measured once, before training (same seed, same numbers: every agent can do it by itself), and
   stay. scaled.learns = 1 lets them follow what this agent sees, as running averages, never shared.
   Then n agents hold n policies, and their gradients are of n different things; it works as far as
   the agents see the same states. `make onesetting` has numbers. What was learnt is saved with the
   environment in the middle of a trajectory; between rounds nobody asks an environment for its
   state: keep the struct yourself, it is plain data.
   Rewards need no scaling: steps d/||d||, method.tuned, server.soft, server.kl and the ridge
   baseline are the same whatever positive factor the rewards have. */
#ifndef SCALED_H
#define SCALED_H
#include "env.h"
#include <math.h>
#include <string.h>

enum { SCALED_MOST = 32 }; /* numbers of an observation */

typedef struct scaled {
    rn_env inner;
    int learns;
    double n, mean[SCALED_MOST], squares[SCALED_MOST]; /* sum of (x - mean)^2 */
} scaled;

ENV_BEGIN

/* Welford's update */
ENV_FN void scaled_learn(scaled *s, const rn_real *obs) {
    size_t i;
    if (s->n < 1e9) s->n += 1;
    for (i = 0; i < s->inner.obs_dim; i++) {
        const double x = (double)obs[i], off = x - s->mean[i];
        s->mean[i] += off / s->n;
        s->squares[i] += off * (x - s->mean[i]);
    }
}

/* by the deviation; numbers that hardly change are divided by 10; at most +-10 */
ENV_FN void scaled_apply(const scaled *s, rn_real *obs) {
    size_t i;
    for (i = 0; i < s->inner.obs_dim && s->n > 1; i++) {
        const double var = s->squares[i] / s->n, off = (double)obs[i] - s->mean[i];
        const double x = var > 1e-12 ? off / sqrt(var) : 0.1 * off;
        obs[i] = (rn_real)(x > 10 ? 10 : x < -10 ? -10 : x);
    }
}

ENV_FN void scaled_see(scaled *s, rn_real *obs) {
    if (s->learns) scaled_learn(s, obs);
    scaled_apply(s, obs);
}

ENV_FN void scaled_reset(void *self, const agg_rng *rng, rn_real *obs) {
    scaled *s = (scaled *)self;
    s->inner.reset(s->inner.self, rng, obs);
    scaled_see(s, obs);
}

ENV_FN rn_step_result scaled_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                  double *reward) {
    scaled *s = (scaled *)self;
    const rn_step_result r = s->inner.step(s->inner.self, act, rng, obs, reward);
    scaled_see(s, obs);
    return r;
}

/* the inner environment's bytes, then the units */
ENV_FN void scaled_save(const void *self, void *bytes) {
    const scaled *s = (const scaled *)self;
    const int n = (int)s->inner.obs_dim;
    unsigned char *to = (unsigned char *)bytes;
    s->inner.save(s->inner.self, to);
    to += s->inner.state_size;
    env_put(&s->n, 1, to);
    env_put(s->mean, n, to + 8);
    env_put(s->squares, n, to + 8 + 8 * n);
}

/* finite, and no negative squares: then deviations are numbers, and observations within +-10 */
ENV_FN int scaled_load(void *self, const void *bytes) {
    scaled *s = (scaled *)self;
    const int n = (int)s->inner.obs_dim;
    const unsigned char *from = (const unsigned char *)bytes + s->inner.state_size;
    double x[1 + 2 * SCALED_MOST];
    int i;
    env_get(x, 1 + 2 * n, from);
    for (i = 0; i < 1 + 2 * n; i++)
        if (!(x[i] > -1e100 && x[i] < 1e100)) return 0;
    for (i = 0; i < 1 + 2 * n; i += i ? 1 : n + 1)
        if (x[i] < 0) return 0;
    if (!s->inner.load(s->inner.self, bytes)) return 0;
    s->n = x[0];
    memcpy(s->mean, x + 1, (size_t)n * sizeof *x);
    memcpy(s->squares, x + 1 + n, (size_t)n * sizeof *x);
    return 1;
}

/* obs_dim is 0, which everybody refuses, if the observations are too long */
ENV_FN rn_env scaled_env(scaled *self, rn_env inner) {
    rn_env e = inner;
    memset(self, 0, sizeof *self);
    self->inner = inner;
    e.self = self;
    e.reset = scaled_reset;
    e.step = scaled_step;
    if (inner.obs_dim > SCALED_MOST) e.obs_dim = 0;
    if (inner.state_size) {
        e.state_size = inner.state_size + 8 * (1 + 2 * inner.obs_dim);
        e.save = scaled_save;
        e.load = scaled_load;
    }
    return e;
}

ENV_END

/* units from random actions: uniform, or normal with deviation `std` */
ENV_FN void scaled_measure(scaled *s, int trajectories, int steps, double std) {
    rn_random random = rn_make_random(5, 1);
    const agg_rng rng = rn_random_rng(&random);
    rn_real obs[SCALED_MOST], act[SCALED_MOST];
    double reward;
    size_t j;
    int k, t;
    for (k = 0; k < trajectories; k++) {
        rn_step_result r = RN_RUNNING;
        s->inner.reset(s->inner.self, &rng, obs);
        for (t = 0; t < steps && r == RN_RUNNING; t++) {
            for (j = 0; j < s->inner.act_dim && j < SCALED_MOST; j++)
                act[j] = (rn_real)(s->inner.actions ? (double)rn_draw_below(&rng, s->inner.actions)
                                                    : std * rn_draw_normal(&rng));
            r = s->inner.step(s->inner.self, act, &rng, obs, &reward);
            scaled_learn(s, obs);
        }
    }
}

ENV_FN void scaled_copy(scaled *to, const scaled *from) {
    to->n = from->n;
    memcpy(to->mean, from->mean, sizeof to->mean);
    memcpy(to->squares, from->squares, sizeof to->squares);
}
#endif
