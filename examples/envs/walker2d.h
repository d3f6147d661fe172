/* walker2d.h - MuJoCo's Walker2d (Gym v2, v4): two legs of three joints under a torso, to walk
   forward and not to fall
   SPDX-License-Identifier: MIT OR Unlicense

       walker2d w;                             // yours; plain data
       rn_env env = walker2d_env(&w);          // 17 observations, 6 actions, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; walker2d_env_v2() has the masses of the -v2
   tasks. 125 control steps a second, of four Runge-Kutta steps. The left foot grips twice as well
   as the right: so it stands in the original. Observation: positions but x (height, angle of the
   torso, right thigh, leg, foot, left ones), then the nine speeds, clipped to +-10. Action: 100 Nm
   times it on each joint, right leg first, clamped to +-1. Reward: speed + 1 - 0.001 |action|^2, of
   the action as given. Terminated: height outside 0.8 .. 2, |angle| >= 1; and, with reward 0, an
   action that is not finite. It never truncates: Gym's limit of 1000 steps is the horizon of the
   trainer and of the evaluation. */
#ifndef WALKER2D_H
#define WALKER2D_H
#include "planar.h"

typedef struct walker2d {
    double q[9],
        v[9]; /* x, z, angle, right thigh, leg, foot, left thigh, leg, foot; their speeds */
    int v2;   /* masses of the -v2 tasks */
} walker2d;

/* clang-format off */
static const planar_model walker2d_model = {
    "walker2d", 9, 7, 0, /* joints, capsules, pairs of them */
    0, 4, 0.002, 0, -9.81, 1, /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    { 0.02, 0.9, 0.95, 0.001, 0 }, { 0.02, 0.9, 0.95, 0.001, 0 }, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    { { "rootx", NULL,                    -1, PLANAR_SLIDE_X,   0, 0,     0,    0, 0,                            0, 0, 0, 0 },
      { "rootz", NULL,                    0, PLANAR_SLIDE_Z,    0, 1.25,  1.25, 0, 0,                            0, 0, 0, 0 },
      { "rooty", "torso",                 1, PLANAR_HINGE,      0, 0,     0,    0, 0,                            0, 0, 0, 0 },
      { "thigh_joint", "thigh",           2, PLANAR_HINGE_BACK, 0, -0.2,  0,    PLANAR_DEG(-150), 0,             0, 0.1, 0.01, 100 },
      { "leg_joint", "leg",               3, PLANAR_HINGE_BACK, 0, -0.45, 0,    PLANAR_DEG(-150), 0,             0, 0.1, 0.01, 100 },
      { "foot_joint", "foot",             4, PLANAR_HINGE_BACK, 0, -0.5,  0,    PLANAR_DEG(-45), PLANAR_DEG(45), 0, 0.1, 0.01, 100 },
      { "thigh_left_joint", "thigh_left", 2, PLANAR_HINGE_BACK, 0, -0.2,  0,    PLANAR_DEG(-150), 0,             0, 0.1, 0.01, 100 },
      { "leg_left_joint", "leg_left",     6, PLANAR_HINGE_BACK, 0, -0.45, 0,    PLANAR_DEG(-150), 0,             0, 0.1, 0.01, 100 },
      { "foot_left_joint", "foot_left",   7, PLANAR_HINGE_BACK, 0, -0.5,  0,    PLANAR_DEG(-45), PLANAR_DEG(45), 0, 0.1, 0.01, 100 } },
    /* mass, centre, inertia, weight of the body, of the joint */
    { { { 0,                  0,   0,      0,                    0,                    0.2074303103435548 },
        { 0,                  0,   0,      0,                    0,                    0.048519183726057423 },
        { 3.6651914291880923, 0,   0,      0.069245938072875005, 0.085316498023204068, 6.0249121053811727 },
        { 4.0578905108868177, 0,   -0.225, 0.093298756826921944, 0.060516378752125961, 12.106152843486353 },
        { 2.7813566959781637, 0,   -0.25,  0.072302540173209709, 0.062997194886974958, 9.5952949371836098 },
        { 3.1667253948185117, 0.1, 0,      0.023997746634829429, 0.13474576502547686,  18.211422123604848 },
        { 4.0578905108868177, 0,   -0.225, 0.093298756826921944, 0.060516378752125961, 12.106152843486353 },
        { 2.7813566959781637, 0,   -0.25,  0.072302540173209709, 0.062997194886974958, 9.5952949371836098 },
        { 3.1667253948185117, 0.1, 0,      0.023997746634829429, 0.13474576502547686,  18.211422123604848 } },
      { { 0,                  0,   0,      0,                    0,                    0.21751675467999154 },
        { 0,                  0,   0,      0,                    0,                    0.050675246092554478 },
        { 3.5342917352885177, 0,   0,      0.061850105367549063, 0.089397333590848671, 6.4240990397637496 },
        { 3.9269908169872418, 0,   -0.225, 0.08426667794785124,  0.063082276342907376, 12.924086627536427 },
        { 2.7143360527015816, 0,   -0.25,  0.067044100501729084, 0.065972805734209258, 10.164575215252084 },
        { 2.940530723760046,  0.1, 0,      0.019211467395232305, 0.14617839533072916,  20.211453769551216 },
        { 3.9269908169872418, 0,   -0.225, 0.08426667794785124,  0.063082276342907376, 12.924086627536427 },
        { 2.7143360527015816, 0,   -0.25,  0.067044100501729084, 0.065972805734209258, 10.164575215252084 },
        { 2.940530723760046,  0.1, 0,      0.019211467395232305, 0.14617839533072916,  20.211453769551216 } } },
    /* name, joint, from, to, radius, friction */
    { { "torso_geom",      2, 0,   -0.2,  0, 0.2, 0.05, 0.9 },
      { "thigh_geom",      3, 0,   -0.45, 0, 0,   0.05, 0.9 },
      { "leg_geom",        4, 0,   -0.5,  0, 0,   0.04, 0.9 },
      { "foot_geom",       5, 0.2, 0,     0, 0,   0.06, 0.9 },
      { "thigh_left_geom", 6, 0,   -0.45, 0, 0,   0.05, 0.9 },
      { "leg_left_geom",   7, 0,   -0.5,  0, 0,   0.04, 0.9 },
      { "foot_left_geom",  8, 0.2, 0,     0, 0,   0.06, 1.9 } },
    { { 0, 0 } }
};
/* clang-format on */

