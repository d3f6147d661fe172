/* hopper.h - MuJoCo's Hopper (Gym v2, v4): one leg of three joints under a torso, to hop forward
   and not to fall
   SPDX-License-Identifier: MIT OR Unlicense

       hopper h;                               // yours; plain data
       rn_env env = hopper_env(&h);            // 11 observations, 3 actions, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; hopper_env_v2() has the masses of the -v2
   tasks. 125 control steps a second, of four Runge-Kutta steps. One control step is within 1e-14 of
   MuJoCo's.
   Observation: positions but x (height, angle of the torso, three joints), then the six speeds,
   clipped to +-10. Action: 200 Nm times it on thigh, leg and foot, clamped to +-1. Reward: speed +
   1 - 0.001 |action|^2, of the action as given. Terminated: height <= 0.7, |angle| >= 0.2, a number
   beyond 100; and, with reward 0, an action that is not finite. It never truncates: Gym's limit of
   1000 steps is the horizon of the trainer and of the evaluation. */
#ifndef HOPPER_H
#define HOPPER_H
#include "planar.h"

typedef struct hopper {
    double q[6], v[6]; /* x, z, angle, thigh, leg, foot; their speeds */
    int v2;            /* masses of the -v2 tasks */
} hopper;

/* clang-format off */
static const planar_model hopper_model = {
    "hopper", 6, 4, 3, /* joints, capsules, pairs of them */
    0, 4, 0.002, 0, -9.81, 1, /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    { 0.02, 0.9, 0.95, 0.001, 0 }, { 0.02, 0.8, 0.8, 0.01, 0.001 }, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    { { "rootx", NULL,          -1, PLANAR_SLIDE_X,   0, 0,     0,    0, 0,                            0, 0, 0, 0 },
      { "rootz", NULL,          0, PLANAR_SLIDE_Z,    0, 1.25,  1.25, 0, 0,                            0, 0, 0, 0 },
      { "rooty", "torso",       1, PLANAR_HINGE,      0, 0,     0,    0, 0,                            0, 0, 0, 0 },
      { "thigh_joint", "thigh", 2, PLANAR_HINGE_BACK, 0, -0.2,  0,    PLANAR_DEG(-150), 0,             0, 1, 1, 200 },
      { "leg_joint", "leg",     3, PLANAR_HINGE_BACK, 0, -0.45, 0,    PLANAR_DEG(-150), 0,             0, 1, 1, 200 },
      { "foot_joint", "foot",   4, PLANAR_HINGE_BACK, 0, -0.5,  0,    PLANAR_DEG(-45), PLANAR_DEG(45), 0, 1, 1, 200 } },
    /* mass, centre, inertia, weight of the body, of the joint */
    { { { 0,                  0,     0,      0,                    0,                    0.19092791547060126 },
        { 0,                  0,     0,      0,                    0,                    0.063839273696324375 },
        { 3.6651914291880923, 0,     0,      0.069245938072875005, 0.08492239638897521,  1.0585064134514302 },
        { 4.0578905108868177, 0,     -0.225, 0.093298756826921944, 0.051923310146107043, 0.9173573040079771 },
        { 2.7813566959781637, 0,     -0.25,  0.072302540173209709, 0.04959511864425975,  0.84230923171584093 },
        { 5.3155747698739306, 0.065, 0,      0.1035230805900054,   0.066902710768218687, 0.90003814391949566 } },
      { { 0,                  0,     0,      0,                    0,                    0.19841726788462213 },
        { 0,                  0,     0,      0,                    0,                    0.066144058923069848 },
        { 3.5342917352885177, 0,     0,      0.061850105367549063, 0.088187108935897318, 1.0795752825306781 },
        { 3.9269908169872418, 0,     -0.225, 0.08426667794785124,  0.053670628965037825, 0.92284994466362591 },
        { 2.7143360527015816, 0,     -0.25,  0.067044100501729084, 0.051419404591044604, 0.85015986584248282 },
        { 5.0893800988154645, 0.065, 0,      0.090463731256444899, 0.069610351657357364, 0.9100455513700384 } } },
    /* name, joint, from, to, radius, friction */
    { { "torso_geom", 2, 0,    -0.2,  0,     0.2, 0.05, 1 },
      { "thigh_geom", 3, 0,    -0.45, 0,     0,   0.05, 1 },
      { "leg_geom",   4, 0,    -0.5,  0,     0,   0.04, 1 },
      { "foot_geom",  5, 0.26, 0,     -0.13, 0,   0.06, 2 } },
    { { 0, 2 }, { 0, 3 }, { 1, 3 } }
};
/* clang-format on */

