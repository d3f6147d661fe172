/* inverted_double_pendulum.h - MuJoCo's InvertedDoublePendulum (Gym v2, v4): push a cart on a rail
   so that two poles, one on top of the other, stay up
   SPDX-License-Identifier: MIT OR Unlicense

       inverted_double_pendulum poles;                         // yours; plain data
       rn_env env = inverted_double_pendulum_env(&poles);      // 11 observations, 1 action, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; inverted_double_pendulum_env_v2() has the
   masses of the -v2 tasks. 20 control steps a second, of five Runge-Kutta steps.
   Observation: cart's place, sin of the two hinges, cos of them, the three speeds and the three
   forces of the rail's ends, both clipped to +-10. Action: 500 N times it on the cart, clamped to
   +-1.
   Reward: 10 - 0.01 x^2 - (z - 2)^2 - 0.001 w1^2 - 0.005 w2^2, with (x, z) the tip and w the speeds
   of the hinges. Terminated: z <= 1; and, with reward 0, an action that is not finite. As in Gym,
   tip and forces are those of the last evaluation inside the last Runge-Kutta step, not of the
   state after it. It never truncates: Gym's limit of 1000 steps is the horizon of the trainer and
   of the evaluation. */
#ifndef INVERTED_DOUBLE_PENDULUM_H
#define INVERTED_DOUBLE_PENDULUM_H
#include "planar.h"

typedef struct inverted_double_pendulum {
    double q[3],
        v[3]; /* the cart's place, angles of the lower pole and of the upper against it; their speeds */
    double tip_x, tip_z; /* as of the last evaluation ... */
    double force[3];     /* ... of the rail's ends on the joints */
    int v2;              /* masses of the -v2 tasks */
} inverted_double_pendulum;

/* clang-format off */
static const planar_model inverted_double_pendulum_model = {
    "inverted_double_pendulum", 3, 3, 0, /* joints, capsules, pairs of them */
    0, 5, 0.01, 1e-5, -9.81, 1, /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    { 0.02, 0.9, 0.95, 0.001, 0.01 }, { 0.02, 0.9, 0.95, 0.001, 0 }, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    { { "slider", "cart",  -1, PLANAR_SLIDE_X, 0, 0,   0, -1, 1, 0, 0.05, 0, 500 },
      { "hinge",  "pole",  0,  PLANAR_HINGE,   0, 0,   0, 0,  0, 0, 0.05, 0, 0 },
      { "hinge2", "pole2", 1,  PLANAR_HINGE,   0, 0.6, 0, 0,  0, 0, 0.05, 0, 0 } },
    /* mass, centre, inertia, weight of the body, of the joint */
    { { { 10.471975511965979, 0, 0,   0.12671090369478843, 0.028224206395898916, 0.084672619187696752 },
        { 4.1987385815227585, 0, 0.3, 0.15497066975016235, 0.035041528963034883, 1.3837110638769503 },
        { 4.1987385815227585, 0, 0.3, 0.15497066975016235, 0.066862984045003335, 8.4589262386396094 } },
      { { 9.4247779607693811, 0, 0,   0.09424777960769383, 0.031152163768743552, 0.093456491306230655 },
        { 4.1033127046699676, 0, 0.3, 0.14433402438676612, 0.036774120591692772, 1.4773337543564817 },
        { 4.1033127046699676, 0, 0.3, 0.14433402438676612, 0.068754783838528968, 9.0035474340194046 } } },
    /* name, joint, from, to, radius, friction */
    { { "cart",   0, -0.1, 0,   0.1, 0, 0.1,   0 },
      { "cpole",  1, 0,    0.6, 0,   0, 0.045, 0 },
      { "cpole2", 2, 0,    0.6, 0,   0, 0.045, 0 } },
    { { 0, 0 } }
};
/* clang-format on */

PLANAR_BEGIN

/* one physics step */
PLANAR_TASK void inverted_double_pendulum_physics(int v2, double *q, double *v, const double *ctrl,
                                                  planar_work *k) {
    planar_physics(&inverted_double_pendulum_model, inverted_double_pendulum_model.mass[v2 != 0], q,
                   v, ctrl, k);
}

PLANAR_TASK rn_step_result inverted_double_pendulum_judge(const inverted_double_pendulum *p,
                                                          double *reward) {
    const double x = p->tip_x,
                 low = p->tip_z - 2; /* the tip can reach 1.2: it pays to be as high as that */
    *reward =
        10 - (0.01 * x * x + low * low) - (1e-3 * p->v[1] * p->v[1] + 5e-3 * p->v[2] * p->v[2]);
    return p->tip_z > 1 ? RN_RUNNING : RN_TERMINATED;
}