PLANAR_BEGIN

/* one physics step */
PLANAR_TASK void walker2d_physics(int v2, double *q, double *v, const double *ctrl,
                                  planar_work *k) {
    planar_physics(&walker2d_model, walker2d_model.mass[v2 != 0], q, v, ctrl, k);
}

/* of the state after a step with `act` that began at x */
PLANAR_TASK rn_step_result walker2d_judge(const walker2d *w, double x, const double *act,
                                          double *reward) {
    *reward = (w->q[0] - x) / (0.002 * 4) + 1 - 1e-3 * planar_effort(act, 6);
    return w->q[1] > 0.8 && w->q[1] < 2 && w->q[2] > -1 && w->q[2] < 1 ? RN_RUNNING : RN_TERMINATED;
}

PLANAR_TASK rn_step_result walker2d_move(walker2d *w, const double *act, double *reward) {
    const double x = w->q[0];
    planar_work k;
    *reward = 0;
    if (!planar_control(&walker2d_model, walker2d_physics, w->v2, w->q, w->v, act, &k))
        return RN_TERMINATED;
    return walker2d_judge(w, x, act, reward);
}

PLANAR_TASK void walker2d_observe(const walker2d *w, rn_real *obs) {
    int i;
    for (i = 0; i < 8; i++) obs[i] = (rn_real)w->q[i + 1];
    for (i = 0; i < 9; i++) obs[i + 8] = (rn_real)planar_clamp(w->v[i], 10);
}

PLANAR_TASK void walker2d_reset(void *self, const agg_rng *rng, rn_real *obs) {
    walker2d *w = (walker2d *)self;
    planar_rest(&walker2d_model, w->q, w->v);
    planar_uniform(&walker2d_model, rng, 0.005, w->q);
    planar_uniform(&walker2d_model, rng, 0.005, w->v);
    walker2d_observe(w, obs);
}

PLANAR_TASK rn_step_result walker2d_step(void *self, const rn_real *act, const agg_rng *rng,
                                         rn_real *obs, double *reward) {
    walker2d *w = (walker2d *)self;
    double ctrl[6];
    rn_step_result r;
    int i;
    for (i = 0; i < 6; i++) ctrl[i] = (double)act[i];
    r = walker2d_move(w, ctrl, reward);
    (void)rng;
    walker2d_observe(w, obs);
    return r;
}

PLANAR_TASK void walker2d_save(const void *self, void *bytes) {
    planar_save(&walker2d_model, ((const walker2d *)self)->q, ((const walker2d *)self)->v, bytes);
}

PLANAR_TASK int walker2d_load(void *self, const void *bytes) {
    return planar_load(&walker2d_model, ((walker2d *)self)->q, ((walker2d *)self)->v, bytes);
}

PLANAR_TASK rn_env walker2d_env(walker2d *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    self->v2 = 0;
    e.self = self;
    e.reset = walker2d_reset;
    e.step = walker2d_step;
    e.obs_dim = 17;
    e.act_dim = 6;
    e.act_low = -1;
    e.act_high = 1;
    e.state_size = 16 * 9;
    e.save = walker2d_save;
    e.load = walker2d_load;
    return e;
}

PLANAR_TASK rn_env walker2d_env_v2(walker2d *self) {
    const rn_env e = walker2d_env(self);
    self->v2 = 1;
    return e;
}

PLANAR_END
#endif