PLANAR_BEGIN

/* one physics step */
PLANAR_TASK void hopper_physics(int v2, double *q, double *v, const double *ctrl, planar_work *k) {
    planar_physics(&hopper_model, hopper_model.mass[v2 != 0], q, v, ctrl, k);
}

PLANAR_TASK int hopper_stands(const hopper *h) {
    int i;
    for (i = 0; i < 6; i++)
        if (!(h->v[i] < 100 && h->v[i] > -100) || (i >= 2 && !(h->q[i] < 100 && h->q[i] > -100)))
            return 0;
    return h->q[1] > 0.7 && h->q[2] < 0.2 && h->q[2] > -0.2;
}

/* of the state after a step with `act` that began at x */
PLANAR_TASK rn_step_result hopper_judge(const hopper *h, double x, const double *act,
                                        double *reward) {
    *reward = (h->q[0] - x) / (0.002 * 4) + 1 - 1e-3 * planar_effort(act, 3);
    return hopper_stands(h) ? RN_RUNNING : RN_TERMINATED;
}

PLANAR_TASK rn_step_result hopper_move(hopper *h, const double *act, double *reward) {
    const double x = h->q[0];
    planar_work k;
    *reward = 0;
    if (!planar_control(&hopper_model, hopper_physics, h->v2, h->q, h->v, act, &k))
        return RN_TERMINATED;
    return hopper_judge(h, x, act, reward);
}

PLANAR_TASK void hopper_observe(const hopper *h, rn_real *obs) {
    int i;
    for (i = 0; i < 5; i++) obs[i] = (rn_real)h->q[i + 1];
    for (i = 0; i < 6; i++) obs[i + 5] = (rn_real)planar_clamp(h->v[i], 10);
}

PLANAR_TASK void hopper_reset(void *self, const agg_rng *rng, rn_real *obs) {
    hopper *h = (hopper *)self;
    planar_rest(&hopper_model, h->q, h->v);
    planar_uniform(&hopper_model, rng, 0.005, h->q);
    planar_uniform(&hopper_model, rng, 0.005, h->v);
    hopper_observe(h, obs);
}

PLANAR_TASK rn_step_result hopper_step(void *self, const rn_real *act, const agg_rng *rng,
                                       rn_real *obs, double *reward) {
    hopper *h = (hopper *)self;
    double ctrl[3];
    rn_step_result r;
    int i;
    for (i = 0; i < 3; i++) ctrl[i] = (double)act[i];
    r = hopper_move(h, ctrl, reward);
    (void)rng;
    hopper_observe(h, obs);
    return r;
}

PLANAR_TASK void hopper_save(const void *self, void *bytes) {
    planar_save(&hopper_model, ((const hopper *)self)->q, ((const hopper *)self)->v, bytes);
}

PLANAR_TASK int hopper_load(void *self, const void *bytes) {
    return planar_load(&hopper_model, ((hopper *)self)->q, ((hopper *)self)->v, bytes);
}

PLANAR_TASK rn_env hopper_env(hopper *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    self->v2 = 0;
    e.self = self;
    e.reset = hopper_reset;
    e.step = hopper_step;
    e.obs_dim = 11;
    e.act_dim = 3;
    e.act_low = -1;
    e.act_high = 1;
    e.state_size = 16 * 6;
    e.save = hopper_save;
    e.load = hopper_load;
    return e;
}

PLANAR_TASK rn_env hopper_env_v2(hopper *self) {
    const rn_env e = hopper_env(self);
    self->v2 = 1;
    return e;
}

PLANAR_END
#endif