PLANAR_TASK void inverted_double_pendulum_note(inverted_double_pendulum *p, const planar_work *k) {
    const planar_frame *f = &k->frame[2];
    p->tip_x = f->x + 0.6 * f->s;
    p->tip_z = f->z + 0.6 * f->c;
    planar_constraint(&inverted_double_pendulum_model, k, p->force);
}

PLANAR_TASK rn_step_result inverted_double_pendulum_move(inverted_double_pendulum *p,
                                                         const double *act, double *reward) {
    planar_work k;
    *reward = 0;
    if (!planar_control(&inverted_double_pendulum_model, inverted_double_pendulum_physics, p->v2,
                        p->q, p->v, act, &k))
        return RN_TERMINATED;
    inverted_double_pendulum_note(p, &k);
    return inverted_double_pendulum_judge(p, reward);
}

PLANAR_TASK void inverted_double_pendulum_observe(const inverted_double_pendulum *p, rn_real *obs) {
    double s, c;
    int i;
    obs[0] = (rn_real)p->q[0];
    for (i = 1; i < 3; i++) {
        planar_sincos(p->q[i], &s, &c);
        obs[i] = (rn_real)s;
        obs[i + 2] = (rn_real)c;
    }
    for (i = 0; i < 3; i++) {
        obs[i + 5] = (rn_real)planar_clamp(p->v[i], 10);
        obs[i + 8] = (rn_real)planar_clamp(p->force[i], 10);
    }
}

/* tip and forces of the state itself */
PLANAR_TASK void inverted_double_pendulum_evaluate(inverted_double_pendulum *p) {
    const double idle = 0;
    planar_work k;
    planar_guess(&k);
    planar_accelerate(&inverted_double_pendulum_model,
                      inverted_double_pendulum_model.mass[p->v2 != 0], p->q, p->v, &idle, &k);
    inverted_double_pendulum_note(p, &k);
}

PLANAR_TASK void inverted_double_pendulum_reset(void *self, const agg_rng *rng, rn_real *obs) {
    inverted_double_pendulum *p = (inverted_double_pendulum *)self;
    planar_rest(&inverted_double_pendulum_model, p->q, p->v);
    planar_uniform(&inverted_double_pendulum_model, rng, 0.1, p->q);
    planar_normal(&inverted_double_pendulum_model, rng, 0.1, p->v);
    inverted_double_pendulum_evaluate(p);
    inverted_double_pendulum_observe(p, obs);
}

PLANAR_TASK rn_step_result inverted_double_pendulum_step(void *self, const rn_real *act,
                                                         const agg_rng *rng, rn_real *obs,
                                                         double *reward) {
    inverted_double_pendulum *p = (inverted_double_pendulum *)self;
    double ctrl[1];
    rn_step_result r;
    int i;
    for (i = 0; i < 1; i++) ctrl[i] = (double)act[i];
    r = inverted_double_pendulum_move(p, ctrl, reward);
    (void)rng;
    inverted_double_pendulum_observe(p, obs);
    return r;
}

PLANAR_TASK void inverted_double_pendulum_save(const void *self, void *bytes) {
    const inverted_double_pendulum *p = (const inverted_double_pendulum *)self;
    planar_save(&inverted_double_pendulum_model, p->q, p->v, bytes);
}

PLANAR_TASK int inverted_double_pendulum_load(void *self, const void *bytes) {
    inverted_double_pendulum *p = (inverted_double_pendulum *)self;
    return planar_load(&inverted_double_pendulum_model, p->q, p->v, bytes);
}

PLANAR_TASK rn_env inverted_double_pendulum_env(inverted_double_pendulum *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    self->v2 = 0;
    e.self = self;
    e.reset = inverted_double_pendulum_reset;
    e.step = inverted_double_pendulum_step;
    e.obs_dim = 11;
    e.act_dim = 1;
    e.act_low = -1;
    e.act_high = 1;
    e.state_size = 16 * 3;
    e.save = inverted_double_pendulum_save;
    e.load = inverted_double_pendulum_load;
    return e;
}

PLANAR_TASK rn_env inverted_double_pendulum_env_v2(inverted_double_pendulum *self) {
    const rn_env e = inverted_double_pendulum_env(self);
    self->v2 = 1;
    return e;
}

PLANAR_END
#endif
