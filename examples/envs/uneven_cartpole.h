/* uneven_cartpole.h - CartPole whose pole, motor and rewards are its own: for federations whose
   agents do not live in the same world
   SPDX-License-Identifier: MIT OR Unlicense

       uneven_cartpole pole;                             // yours; plain data
       rn_env env = uneven_cartpole_env(&pole, 0.25, 14, 0);

   The arithmetic is cartpole.h's; 0.5, 10 and 0 are Gym's numbers, and give its bits.
   half:  metres from the pivot to the middle of the pole
   force: newtons of a push
   noise: deviation of a normal number added to every reward. Only training sees it: evaluate in an
   environment without it. */
#ifndef UNEVEN_CARTPOLE_H
#define UNEVEN_CARTPOLE_H
#include "cartpole.h"

typedef struct uneven_cartpole {
    cartpole pole; /* first: cartpole_reset, _save and _load serve this one too */
    double half, force, noise;
} uneven_cartpole;

ENV_BEGIN

ENV_FN rn_step_result uneven_cartpole_step(void *self, const rn_real *act, const agg_rng *rng,
                                           rn_real *obs, double *reward) {
    uneven_cartpole *u = (uneven_cartpole *)self;
    const double force = act[0] > 0 ? u->force : -u->force;
    const rn_step_result r = cartpole_push(&u->pole, force, u->half);
    cartpole_observe(&u->pole, obs);
    *reward = u->noise > 0 ? 1 + u->noise * rn_draw_normal(rng) : 1;
    return r;
}

ENV_FN rn_env uneven_cartpole_env(uneven_cartpole *self, double half, double force, double noise) {
    rn_env e = cartpole_env(&self->pole);
    e.self = self;
    e.step = uneven_cartpole_step;
    self->half = half;
    self->force = force;
    self->noise = noise;
    return e;
}

ENV_END
#endif
