/* hopper.h - MuJoCo's Hopper (Gym v2, v4): one leg of three joints under a torso, to hop forward
   and not to fall
   SPDX-License-Identifier: MIT OR Unlicense

       hopper h;                               // yours; plain data
       rn_env env = hopper_env(&h);            // 11 observations, 3 actions, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; hopper_env_v2() has the masses of the -v2
   tasks. 125 control steps a second, of four Runge-Kutta steps. One control step is within 1e-14 of
   MuJoCo's.
   Observation: positions but x (height, angle of the torso, three joints), then the six speeds,
   clipped to +-10.
   Action: 200 Nm times it on thigh, leg and foot, clamped to +-1.
   Reward: speed + 1 - 0.001 |action|^2, of the action as given.
   Terminated: height <= 0.7, |angle| >= 0.2, a number beyond 100; and, with reward 0, an action
   that is not finite. It never truncates: Gym's limit of 1000 steps is the horizon of the trainer
   and of the evaluation. */
#ifndef HOPPER_H
#define HOPPER_H
#include "planar.h"

typedef planar_body hopper; /* q: x, z, angle, thigh, leg, foot */

/* clang-format off */
static const planar_model hopper_model = {
    "hopper", 6, 4, 3, /* joints, capsules, pairs of them */
    /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    0, 4, 0.002, 0, -9.81, 1,
    {0.02, 0.9, 0.95, 0.001, 0}, {0.02, 0.8, 0.8, 0.01, 0.001}, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    {{"rootx", NULL,    -1, PLANAR_SLIDE_X, 0, 0,    0,    0, 0, 0, 0, 0, 0},
     {"rootz", NULL,    0,  PLANAR_SLIDE_Z, 0, 1.25, 1.25, 0, 0, 0, 0, 0, 0},
     {"rooty", "torso", 1,  PLANAR_HINGE,   0, 0,    0,    0, 0, 0, 0, 0, 0},
     /* name, body, parent, z, range, damping, rotor, gear */
     PLANAR_LEG("thigh_joint", "thigh", 2, -0.2,  -150, 0,  1, 1, 200),
     PLANAR_LEG("leg_joint",   "leg",   3, -0.45, -150, 0,  1, 1, 200),
     PLANAR_LEG("foot_joint",  "foot",  4, -0.5,  -45,  45, 1, 1, 200)},
    /* mass, centre, inertia, weight of the body, of the joint */
    {{{0, 0, 0, 0, 0, 0.19092791547060126},
      {0, 0, 0, 0, 0, 0.06383927369632438},
      {3.6651914291880923, 0, 0, 0.069245938072875, 0.08492239638897521, 1.0585064134514302},
      {4.057890510886818, 0, -0.225, 0.09329875682692194, 0.05192331014610704, 0.9173573040079771},
      {2.7813566959781637, 0, -0.25, 0.07230254017320971, 0.04959511864425975, 0.8423092317158409},
      {5.315574769873931, 0.065, 0, 0.1035230805900054, 0.06690271076821869, 0.9000381439194957}},
     {{0, 0, 0, 0, 0, 0.19841726788462213},
      {0, 0, 0, 0, 0, 0.06614405892306985},
      {3.5342917352885177, 0, 0, 0.06185010536754906, 0.08818710893589732, 1.0795752825306781},
      {3.926990816987242, 0, -0.225, 0.08426667794785124, 0.053670628965037825, 0.9228499446636259},
      {2.7143360527015816, 0, -0.25, 0.06704410050172908, 0.051419404591044604, 0.8501598658424828},
      {5.0893800988154645, 0.065, 0, 0.0904637312564449, 0.06961035165735736, 0.9100455513700384}}},
    /* name, joint, from, to, radius, friction */
    {{"torso_geom", 2, 0,    -0.2,  0,     0.2, 0.05, 1},
     {"thigh_geom", 3, 0,    -0.45, 0,     0,   0.05, 1},
     {"leg_geom",   4, 0,    -0.5,  0,     0,   0.04, 1},
     {"foot_geom",  5, 0.26, 0,     -0.13, 0,   0.06, 2}},
    {{0, 2}, {0, 3}, {1, 3}}};
/* clang-format on */

ENV_BEGIN

ENV_FN void hopper_physics(int v2, double *q, double *v, const double *ctrl, planar_work *k) {
    planar_physics(&hopper_model, hopper_model.mass[v2 != 0], q, v, ctrl, k);
}

ENV_FN void hopper_observe(const planar_body *h, rn_real *obs) {
    int i;
    for (i = 0; i < 5; i++) obs[i] = (rn_real)h->q[i + 1];
    for (i = 0; i < 6; i++) obs[i + 5] = (rn_real)planar_clamp(h->v[i], 10);
}

ENV_FN int hopper_stands(const planar_body *h) {
    int i;
    for (i = 0; i < 6; i++)
        if (!(h->v[i] < 100 && h->v[i] > -100) || (i >= 2 && !(h->q[i] < 100 && h->q[i] > -100)))
            return 0;
    return h->q[1] > 0.7 && h->q[2] < 0.2 && h->q[2] > -0.2;
}

ENV_FN rn_step_result hopper_judge(const planar_body *h, double x, const double *act,
                                   double *reward) {
    *reward = (h->q[0] - x) / (0.002 * 4) + 1 - 1e-3 * planar_effort(act, 3);
    return hopper_stands(h) ? RN_RUNNING : RN_TERMINATED;
}

/* clang-format off */
static const planar_task hopper_task = {
    &hopper_model, hopper_physics, NULL, hopper_observe, hopper_judge,
    11, 0.005, 0.005, 0, /* observations; noise at the start: positions, speeds, both uniform */
    0, 0, PLANAR_LOST    /* actions as given; 0 for a refused step; largest number to load */
};
/* clang-format on */

ENV_FN rn_env hopper_env(hopper *self) { return planar_env(self, &hopper_task, 0); }

ENV_FN rn_env hopper_env_v2(hopper *self) { return planar_env(self, &hopper_task, 1); }

ENV_END
#endif
